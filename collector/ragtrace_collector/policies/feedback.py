"""Judge interactions on which a person has spoken."""

from __future__ import annotations

from dataclasses import dataclass

from ragtrace import semconv
from ragtrace.model import SpanRecord
from ragtrace_collector.policies import Candidate

_ANNOTATION_PREFIXES = ("annotations.", f"{semconv.OI_EVALUATIONS}.")


@dataclass(frozen=True, slots=True)
class Feedback:
    """Feedback is already on the trace: our hooks', or an OpenInference annotation by a human."""

    def matches(self, candidate: Candidate) -> bool:
        """Whether some span carries feedback."""
        return any(semconv.FEEDBACK in span.attributes or _annotated(span) for span in candidate.spans)


def _annotated(span: SpanRecord) -> bool:
    return any(
        value == "HUMAN"
        for key, value in span.attributes.items()
        if key.startswith(_ANNOTATION_PREFIXES) and key.endswith(".annotator_kind")
    )
