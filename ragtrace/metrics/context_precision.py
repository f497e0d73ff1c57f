"""Context precision: are the relevant documents ranked first?

Rank-aware average precision over the documents judged relevant: the mean, over relevant documents, of the
precision at their ranks. It says nothing of how much noise follows; :mod:`ragtrace.metrics.context_noise`
does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragtrace.judges.base import Want
from ragtrace.metrics import gates
from ragtrace.metrics.base import Evidence
from ragtrace.metrics.relevance import relevance, wants_relevance
from ragtrace.model import Interaction, Outcome, Score, Status, Unscored


def average_precision(relevant: Sequence[bool]) -> float:
    """Average precision of ``relevant`` (in rank order), in 0..1: exactly 1.0 if all are, 0.0 if none is."""
    hits, total = 0, 0.0
    for rank, is_relevant in enumerate(relevant, start=1):
        if is_relevant:
            hits += 1
            total += hits / rank
    return total / hits if hits else 0.0


@dataclass(frozen=True, slots=True)
class ContextPrecision:
    """Average precision over the documents of the prompt, in their order; 0.0 where nothing was retrieved."""

    name: str = "context_precision"

    def wants(self, interaction: Interaction) -> frozenset[Want]:
        """Relevance; with a reference, relevance given the reference as well."""
        return wants_relevance(interaction)

    def score(self, evidence: Evidence) -> Outcome:
        """The outcome. Documents without a verdict are left out of the ranking and show in ``n_total``."""
        found = relevance(self.name, evidence)
        if isinstance(found, Unscored):
            return found
        if not found.flags:
            return Score(self.name, 0.0, 0, 0, basis="nothing_retrieved")
        if not found.judged:
            return Unscored(
                self.name, Status.JUDGE_ERROR, gates.NO_VERDICTS, 0, len(found.flags), found.basis
            )
        return Score(
            self.name,
            average_precision(found.judged),
            len(found.judged),
            len(found.flags),
            found.basis,
            kept_ratio=gates.kept_ratio(evidence),
            evidence={"relevant": sum(found.judged), "first_relevant": found.first},
        )
