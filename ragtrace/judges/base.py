"""The judge protocol: what a judge is asked, and what it answers.

A judge never returns a score. It gives verdicts; :mod:`ragtrace.metrics` does the arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from ragtrace.model import Interaction, JudgedClaim, Language, Need, Status, Unit


class Want(StrEnum):
    """What a request asks of the judge."""

    VERDICTS = "verdicts"
    RELEVANCE = "relevance"
    NEEDS = "needs"
    QUESTIONS = "questions"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One interaction to judge.

    ``units`` is the answer cut by :func:`ragtrace.text.segment.units`. ``deadline`` is an absolute time of
    the clock that the judge was built with (``time.monotonic`` by default), in seconds; ``None`` = no limit.
    """

    interaction: Interaction
    units: tuple[Unit, ...]
    wants: frozenset[Want]
    language: Language = "en"
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What a judgement cost."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    local_claims: int = 0
    """Claims that a cascade decided without a model."""
    estimated_calls: int = 0
    """Calls whose tokens the endpoint did not count, so that ours are estimates."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.local_claims + other.local_claims,
            self.estimated_calls + other.estimated_calls,
        )


@dataclass(frozen=True, slots=True)
class Fault:
    """A want that the judge could not serve: ``status`` is judge_error, timed_out or skipped."""

    want: Want
    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class ReferenceClaim:
    """A claim of the reference: do the documents hold it, does the answer say it?

    ``None`` where the judge gave no verdict of the enum.
    """

    text: str
    attributed: bool | None
    documents: tuple[int, ...] = ()
    in_answer: bool | None = None


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """What the judge found. A part that was not wanted, or that faulted, is empty or ``None``.

    claims               every claim of every unit, in the answer's order; empty when the answer has none
    relevance            1-based rank → probability (or 0/1) that the document helps to answer the question
    needs                the question's information needs
    questions            questions that the answer, seen alone, would answer
    noncommittal         one flag a generated question: the answer is evasive
    answer_fit           0..1, how well the answer fits the question (judges that generate no questions)
    reference_claims     the claims of the reference
    unsupported_answer_claims  claims of the answer that the reference does not hold
    reference_relevance  as ``relevance``, given question and reference
    reference_similarity  0..1, how alike answer and reference are (judges that need no embedder for it)
    kept_ratio           share of the documents' text that was seen
    ignored              entries of the judge's replies that counted for nothing: ids that nobody asked about,
                         repeats, values outside the enum
    """

    claims: tuple[JudgedClaim, ...] = ()
    relevance: Mapping[int, float | None] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    questions: tuple[str, ...] = ()
    noncommittal: tuple[bool, ...] = ()
    answer_fit: float | None = None
    reference_claims: tuple[ReferenceClaim, ...] = ()
    unsupported_answer_claims: tuple[str, ...] | None = None
    reference_relevance: Mapping[int, float | None] = field(default_factory=dict)
    reference_similarity: float | None = None
    kept_ratio: float = 1.0
    ignored: int = 0
    usage: Usage = Usage()
    faults: tuple[Fault, ...] = ()

    def fault(self, want: Want) -> Fault | None:
        """The fault that stands for ``want``, if there is one."""
        return next((f for f in self.faults if f.want is want), None)


@runtime_checkable
class Judge(Protocol):
    """Gives verdicts on interactions.

    A judge is built once and used for many interactions, concurrently, from one event loop. ``judge`` must
    not raise for what an endpoint or a document does: such a part becomes a :class:`Fault`. ``revision``
    changes when, and only when, the meaning of its verdicts may have changed: hash of model, prompt text,
    options, embedder and a protocol number. ``aclose`` frees what it holds and may be called twice.
    """

    @property
    def kind(self) -> str:
        """``embedded``, ``openai``, ``cascade`` or the import path of a judge of the user's own."""

    @property
    def revision(self) -> str:
        """Short stable hash of all that decides the verdicts."""

    @property
    def model(self) -> str | None:
        """The model's name, where there is one."""

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Judge one interaction."""

    async def aclose(self) -> None:
        """Free connections."""
