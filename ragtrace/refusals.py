"""Unanswerable questions: the right answer is to decline, and that is what is scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ragtrace.advice import advice
from ragtrace.dataset import is_unanswerable
from ragtrace.model import Cause, Diagnosis, Evaluation, Outcome, Score, Status, Unscored
from ragtrace.reading import read

METRIC = "refusal"
"""1 where an unanswerable question was declined, 0 where it was answered."""

_OF_AN_ANSWER = (
    "answer_correctness",
    "answer_relevancy",
    "context_precision",
    "context_recall",
    "context_noise",
)
"""What measures how well a question is answered: it says nothing where there is no answer to find."""


def with_refusal(evaluation: Evaluation) -> Evaluation:
    """The evaluation of a row of a set; that of an unanswerable one is judged as a refusal.

    Declining is then ``correct_refusal`` whatever was retrieved. An answer is a failure of the generation
    (path C): no document can support it, whatever a verdict says.
    """
    if not is_unanswerable(evaluation.interaction):
        return evaluation
    declined = _declined(evaluation)
    if declined is None:
        return replace(evaluation, outcomes={**evaluation.outcomes, METRIC: _unknown()})
    outcomes: Mapping[str, Outcome] = {
        name: Unscored(name, Status.NOT_APPLICABLE, "unanswerable") if name in _OF_AN_ANSWER else outcome
        for name, outcome in evaluation.outcomes.items()
    }
    refusal = Score(METRIC, float(declined), 1, 1, basis="question_type")
    return replace(
        evaluation, outcomes={**outcomes, METRIC: refusal}, diagnosis=_diagnosis(evaluation, declined)
    )


def _declined(evaluation: Evaluation) -> bool | None:
    """Whether the answer declines: by its words, or by the judge's. ``None`` where there is no answer."""
    interaction = evaluation.interaction
    if interaction.partial or not (interaction.answer or "").strip():
        return None
    if read(interaction, evaluation.language).abstained:
        return True
    relevancy = evaluation.outcomes.get("answer_relevancy")
    return relevancy is not None and relevancy.status is Status.ABSTAINED


def _unknown() -> Unscored:
    return Unscored(METRIC, Status.NOT_APPLICABLE, "answer_not_recorded")


def _diagnosis(evaluation: Evaluation, declined: bool) -> Diagnosis:
    if declined:
        return Diagnosis(Cause.CORRECT_REFUSAL, advice=advice(Cause.CORRECT_REFUSAL, evaluation.language))
    found = evaluation.diagnosis
    cause = Cause.UNFAITHFUL_ANSWER
    if found.cause is Cause.CONTRADICTS_DOCUMENTS or Cause.CONTRADICTS_DOCUMENTS in found.also:
        cause = Cause.CONTRADICTS_DOCUMENTS
    return Diagnosis(cause, "C", "generation", advice=advice(cause, evaluation.language))
