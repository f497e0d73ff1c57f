"""From outcomes to the failure path: a pure decision table.

====  =====================  ==========================================================================
path  cause                  holds when
====  =====================  ==========================================================================
      needless_refusal       the answer declines although the documents cover the question's needs
      correct_refusal        the answer declines and they do not
A     retrieval_missed       context_recall is low, or nothing was retrieved
B     retrieval_misranked    relevant documents exist, but the first is ranked low, or precision is low
                             while recall is not; only with a symptom
B     retrieval_noisy        too many documents are irrelevant; only with a symptom
C     contradicts_documents  a claim is contradicted
C     unfaithful_answer      faithfulness is low
C     miscited               the claims hold, but the markers point to the wrong documents
D     off_question           needs are left unanswered; where they are unknown: answer_relevancy is low
      ok                     none of these, and every outcome that could say otherwise is there
      undetermined           none of these, and some are missing (they are named)
====  =====================  ==========================================================================

The first match is the primary cause, the others are ``also``. A symptom is C, D, or low answer_correctness:
noise alone on a good answer is a warning. When A and C both hold, A is primary: the model had nothing to be
faithful to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from ragtrace.advice import advice
from ragtrace.errors import ConfigError, one_or_all
from ragtrace.model import (
    Cause,
    Diagnosis,
    JudgedClaim,
    Language,
    Need,
    Outcome,
    Path,
    Score,
    Stage,
    Status,
    Support,
)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where a number turns into a failure. Shares in 0..1, ranks from 1.

    Raises:
        ConfigError: a share is outside 0..1, or the rank below 1; told of all that are.
    """

    context_recall: float = 0.5
    """Below: retrieval missed."""
    first_relevant_rank: int = 3
    """First relevant document below this rank: misranked."""
    context_precision: float = 0.5
    """Below, with enough recall: misranked."""
    context_noise: float = 0.8
    """Above: noisy."""
    faithfulness: float = 0.8
    """Below: unfaithful."""
    citation_correctness: float = 0.8
    """Below, with a faithful answer: miscited."""
    needs_answered: float = 0.5
    """Below: off the question."""
    answer_relevancy: float = 0.4
    """Below, where needs are unknown: off the question."""
    answer_correctness: float = 0.5
    """Below: a symptom."""
    needs_covered: float = 0.5
    """From here on a refusal is needless."""

    def __post_init__(self) -> None:
        given = asdict(self)
        rank = given.pop("first_relevant_rank")
        wrong = [
            ConfigError(f"{value} is no share: 0 to 1", f"thresholds.{name}")
            for name, value in given.items()
            if not 0.0 <= value <= 1.0
        ]
        if rank < 1:
            wrong.append(ConfigError(f"{rank} is no rank: 1 or more", "thresholds.first_relevant_rank"))
        if wrong:
            raise one_or_all(wrong)

    @property
    def moved(self) -> dict[str, float]:
        """Those that are not the default ones, by name."""
        default = asdict(DEFAULT_THRESHOLDS)
        return {name: value for name, value in asdict(self).items() if value != default[name]}


DEFAULT_THRESHOLDS = Thresholds()

_PATHS: Mapping[Cause, tuple[Path, Stage]] = {
    Cause.RETRIEVAL_MISSED: ("A", "retrieval"),
    Cause.RETRIEVAL_MISRANKED: ("B", "retrieval"),
    Cause.RETRIEVAL_NOISY: ("B", "retrieval"),
    Cause.CONTRADICTS_DOCUMENTS: ("C", "generation"),
    Cause.UNFAITHFUL_ANSWER: ("C", "generation"),
    Cause.MISCITED: ("C", "generation"),
    Cause.OFF_QUESTION: ("D", "generation"),
}
_SETTLED = (Status.SCORED, Status.NOT_APPLICABLE, Status.ABSTAINED)
"""Statuses that leave nothing open: there is a number, or there is nothing to measure."""
_RECORDED_NOTHING = frozenset(
    {
        *("documents_not_recorded", "question_not_recorded", "answer_not_recorded"),
        *("partial_answer", "empty_answer"),
    }
)
"""Reasons of ``not_applicable`` that do leave something open: nobody looked, or there is no answer."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the table reads, each ``None`` where it is unknown."""

    abstained: bool = False
    has_reference: bool = False
    nothing_retrieved: bool = False
    claimless: bool = False
    """The answer states nothing: a greeting, a question back. No retrieval would have made it better."""
    evasive: bool = False
    """The answer states nothing but that it depends, or greets where something was asked."""
    recall: float | None = None
    precision: float | None = None
    first_relevant: int | None = None
    noise: float | None = None
    contradicted: bool = False
    faithfulness: float | None = None
    citation_correctness: float | None = None
    covered: float | None = None
    answered: float | None = None
    relevancy: float | None = None
    correctness: float | None = None


