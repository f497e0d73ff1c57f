"""Judge interactions by how long they took."""

from __future__ import annotations

from dataclasses import dataclass

from ragtrace_collector.policies import Candidate


@dataclass(frozen=True, slots=True)
class Latency:
    """From the first start to the last end took ``at_least`` seconds, and less than ``below`` where given."""

    at_least: float
    below: float | None = None

    def matches(self, candidate: Candidate) -> bool:
        """Whether the duration of the whole interaction lies within the bounds."""
        ended = [span for span in candidate.spans if span.end_ns]
        if not ended:
            return False
        seconds = (max(span.end_ns for span in ended) - min(span.start_ns for span in ended)) / 1e9
        return self.at_least <= seconds and (self.below is None or seconds < self.below)
