"""Answer relevancy: does the answer address the question?

The judge writes the questions that the answer, seen alone, would answer; the value is the mean cosine of
the real question with them (Es et al. 2023). Cosines below 0 count as 0. A judge that writes no questions
gives its own estimate of the fit, and ``basis`` says ``estimate``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragtrace.judges.base import Want
from ragtrace.metrics import gates
from ragtrace.metrics.base import Evidence
from ragtrace.model import Interaction, Outcome, Score, Status, Unscored
from ragtrace.text.language import detect_language

GENERATED, ESTIMATE = "generated_questions", "estimate"


def mean_relevancy(similarities: Sequence[float], noncommittal: Sequence[bool] = ()) -> float | None:
    """Mean of ``similarities`` (cosines, clipped to 0..1).

    0.0 when every one of ``noncommittal`` is set (one flag of three is a slip of the judge, not an
    evasive answer); ``None`` when there are no similarities.
    """
    if not similarities:
        return None
    if noncommittal and all(noncommittal):
        return 0.0
    return sum(min(1.0, max(0.0, similarity)) for similarity in similarities) / len(similarities)


@dataclass(frozen=True, slots=True)
class AnswerRelevancy:
    """How near the question is to the questions that the answer answers; against the rewritten question
    if there is one."""

    name: str = "answer_relevancy"

    def wants(self, interaction: Interaction) -> frozenset[Want]:
        """Generated questions."""
        ready = gates.has_answer(interaction) and bool(interaction.question or interaction.rewritten_question)
        return frozenset({Want.QUESTIONS}) if ready else frozenset()

    def score(self, evidence: Evidence) -> Outcome:
        """The outcome."""
        stop = (
            gates.answer_gate(self.name, evidence)
            or gates.question_gate(self.name, evidence)
            or gates.abstention_gate(self.name, evidence)
            or gates.fault_gate(self.name, evidence, Want.QUESTIONS)
        )
        if stop:
            return stop
        reply = evidence.reply
        if not reply.questions:
            return self._estimate(reply.answer_fit)
        if reply.noncommittal and all(reply.noncommittal):
            return Unscored(self.name, Status.ABSTAINED, "noncommittal", basis=GENERATED)
        value = mean_relevancy(evidence.similarities or ())
        if value is None:
            return gates.no_similarity(self.name, evidence)
        n = len(reply.questions)
        return Score(self.name, value, n, n, GENERATED, evidence=_evidence(evidence))

    def _estimate(self, fit: float | None) -> Outcome:
        if fit is None or math.isnan(fit):
            return Unscored(self.name, Status.JUDGE_ERROR, "no_questions", 0, 0, GENERATED)
        return Score(self.name, min(1.0, max(0.0, fit)), basis=ESTIMATE)


def _evidence(evidence: Evidence) -> dict[str, object]:
    questions = evidence.reply.questions
    found: dict[str, object] = {
        "questions": list(questions),
        "noncommittal": sum(evidence.reply.noncommittal),
    }
    if detect_language(*questions) != detect_language(evidence.interaction.question):
        found["language_mismatch"] = True
    return found
