"""Answer correctness: does the answer say what the reference says?

weights[0] · F(TP, FP, FN) + weights[1] · cosine(answer, reference), where TP are reference claims that
the answer makes, FN those that it does not make, FP the answer's claims that the reference does not hold.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from ragtrace.judges.base import Want
from ragtrace.metrics import gates
from ragtrace.metrics.base import Evidence
from ragtrace.model import Interaction, Outcome, Score, Status, Unscored


def f_measure(tp: int, fp: int, fn: int, beta: float = 1.0) -> float | None:
    """F-beta of counts, in 0..1 (van Rijsbergen 1979); ``None`` when all are 0."""
    if not tp + fp + fn:
        return None
    squared = beta * beta
    return (1 + squared) * tp / ((1 + squared) * tp + squared * fn + fp)


def correctness(
    counts: tuple[int, int, int],
    similarity: float,
    weights: tuple[float, float] = (0.75, 0.25),
    beta: float = 1.0,
) -> float | None:
    """Weighted mean of :func:`f_measure` of ``counts`` (TP, FP, FN) and ``similarity``.

    ``similarity`` is a cosine; below 0 it counts as 0. ``None`` when there are no claims.
    """
    f = f_measure(*counts, beta)
    if f is None:
        return None
    return (weights[0] * f + weights[1] * min(1.0, max(0.0, similarity))) / sum(weights)


@dataclass(frozen=True, slots=True)
class AnswerCorrectness:
    """The answer against the reference. ``weights`` are those of claims and of similarity, ``beta`` as in
    F-beta."""

    weights: tuple[float, float] = (0.75, 0.25)
    beta: float = 1.0
    name: str = "answer_correctness"

    def wants(self, interaction: Interaction) -> frozenset[Want]:
        """The claims of the reference; nothing when answer and reference are the same text."""
        if not interaction.reference or not gates.has_answer(interaction) or _same(interaction):
            return frozenset()
        return frozenset({Want.REFERENCE})

    def score(self, evidence: Evidence) -> Outcome:
        """The outcome. A refusal is scored: against a reference with claims it makes none of them."""
        interaction, reply = evidence.interaction, evidence.reply
        if not interaction.reference:
            return gates.not_applicable(self.name, gates.NO_REFERENCE)
        if stop := gates.answer_gate(self.name, evidence):
            return stop
        if _same(interaction):
            return Score(self.name, 1.0, basis="identical")
        if stop := gates.fault_gate(self.name, evidence, Want.REFERENCE):
            return stop
        if reply.unsupported_answer_claims is None:
            return Unscored(self.name, Status.JUDGE_ERROR, "no_answer_claims")
        tp = sum(claim.in_answer is True for claim in reply.reference_claims)
        fn = sum(claim.in_answer is False for claim in reply.reference_claims)
        fp = 0 if evidence.abstained else len(reply.unsupported_answer_claims)
        return self._outcome(evidence, tp, fp, fn)

    def _outcome(self, evidence: Evidence, tp: int, fp: int, fn: int) -> Outcome:
        n_judged, n_total = tp + fp + fn, len(evidence.reply.reference_claims) + fp
        if not n_total:
            return gates.not_applicable(self.name, gates.NO_CLAIMS)
        similarity = evidence.reference_similarity
        if similarity is None:
            similarity = evidence.reply.reference_similarity
        if similarity is None and self.weights[1]:
            return gates.no_similarity(self.name, evidence, n_judged, n_total)
        value = correctness((tp, fp, fn), similarity or 0.0, self.weights, self.beta)
        if value is None:
            return Unscored(self.name, Status.JUDGE_ERROR, gates.NO_VERDICTS, 0, n_total)
        return Score(
            self.name,
            value,
            n_judged,
            n_total,
            basis="reference",
            kept_ratio=gates.kept_ratio(evidence),
            evidence={
                "tp": tp,
                "fp": fp,
                "fn": fn,
                "f": f_measure(tp, fp, fn, self.beta),
                "similarity": similarity,
            },
        )


def _same(interaction: Interaction) -> bool:
    references = (interaction.reference, *interaction.other_references)
    return any(r and _normal(r) == _normal(interaction.answer or "") for r in references)


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".。!")
