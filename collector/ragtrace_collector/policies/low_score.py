"""Judge interactions that the screening judge finds poor."""

from __future__ import annotations

from dataclasses import dataclass

from ragtrace_collector.policies import Candidate


@dataclass(frozen=True, slots=True)
class LowScore:
    """The screening judge scored ``metric`` below ``below``. A metric without a score is not low."""

    metric: str = "faithfulness"
    below: float = 0.5

    def matches(self, candidate: Candidate) -> bool:
        """Whether some evaluation of the screen has a lower score."""
        outcomes = (evaluation.outcomes.get(self.metric) for evaluation in candidate.screens)
        values = [outcome.value for outcome in outcomes if outcome is not None]
        return any(value is not None and value < self.below for value in values)
