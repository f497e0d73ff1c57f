"""What is judged: one question, the documents that reached the prompt, the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Language = Literal["en", "zh"]
IdSource = Literal["given", "metadata", "content_hash", "none"]


@dataclass(frozen=True, slots=True)
class RetrievedDocument:
    """One retrieved document.

    ``rank`` is its 1-based position. ``id`` is never invented: where the source gave none it is a content
    hash and ``id_source`` says ``content_hash`` (``none`` where there is no text to hash either, then ``id``
    is ``""``). ``score`` is the number of the stage that put the document where it stands, higher is better;
    where that stage was a reranker the same number is in ``rerank_score`` and the retriever's own is in the
    hop. A vector ``distance`` (lower is better) is never a score.
    """

    id: str
    rank: int
    text: str | None = None
    id_source: IdSource = "given"
    score: float | None = None
    distance: float | None = None
    rerank_score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hop:
    """One retrieval of an interaction: its query and its raw list, before rerank or fusion."""

    query: str | None
    documents: tuple[RetrievedDocument, ...] | None
    span_id: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier turn of the conversation."""

    question: str | None
    answer: str | None


@dataclass(frozen=True, slots=True)
class GivenCitation:
    """A citation that the app recorded in structured form: characters [start, end) of the answer cite.

    ``document`` is a document id, or a 1-based rank where it is an int.
    """

    document: str | int
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a person said of the answer."""

    name: str
    value: float | str | bool
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Interaction:
    """One question → documents → answer. A trace may hold several.

    ``documents`` is what reached the prompt, in that order (after rerank or fusion); the raw lists stay in
    ``hops``. ``sources`` says for each found field where it was found (``"<span name>:<attribute>"``);
    ``missing`` names the fields that the spans do not hold, each ``field`` or ``field: reason``.
    """

    question: str | None = None
    rewritten_question: str | None = None
    history: tuple[Turn, ...] = ()
    documents: tuple[RetrievedDocument, ...] | None = None
    hops: tuple[Hop, ...] = ()
    answer: str | None = None
    partial: bool = False
    error: str | None = None
    reference: str | None = None
    other_references: tuple[str, ...] = ()
    gold: Mapping[str, float] | None = None
    citations: tuple[GivenCitation, ...] = ()
    feedback: tuple[Feedback, ...] = ()
    language: Language | None = None
    app: str | None = None
    session: str | None = None
    user: str | None = None
    trace_id: str | None = None
    entry_span_id: str | None = None
    retrieval_span_ids: tuple[str, ...] = ()
    generation_span_id: str | None = None
    dialect: str = "record"
    sources: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    kept_ratio: float = 1.0
    """Share of the recorded text that reached us: below 1 where a limit cut attributes on the way."""
