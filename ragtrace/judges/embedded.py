"""The embedded judge: no key, no network, no model download.

A heuristic that says so. It sees copied and lightly edited claims, numbers, dates, units, names, antonyms and
negation; it does not see paraphrase, inference, or the wrong fact from the right paragraph. What it cannot
tell gets a middle probability. See ``docs/embedded-judge.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from ragtrace.judges._local.case import Case
from ragtrace.judges._local.estimate import constants
from ragtrace.judges._local.passages import Document, Reader
from ragtrace.judges._local.reference import judge_reference
from ragtrace.judges.base import Fault, JudgeReply, JudgeRequest, Want
from ragtrace.model import Interaction, Status

_TURN = 32
"""Claims that are judged in one turn. Shorter answers are judged in one go, the first that came first."""

PROTOCOL = 2
"""Raised when the meaning of a verdict changes although no constant did."""


@dataclass(frozen=True)
class EmbeddedJudge:
    """Judges by measurement. Pure CPU work, a few milliseconds an interaction, safe in any thread.

    ``remember`` bounds the cache of read documents, in bytes of their text as UTF-8: a Chinese character is a
    token, and takes as much memory as half a word.
    """

    remember: int = 400_000
    _reader: Reader = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_reader", Reader(self.remember))

    @property
    def kind(self) -> str:
        """Always ``embedded``."""
        return "embedded"

    @property
    def revision(self) -> str:
        """Hash of the shipped constants, and the protocol number."""
        return f"{constants().revision}-{PROTOCOL}"

    @property
    def model(self) -> str | None:
        """There is no model."""
        return None

    async def aclose(self) -> None:
        """Nothing to free."""

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Judge one interaction. Total: any text gives a reply.

        A long one takes turns with others, claims by claims: it can be stopped at its deadline, and does not
        hold up what came after it.
        """
        case = self._case(request)
        for number, _ in enumerate(case.judging(), start=1):
            if number % _TURN == 0:
                await asyncio.sleep(0)
        return _reply(case, request)

    def reply(self, request: JudgeRequest) -> JudgeReply:
        """As :meth:`judge`, for callers without an event loop."""
        return _reply(self._case(request), request)

    def _case(self, request: JudgeRequest) -> Case:
        units = request.units if Want.VERDICTS in request.wants else ()
        return Case(request.interaction, self._read(request.interaction), units, request.language)

    def _read(self, interaction: Interaction) -> tuple[Document, ...]:
        found = interaction.documents or ()
        return tuple(self._reader.read(document.text, document.rank) for document in found if document.text)


def _reply(case: Case, request: JudgeRequest) -> JudgeReply:
    wants = request.wants
    by_reference = judge_reference(case, request.units) if Want.REFERENCE in wants else JudgeReply()
    return JudgeReply(
        claims=case.claims,
        relevance=case.relevance() if Want.RELEVANCE in wants else {},
        needs=case.needs() if Want.NEEDS in wants else (),
        answer_fit=case.answer_fit() if Want.QUESTIONS in wants else None,
        reference_claims=by_reference.reference_claims,
        unsupported_answer_claims=by_reference.unsupported_answer_claims,
        reference_relevance=by_reference.reference_relevance,
        reference_similarity=by_reference.reference_similarity,
        kept_ratio=case.kept_ratio,
        faults=tuple(_faults(case, wants)),
    )


def _faults(case: Case, wants: frozenset[Want]) -> Iterator[Fault]:
    """What cannot be told across languages: a low number would accuse a retrieval, or an answer, of which
    nothing is known."""
    unread = {Want.VERDICTS} if case.are_claims_foreign else set()
    if case.is_question_foreign:
        unread |= {Want.RELEVANCE, Want.NEEDS}
    for want in sorted(unread & wants):
        yield Fault(want, Status.SKIPPED, "other_language")
