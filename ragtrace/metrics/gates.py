"""The reasons for which metrics have no number, asked in one order everywhere.

Each gate answers ``None`` (go on) or the outcome that ends the metric. ``first`` runs them in order.
"""

from __future__ import annotations

from ragtrace.judges.base import Want
from ragtrace.metrics.base import Evidence
from ragtrace.model import Interaction, Score, Status, Unscored

ABSTAINED = "answer_declines"
PARTIAL = "partial_answer"
NO_ANSWER = "answer_not_recorded"
EMPTY_ANSWER = "empty_answer"
NO_QUESTION = "question_not_recorded"
NO_DOCUMENTS = "documents_not_recorded"
NO_REFERENCE = "no_reference"
NO_CLAIMS = "no_claims"
NO_VERDICTS = "no_verdicts"
NO_EMBEDDER = "no_embedder"
_LATE = frozenset({"deadline", "embedder_timeout"})
"""Faults of an embedder that came too late, rather than failed."""


def has_answer(interaction: Interaction) -> bool:
    """Whether there is a whole answer to judge."""
    return bool(interaction.answer and interaction.answer.strip()) and not interaction.partial


def has_documents(interaction: Interaction) -> bool:
    """Whether document texts were recorded, or it was recorded that there are none (``()``)."""
    documents = interaction.documents
    return documents is not None and (not documents or any(d.text is not None for d in documents))


def not_applicable(metric: str, reason: str, basis: str | None = None) -> Unscored:
    """The outcome of a metric that has nothing to measure."""
    return Unscored(metric, Status.NOT_APPLICABLE, reason, basis=basis)


def answer_gate(metric: str, evidence: Evidence) -> Unscored | None:
    """No answer, an empty one, or half of one, which is not what the model would have said."""
    if evidence.interaction.partial:
        return not_applicable(metric, PARTIAL)
    if has_answer(evidence.interaction):
        return None
    return not_applicable(metric, NO_ANSWER if evidence.interaction.answer is None else EMPTY_ANSWER)


def abstention_gate(metric: str, evidence: Evidence) -> Unscored | None:
    """A refusal is neither right nor wrong here: the diagnosis says whether it was called for."""
    return Unscored(metric, Status.ABSTAINED, ABSTAINED) if evidence.abstained else None


def question_gate(metric: str, evidence: Evidence) -> Unscored | None:
    """No question."""
    question = evidence.interaction.rewritten_question or evidence.interaction.question
    return None if question and question.strip() else not_applicable(metric, NO_QUESTION)


def documents_gate(metric: str, evidence: Evidence) -> Unscored | None:
    """No retrieval recorded, or none of its texts."""
    return None if has_documents(evidence.interaction) else not_applicable(metric, NO_DOCUMENTS)


def fault_gate(metric: str, evidence: Evidence, want: Want, basis: str | None = None) -> Unscored | None:
    """The judge could not serve ``want``."""
    fault = evidence.reply.fault(want)
    return Unscored(metric, fault.status, fault.reason, basis=basis) if fault else None


def no_similarity(
    metric: str, evidence: Evidence, n_judged: int | None = None, n_total: int | None = None
) -> Unscored:
    """The outcome where a cosine is needed and not there: the embedder failed, was late, or there is none."""
    if evidence.embedder_fault:
        late = evidence.embedder_fault in _LATE
        status = Status.TIMED_OUT if late else Status.JUDGE_ERROR
        return Unscored(metric, status, evidence.embedder_fault, n_judged, n_total)
    return Unscored(metric, Status.SKIPPED, NO_EMBEDDER, n_judged, n_total)


def share(
    metric: str,
    verdicts: list[bool | None],
    evidence: Evidence,
    *,
    none: str,
    basis: str | None = None,
    details: dict[str, object] | None = None,
) -> Score | Unscored:
    """The share of true ``verdicts`` among those given; ``None`` counts as asked but not answered.

    ``none`` is the reason when there is nothing to judge at all.
    """
    judged = [verdict for verdict in verdicts if verdict is not None]
    if not verdicts:
        return not_applicable(metric, none, basis)
    if not judged:
        return Unscored(metric, Status.JUDGE_ERROR, NO_VERDICTS, 0, len(verdicts), basis)
    return Score(
        metric,
        sum(judged) / len(judged),
        len(judged),
        len(verdicts),
        basis,
        kept_ratio=kept_ratio(evidence),
        evidence=details or {},
    )


def kept_ratio(evidence: Evidence) -> float:
    """Share of the recorded text that the judge saw: cuts on the way and cuts for its window multiply."""
    return min(1.0, max(0.0, evidence.interaction.kept_ratio * evidence.reply.kept_ratio))
