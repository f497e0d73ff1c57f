"""What is found: citations, claims and verdicts, scores or why there are none, the diagnosis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from ragtrace.model.interaction import Interaction, Language

MarkerStatus = Literal["resolved", "dangling", "ambiguous"]


@dataclass(frozen=True, slots=True)
class Citation:
    """One occurrence of a citation marker in the answer, at characters [start, end).

    ``documents`` are the 1-based ranks it points to; empty when ``dangling`` (no such document) or
    ``ambiguous`` (several documents carry that label).
    """

    label: str
    start: int
    end: int
    documents: tuple[int, ...] = ()
    status: MarkerStatus = "resolved"


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of the answer between sentence ends and marker runs: characters [start, end) hold ``text``.

    ``text`` is without its markers; ``citations`` are the markers of the run behind it. ``index`` is 1-based.
    ``check_worthy`` is false for greetings, questions, hedges, "the documents do not say".
    """

    index: int
    text: str
    start: int
    end: int
    citations: tuple[Citation, ...] = ()
    check_worthy: bool = True

    @property
    def cites(self) -> tuple[int, ...]:
        """The 1-based ranks that the unit's resolved markers point to, in order, without repeats."""
        return tuple(dict.fromkeys(rank for citation in self.citations for rank in citation.documents))


@dataclass(frozen=True, slots=True)
class Claim:
    """One factual statement of the answer. ``start``, ``end`` locate its unit, ``unit`` is its index."""

    text: str
    unit: int
    start: int
    end: int
    cites: tuple[int, ...] = ()
    check_worthy: bool = True


class Support(StrEnum):
    """What documents say of a claim."""

    SUPPORTED = "SUPPORTED"
    CONTRADICTED = "CONTRADICTED"
    NOT_FOUND = "NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's word on a claim: the documents (1-based ranks) that decide it, and a verbatim quote.

    ``confidence`` is the probability (0..1) that the claim is supported, where the judge has one.
    ``explanation`` is one sentence in the interaction's language.
    """

    support: Support
    documents: tuple[int, ...] = ()
    quote: str | None = None
    confidence: float | None = None
    explanation: str | None = None


class Status(StrEnum):
    """The status of a metric on an interaction."""

    SCORED = "scored"
    NOT_APPLICABLE = "not_applicable"
    ABSTAINED = "abstained"
    JUDGE_ERROR = "judge_error"
    SKIPPED = "skipped"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True)
class Score:
    """A metric that was scored: ``value`` in 0..1, from ``n_judged`` of ``n_total`` parts.

    ``basis`` names what it was measured against (``question``, ``reference``, ``needs``,
    ``generated_questions``, ``estimate``); ``kept_ratio`` < 1 says that input was cut.
    """

    metric: str
    value: float
    n_judged: int | None = None
    n_total: int | None = None
    basis: str | None = None
    kept_ratio: float = 1.0
    explanation: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    status: Literal[Status.SCORED] = Status.SCORED

    @property
    def reason(self) -> None:
        """Always ``None``: a score needs no excuse. Lets callers treat both outcomes alike."""
        return None


@dataclass(frozen=True, slots=True)
class Unscored:
    """A metric that has no number, and why."""

    metric: str
    status: Status
    reason: str
    n_judged: int | None = None
    n_total: int | None = None
    basis: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> None:
        """Always ``None``: never a silent 0, 1 or NaN."""
        return None


Outcome = Score | Unscored


class Cause(StrEnum):
    """What a diagnosis names."""

    OK = "ok"
    CORRECT_REFUSAL = "correct_refusal"
    NEEDLESS_REFUSAL = "needless_refusal"
    RETRIEVAL_MISSED = "retrieval_missed"
    RETRIEVAL_MISRANKED = "retrieval_misranked"
    RETRIEVAL_NOISY = "retrieval_noisy"
    CONTRADICTS_DOCUMENTS = "contradicts_documents"
    UNFAITHFUL_ANSWER = "unfaithful_answer"
    MISCITED = "miscited"
    OFF_QUESTION = "off_question"
    UNDETERMINED = "undetermined"


Path = Literal["A", "B", "C", "D"]
Stage = Literal["retrieval", "generation"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The failure path of an interaction: the primary cause, the rest of the matches, and what to try.

    ``path`` is ``None`` for ``ok``, the refusals and ``undetermined``. ``missing`` names the outcomes that an
    ``undetermined`` diagnosis lacks. ``warnings`` are matches that are no failure (noise on a good answer).
    ``thresholds`` are those in force that are not the default ones, by name.
    """

    cause: Cause
    path: Path | None = None
    stage: Stage | None = None
    also: tuple[Cause, ...] = ()
    advice: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    warnings: tuple[Cause, ...] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JudgeInfo:
    """Which judge gave the verdicts, and what it cost. Of ``estimated_calls`` of the ``calls`` the endpoint
    counted no tokens, so that theirs are estimates. ``local_claims`` are those that a cascade decided without
    its model."""

    kind: str
    revision: str
    model: str | None = None
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated_calls: int = 0
    local_claims: int = 0


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim with its verdict over all documents, and one per cited document.

    ``verdict`` is ``None`` where the judge gave no usable one; the claim then counts in ``n_total`` only.
    ``pairs`` maps the 1-based rank of a cited document to the verdict on it (or ``None``).
    """

    claim: Claim
    verdict: Verdict | None
    pairs: Mapping[int, Verdict | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Need:
    """One information need of the question: is it covered by the documents, answered by the answer?

    ``None`` where the judge did not say.
    """

    text: str
    covered: bool | None
    answered: bool | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All that is known of one judged interaction."""

    interaction: Interaction
    outcomes: Mapping[str, Outcome]
    diagnosis: Diagnosis
    judge: JudgeInfo
    claims: tuple[JudgedClaim, ...] = ()
    citations: tuple[Citation, ...] = ()
    relevance: Mapping[int, float | None] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    language: Language = "en"
    sampling_probability: float | None = None
    sampling_rule: str | None = None
