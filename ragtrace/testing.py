"""Fakes for tests, yours and ours: a judge that says what it is told, and interactions and traces in one
line."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ragtrace import semconv
from ragtrace.judges.base import JudgeReply, JudgeRequest, Want
from ragtrace.model import (
    Claim,
    Interaction,
    JudgedClaim,
    RetrievedDocument,
    SpanRecord,
    Support,
    Unit,
    Verdict,
)

Reply = JudgeReply | BaseException | Callable[[JudgeRequest], JudgeReply]
"""What a scripted judge does: answer, raise, or compute its answer from the request."""


class ScriptedJudge:
    """A judge that gives ``replies`` one after the other, the last one for ever, and keeps the requests.

    An exception among the replies is raised. ``until``, where given, is awaited before each reply, so
    that a test can hold the judge back; ``asked`` is set by the first request.
    """

    def __init__(
        self,
        *replies: Reply,
        kind: str = "scripted",
        revision: str = "r1",
        model: str | None = None,
        until: asyncio.Event | None = None,
    ) -> None:
        self._replies = replies or (JudgeReply(),)
        self._until = until
        self.kind, self.revision, self.model = kind, revision, model
        self.requests: list[JudgeRequest] = []
        self.asked = asyncio.Event()
        self.closed = False

    @property
    def wants(self) -> frozenset[Want]:
        """All that was ever asked."""
        return frozenset(want for request in self.requests for want in request.wants)

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """The next reply."""
        self.requests.append(request)
        self.asked.set()
        if self._until is not None:
            await self._until.wait()
        reply = self._replies[min(len(self.requests), len(self._replies)) - 1]
        if isinstance(reply, BaseException):
            raise reply
        return reply if isinstance(reply, JudgeReply) else reply(request)

    async def aclose(self) -> None:
        """Remember that it was closed."""
        self.closed = True


class ScriptedEmbedder:
    """An embedder whose cosine of two texts is 1 where ``groups`` puts them together (or they are equal),
    else 0."""

    name = "scripted"

    def __init__(self, *groups: Iterable[str]) -> None:
        self._groups = [frozenset(group) for group in groups]

    async def embed(self, texts: Sequence[str]) -> Any:
        """One unit vector a text."""
        import numpy as np

        keys = [next((i for i, group in enumerate(self._groups) if text in group), text) for text in texts]
        places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        return np.eye(max(1, len(places)), dtype=np.float32)[[places[key] for key in keys]]


def judged(
    unit: Unit, support: Support | None = Support.SUPPORTED, pairs: Mapping[int, Support | None] | None = None
) -> JudgedClaim:
    """The claim that says what ``unit`` says, with a verdict, and one for each cited document.

    ``pairs`` defaults to the same verdict for every document that the unit cites.
    """
    pairs = dict.fromkeys(unit.cites, support) if pairs is None else pairs
    return JudgedClaim(
        Claim(unit.text, unit.index, unit.start, unit.end, unit.cites, unit.check_worthy),
        _verdict(support),
        {rank: _verdict(verdict) for rank, verdict in pairs.items()},
    )


def _verdict(support: Support | None) -> Verdict | None:
    return None if support is None else Verdict(support)


def make_documents(*documents: str | RetrievedDocument | None) -> tuple[RetrievedDocument, ...]:
    """Documents ``doc-1``, ``doc-2``, … with these texts."""
    return tuple(
        text if isinstance(text, RetrievedDocument) else RetrievedDocument(f"doc-{rank}", rank, text)
        for rank, text in enumerate(documents, start=1)
    )


def make_interaction(
    question: str | None = "How long do refunds take?",
    documents: Iterable[str | RetrievedDocument | None] | None = ("Refunds take 3 to 5 business days.",),
    answer: str | None = "Refunds take 3 to 5 business days [1].",
    **fields: Any,
) -> Interaction:
    """An interaction with one good answer; ``fields`` are any others of :class:`Interaction`."""
    given = None if documents is None else make_documents(*documents)
    return Interaction(question=question, documents=given, answer=answer, **fields)


def make_trace(interaction: Interaction | None = None, seed: str = "trace") -> list[SpanRecord]:
    """The spans of our hooks for ``interaction``: entry, retrieval if there is one, generation.

    Ids are hashes of ``seed``, so that a trace can be told again.
    """
    interaction = interaction or make_interaction()
    trace_id, entry = _hex(seed, 32), _hex(f"{seed}/entry", 16)
    spans = [_span((trace_id, entry, None), "ask", _entry_attributes(interaction), (0, 9))]
    if interaction.documents is not None:
        retrieval = _hex(f"{seed}/retrieval", 16)
        attributes = _retrieval_attributes(interaction, interaction.documents)
        spans.append(_span((trace_id, retrieval, entry), "retrieve", attributes, (1, 3)))
    generation = _hex(f"{seed}/generation", 16)
    spans.append(
        _span((trace_id, generation, entry), "generate", _generation_attributes(interaction), (4, 8))
    )
    return spans


def _entry_attributes(interaction: Interaction) -> dict[str, Any]:
    return _present(
        {
            semconv.KIND: semconv.KIND_INTERACTION,
            semconv.OI_SPAN_KIND: semconv.OI_CHAIN,
            semconv.REWRITTEN_QUESTION: interaction.rewritten_question,
            semconv.REFERENCE: interaction.reference,
            semconv.PARTIAL: interaction.partial or None,
            semconv.SESSION_ID: interaction.session,
            semconv.INPUT_VALUE: interaction.question,
            semconv.OUTPUT_VALUE: interaction.answer,
        }
    )


def _retrieval_attributes(interaction: Interaction, documents: Sequence[RetrievedDocument]) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        semconv.KIND: semconv.KIND_RETRIEVAL,
        semconv.OI_SPAN_KIND: semconv.OI_RETRIEVER,
        semconv.INPUT_VALUE: interaction.rewritten_question or interaction.question,
        # Only this says that a retrieval ran and found nothing.
        semconv.DOCUMENTS: None if documents else "[]",
    }
    for index, document in enumerate(documents):
        prefix = f"{semconv.RETRIEVAL_DOCUMENTS}.{index}."
        attributes[prefix + semconv.DOCUMENT_ID] = document.id
        attributes[prefix + semconv.DOCUMENT_CONTENT] = document.text
        attributes[prefix + semconv.DOCUMENT_SCORE] = document.score
    return _present(attributes)


def _generation_attributes(interaction: Interaction) -> dict[str, Any]:
    return _present(
        {
            semconv.KIND: semconv.KIND_GENERATION,
            semconv.OI_SPAN_KIND: semconv.OI_LLM,
            semconv.LLM_MODEL_NAME: "fake-model",
            semconv.INPUT_VALUE: interaction.question,
            semconv.OUTPUT_VALUE: interaction.answer,
        }
    )


def _span(
    ids: tuple[str, str, str | None], name: str, attributes: Mapping[str, Any], milliseconds: tuple[int, int]
) -> SpanRecord:
    trace_id, span_id, parent_id = ids
    start_ns, end_ns = (1_700_000_000_000_000_000 + at * 1_000_000 for at in milliseconds)
    return SpanRecord(
        trace_id,
        span_id,
        parent_id,
        name,
        scope=semconv.SCOPE,
        resource={"service.name": "fake-app"},
        attributes=attributes,
        start_ns=start_ns,
        end_ns=end_ns,
    )


def _present(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in attributes.items() if value is not None}


def _hex(seed: str, length: int) -> str:
    return hashlib.sha256(seed.encode()).hexdigest()[:length]