def diagnose(
    outcomes: Mapping[str, Outcome],
    *,
    claims: Sequence[JudgedClaim] = (),
    needs: Sequence[Need] = (),
    abstained: bool = False,
    has_reference: bool = False,
    evasive: bool = False,
    language: Language = "en",
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> Diagnosis:
    """The diagnosis of one interaction, with advice in ``language``.

    ``outcomes`` are those of :data:`ragtrace.metrics.DEFAULT_METRICS` by name; a metric that was not
    asked for counts as missing. ``abstained``: the answer declines; ``evasive``: it says only that
    it depends, or hello.
    """
    facts = gather(outcomes, claims, needs, abstained=abstained, has_reference=has_reference)
    facts = replace(facts, evasive=evasive)
    matches = match(facts, thresholds)
    warnings = () if matches else (*retrieval_flaws(facts, thresholds), *_half_answered(facts))
    missing = () if matches else missing_outcomes(outcomes, facts)
    cause = matches[0] if matches else Cause.UNDETERMINED if missing else Cause.OK
    path, stage = _PATHS.get(cause, (None, None))
    return Diagnosis(
        cause,
        path,
        stage or ("generation" if cause is Cause.NEEDLESS_REFUSAL else None),
        also=matches[1:],
        advice=advice(cause, language),
        missing=missing,
        warnings=warnings,
        thresholds=thresholds.moved,
    )


def gather(
    outcomes: Mapping[str, Outcome],
    claims: Sequence[JudgedClaim],
    needs: Sequence[Need],
    *,
    abstained: bool,
    has_reference: bool,
) -> Facts:
    """Read the facts of the table off the outcomes and verdicts."""

    def value(metric: str) -> float | None:
        outcome = outcomes.get(metric)
        return outcome.value if outcome is not None else None

    precision = outcomes.get("context_precision")
    first = precision.evidence.get("first_relevant") if isinstance(precision, Score) else None
    faithfulness = value("faithfulness")
    grounding = outcomes.get("faithfulness")
    return Facts(
        claimless=grounding is not None and grounding.reason == "no_claims",
        abstained=abstained or (_is_evasive(outcomes) and faithfulness is None),
        has_reference=has_reference,
        nothing_retrieved=any(outcome.basis == "nothing_retrieved" for outcome in outcomes.values()),
        recall=value("context_recall"),
        precision=value("context_precision"),
        first_relevant=first if isinstance(first, int) else None,
        noise=value("context_noise"),
        # Verdicts that faithfulness was not made of are not trusted here either.
        contradicted=faithfulness is not None and any(map(_is_contradicted, claims)),
        faithfulness=faithfulness,
        citation_correctness=value("citation_correctness"),
        covered=_share([need.covered for need in needs]),
        answered=_share([need.answered for need in needs]),
        relevancy=value("answer_relevancy"),
        correctness=value("answer_correctness"),
    )


def _is_evasive(outcomes: Mapping[str, Outcome]) -> bool:
    """Whether the judge found the answer evasive where no phrase gave it away."""
    relevancy = outcomes.get("answer_relevancy")
    return relevancy is not None and relevancy.status is Status.ABSTAINED


def _is_contradicted(judged: JudgedClaim) -> bool:
    verdict = judged.verdict
    return judged.claim.check_worthy and verdict is not None and verdict.support is Support.CONTRADICTED


def match(facts: Facts, thresholds: Thresholds) -> tuple[Cause, ...]:
    """Every cause that holds, in the order of the table."""
    missed = _missed(facts, thresholds)
    if facts.abstained:
        return _refusal(facts, thresholds, missed=missed)
    if facts.claimless and not facts.has_reference:
        return (Cause.OFF_QUESTION,) if facts.evasive and _off_question(facts, thresholds) else ()
    unfaithful = _unfaithful(facts, thresholds)
    off = _off_question(facts, thresholds)
    symptom = bool(unfaithful) or off or _below(facts.correctness, thresholds.answer_correctness)
    return (
        *((Cause.RETRIEVAL_MISSED,) if missed else ()),
        *(retrieval_flaws(facts, thresholds) if symptom else ()),
        *unfaithful,
        *((Cause.OFF_QUESTION,) if off else ()),
    )


def _refusal(facts: Facts, thresholds: Thresholds, *, missed: bool) -> tuple[Cause, ...]:
    covered = facts.recall if facts.covered is None else facts.covered
    if covered is None:
        return ()
    if covered >= thresholds.needs_covered:
        return (Cause.NEEDLESS_REFUSAL,)
    # With a reference somebody knows the answer, so the knowledge should have been there.
    return (Cause.CORRECT_REFUSAL, *((Cause.RETRIEVAL_MISSED,) if facts.has_reference and missed else ()))


def _missed(facts: Facts, thresholds: Thresholds) -> bool:
    return facts.nothing_retrieved or _below(facts.recall, thresholds.context_recall)


def retrieval_flaws(facts: Facts, thresholds: Thresholds) -> tuple[Cause, ...]:
    """What is wrong with the order and the purity of the documents, whether or not it did harm."""
    if facts.nothing_retrieved:
        return ()
    too_low = facts.first_relevant is not None and facts.first_relevant > thresholds.first_relevant_rank
    enough = facts.recall is not None and facts.recall >= thresholds.context_recall
    some_relevant = facts.first_relevant is not None
    misranked = too_low or (
        some_relevant and enough and _below(facts.precision, thresholds.context_precision)
    )
    noisy = facts.noise is not None and facts.noise > thresholds.context_noise
    return (
        *((Cause.RETRIEVAL_MISRANKED,) if misranked else ()),
        *((Cause.RETRIEVAL_NOISY,) if noisy else ()),
    )


def _unfaithful(facts: Facts, thresholds: Thresholds) -> tuple[Cause, ...]:
    unfaithful = _below(facts.faithfulness, thresholds.faithfulness)
    faithful = facts.faithfulness is not None and not unfaithful
    miscited = faithful and _below(facts.citation_correctness, thresholds.citation_correctness)
    return (
        *((Cause.CONTRADICTS_DOCUMENTS,) if facts.contradicted else ()),
        *((Cause.UNFAITHFUL_ANSWER,) if unfaithful else ()),
        *((Cause.MISCITED,) if miscited else ()),
    )


def _off_question(facts: Facts, thresholds: Thresholds) -> bool:
    if facts.answered is not None:
        return facts.answered < thresholds.needs_answered
    return _below(facts.relevancy, thresholds.answer_relevancy)


def _half_answered(facts: Facts) -> tuple[Cause, ...]:
    """A good answer to some of the needs is a warning: the threshold let it pass."""
    some = not facts.abstained and facts.answered is not None and 0 < facts.answered < 1
    return (Cause.OFF_QUESTION,) if some else ()


def missing_outcomes(outcomes: Mapping[str, Outcome], facts: Facts) -> tuple[str, ...]:
    """The metrics without which "ok" cannot be said, of those that one could wish for."""
    if facts.abstained:
        return ("context_recall",)
    needed = ["faithfulness", "context_recall"]
    if facts.answered is None:
        needed.append("answer_relevancy")
    return tuple(metric for metric in needed if _is_open(outcomes.get(metric)))


def _is_open(outcome: Outcome | None) -> bool:
    if outcome is None or outcome.status not in _SETTLED:
        return True
    return outcome.status is Status.NOT_APPLICABLE and outcome.reason in _RECORDED_NOTHING


def _below(value: float | None, threshold: float) -> bool:
    return value is not None and value < threshold


def _share(flags: Sequence[bool | None]) -> float | None:
    known = [flag for flag in flags if flag is not None]
    return sum(known) / len(known) if known else None
