"""The embedded judge: no key, no network, no model download.

A heuristic that says so. It sees copied and lightly edited claims, numbers, dates, units, names, antonyms and
negation; it does not see paraphrase, inference, or the wrong fact from the right paragraph. What it cannot
tell gets a middle probability. See ``docs/embedded-judge.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ragtrace.judges._local.case import Case
from ragtrace.judges._local.estimate import constants
from ragtrace.judges._local.passages import Document, Reader
from ragtrace.judges._local.reference import judge_reference
from ragtrace.judges.base import JudgeReply, JudgeRequest, Want
from ragtrace.model import Interaction

PROTOCOL = 2
"""Raised when the meaning of a verdict changes although no constant did."""


@dataclass(frozen=True)
class EmbeddedJudge:
    """Judges by measurement. Pure CPU work, a few milliseconds an interaction, safe in any thread.

    ``remember`` bounds the cache of read documents, in characters of their text.
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
        """Judge one interaction. Total: any text gives a reply."""
        return self.reply(request)

    def reply(self, request: JudgeRequest) -> JudgeReply:
        """As :meth:`judge`, for callers without an event loop."""
        wants = request.wants
        units = request.units if Want.VERDICTS in wants else ()
        case = Case(request.interaction, self._read(request.interaction), units, request.language)
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
        )

    def _read(self, interaction: Interaction) -> tuple[Document, ...]:
        found = interaction.documents or ()
        return tuple(self._reader.read(document.text, document.rank) for document in found if document.text)
