"""Context noise: the share of documents that are not relevant, whatever their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragtrace.judges.base import Want
from ragtrace.metrics import gates
from ragtrace.metrics.base import Evidence
from ragtrace.metrics.relevance import relevance, wants_relevance
from ragtrace.model import Interaction, Outcome, Unscored


def noise(relevant: Sequence[bool]) -> float | None:
    """Share of false entries in ``relevant``, in 0..1; ``None`` when there are none."""
    return sum(not flag for flag in relevant) / len(relevant) if relevant else None


@dataclass(frozen=True, slots=True)
class ContextNoise:
    """Documents that are not relevant / documents judged. Lower is better."""

    name: str = "context_noise"

    def wants(self, interaction: Interaction) -> frozenset[Want]:
        """As context precision."""
        return wants_relevance(interaction)

    def score(self, evidence: Evidence) -> Outcome:
        """The outcome; where nothing was retrieved there is no noise to measure."""
        found = relevance(self.name, evidence)
        if isinstance(found, Unscored):
            return found
        irrelevant = [None if flag is None else not flag for flag in found.flags]
        return gates.share(self.name, irrelevant, evidence, none="nothing_retrieved", basis=found.basis)
