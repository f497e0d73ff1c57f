"""The steps of one trace as a forest: plain spans between them are looked through."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ragtrace.extract.step import Step
from ragtrace.model import SpanRecord


def once(spans: Iterable[SpanRecord]) -> list[SpanRecord]:
    """Each span id once: of repeats the one that tells most, the later one where they tell as much."""
    best: dict[str, SpanRecord] = {}
    for span in spans:
        known = best.get(span.span_id)
        if known is None or _weight(span) >= _weight(known):
            best[span.span_id] = span
    return list(best.values())


def _weight(span: SpanRecord) -> tuple[bool, int, int]:
    return span.end_ns > 0, len(span.attributes) + len(span.events), span.end_ns


class Tree:
    """Steps by parent, siblings in the order in which they began."""

    def __init__(self, steps: Iterable[Step], spans: Iterable[SpanRecord]) -> None:
        self.steps: Sequence[Step] = sorted(steps, key=_began)
        by_id = {step.id: step for step in self.steps}
        above = {span.span_id: span.parent_id for span in spans}
        self._parents: Mapping[str, Step | None] = {
            step.id: _nearest(step.span.parent_id, by_id, above) for step in self.steps
        }
        self._children: dict[str, list[Step]] = defaultdict(list)
        self.tops: list[Step] = []
        for step in self.steps:
            parent = self._parents[step.id]
            (self.tops if parent is None else self._children[parent.id]).append(step)
        if len(self.tops) == 0 and self.steps:
            self.tops = [self.steps[0]]

    def children(self, step: Step) -> Sequence[Step]:
        """The nearest steps below."""
        return self._children.get(step.id, ())

    def ancestors(self, span_id: str) -> Iterator[Step]:
        """The steps above a step, nearest first."""
        seen = {span_id}
        current = self._parents.get(span_id)
        while current is not None and current.id not in seen:
            yield current
            seen.add(current.id)
            current = self._parents.get(current.id)

    def subtree(self, step: Step) -> list[Step]:
        """``step`` and all below it, in the order in which they began."""
        found, waiting = {step.id: step}, [step]
        while waiting:
            for child in self.children(waiting.pop()):
                if child.id not in found:
                    found[child.id] = child
                    waiting.append(child)
        return sorted(found.values(), key=_began)


def _began(step: Step) -> tuple[int, int]:
    """Order of beginning; of two that began at once, the one that lasted longer is above."""
    return step.span.start_ns, -step.span.end_ns


def _nearest(
    parent_id: str | None, steps: Mapping[str, Step], above: Mapping[str, str | None]
) -> Step | None:
    seen: set[str] = set()
    while parent_id is not None and parent_id not in seen:
        if parent_id in steps:
            return steps[parent_id]
        seen.add(parent_id)
        parent_id = above.get(parent_id)
    return None
