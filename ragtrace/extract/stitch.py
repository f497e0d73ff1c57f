"""Traces that belong together: instrumentations that begin a new trace for every step of one interaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragtrace.extract.step import Step
from ragtrace.model import SpanRecord


@dataclass(frozen=True, slots=True)
class Trace:
    """The spans of one trace, and those of them that a dialect read."""

    spans: tuple[SpanRecord, ...]
    steps: tuple[Step, ...]

    @property
    def session(self) -> str | None:
        """The session or conversation that it names, if all its steps name the same or none."""
        named = {step.session for step in self.steps if step.session is not None}
        return named.pop() if len(named) == 1 else None


def stitched(traces: Sequence[Trace]) -> list[Trace]:
    """Traces of one session put together where the first of them stands; those without one stay alone."""
    groups: dict[object, list[Trace]] = {}
    for trace in traces:
        groups.setdefault(trace.session or object(), []).append(trace)
    return [
        Trace(tuple(s for t in group for s in t.spans), tuple(s for t in group for s in t.steps))
        for group in groups.values()
    ]
