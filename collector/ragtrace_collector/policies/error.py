"""Judge interactions in which something failed."""

from __future__ import annotations

from dataclasses import dataclass

from ragtrace_collector.policies import Candidate

_OTLP_ERROR = 2


@dataclass(frozen=True, slots=True)
class Error:
    """Some span of the interaction ended in an error."""

    def matches(self, candidate: Candidate) -> bool:
        """Whether a span has the OTLP status ERROR."""
        return any(span.status == _OTLP_ERROR for span in candidate.spans)
