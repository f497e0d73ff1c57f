"""Judge interactions that the screening judge cannot decide."""

from __future__ import annotations

from dataclasses import dataclass

from ragtrace.model import Evaluation
from ragtrace_collector.policies import Candidate


@dataclass(frozen=True, slots=True)
class Undecided:
    """At least ``share`` of the claims have a support probability between ``low`` and ``high``."""

    low: float = 0.35
    high: float = 0.65
    share: float = 0.3

    def matches(self, candidate: Candidate) -> bool:
        """Whether some evaluation of the screen has that many unclear claims."""
        return any(
            self._share(evaluation) >= self.share for evaluation in candidate.screens if evaluation.claims
        )

    def _share(self, evaluation: Evaluation) -> float:
        unclear = [
            claim
            for claim in evaluation.claims
            if claim.verdict is None
            or (claim.verdict.confidence is not None and self.low <= claim.verdict.confidence <= self.high)
        ]
        return len(unclear) / len(evaluation.claims)
