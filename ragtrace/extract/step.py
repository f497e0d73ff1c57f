"""One span as a reader understood it, whatever its dialect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Protocol

from ragtrace.extract.documents import DocumentList
from ragtrace.extract.messages import Message
from ragtrace.extract.values import Decoded, decode
from ragtrace.model import Feedback, GivenCitation, Language, LogRecord, SpanRecord, Turn


class Role(StrEnum):
    """What a span did."""

    INTERACTION = "interaction"
    """Says itself that it is one whole interaction."""
    CHAIN = "chain"
    AGENT = "agent"
    RETRIEVAL = "retrieval"
    RERANK = "rerank"
    GENERATION = "generation"
    TOOL = "tool"
    PROMPT = "prompt"
    EMBEDDING = "embedding"
    EVALUATION = "evaluation"
    OTHER = "other"


COMPOSITES = frozenset({Role.INTERACTION, Role.CHAIN, Role.AGENT})
"""Roles of spans that hold others and may be an interaction's entry."""


@dataclass(frozen=True)
class Field:
    """A named attribute (or event field), decoded when first asked for."""

    key: str
    raw: Any
    quoted: bool = True
    """Whether text in it comes in JSON quotes."""

    @cached_property
    def decoded(self) -> Decoded:
        """The value, and whether its end was cut."""
        return decode(self.raw, quoted=self.quoted)

    @property
    def value(self) -> Any:
        """The decoded value."""
        return self.decoded.value


@dataclass(frozen=True, slots=True)
class Facts:
    """What a span states outright about its interaction; ``None`` and empty where it states nothing."""

    question: str | None = None
    rewritten_question: str | None = None
    answer: str | None = None
    history: tuple[Turn, ...] = ()
    partial: bool = False
    reference: str | None = None
    gold: Mapping[str, float] | None = None
    citations: tuple[GivenCitation, ...] = ()
    feedback: tuple[Feedback, ...] = ()
    language: Language | None = None
    app: str | None = None
    kept_ratio: float = 1.0
    keys: Mapping[str, str] = field(default_factory=dict)
    """Fact → the attribute that states it."""


NO_FACTS = Facts()


@dataclass(frozen=True, slots=True)
class Step:
    """One span in words that all dialects share.

    ``documents`` is what a retrieval or rerank returned (``None`` where it is not recorded), ``given`` what a
    rerank started from, ``used`` the documents that a span says its answer was made from. ``prompt`` and
    ``reply`` are a generation's messages, ``variables`` what its prompt was filled with.
    """

    span: SpanRecord
    dialect: str
    role: Role
    input: Field | None = None
    output: Field | None = None
    query: str | None = None
    documents: DocumentList | None = None
    given: DocumentList | None = None
    used: DocumentList | None = None
    prompt: tuple[Message, ...] = ()
    reply: tuple[Message, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    session: str | None = None
    user: str | None = None
    error: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    """``query``, ``documents``, ``prompt``, ``reply`` → the attribute that it was read from."""
    facts: Facts = NO_FACTS

    @property
    def id(self) -> str:
        """The span's id."""
        return self.span.span_id

    def source(self, key: str) -> str:
        """``"<span name>:<attribute>"`` for one of ``keys``, or for an attribute itself."""
        return f"{self.span.name}:{self.keys.get(key, key)}"


class Dialect(Protocol):
    """A reader of one dialect. ``claims`` is cheap, ``read`` may raise on nonsense."""

    @property
    def name(self) -> str:
        """What interactions say that they were read from."""

    def claims(self, span: SpanRecord) -> bool:
        """Whether the span is written in this dialect."""

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words; ``logs`` are the log records that name it."""
