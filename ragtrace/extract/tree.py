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


def in_time(steps: Iterable[Step]) -> list[Step]:
    """Steps in the order in which they began; of two that began at once, the one that lasted longer first."""
    return sorted(steps, key=lambda step: (step.span.start_ns, -step.span.end_ns))


class Tree:
    """Steps by parent, siblings in the order in which they began.

    Steps are numbered top down, so that those below one are a range: asking who is below whom is free.
    """

    def __init__(self, steps: Iterable[Step], spans: Iterable[SpanRecord]) -> None:
        by_id = {step.id: step for step in steps}
        self.steps: Sequence[Step] = in_time(by_id.values())
        above = {span.span_id: span.parent_id for span in spans}
        self._parents = {step.id: _nearest(step.span.parent_id, by_id, above) for step in self.steps}
        self._children: dict[str, list[Step]] = defaultdict(list)
        self.tops: list[Step] = []
        for step in self.steps:
            parent = self._parents[step.id]
            (self.tops if parent is None else self._children[parent.id]).append(step)
        self._numbered: list[Step] = []
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        for top in self.tops:
            self._number(top)
        for step in self.steps:
            if step.id not in self._first:
                self._open_circle(step)

    def _open_circle(self, step: Step) -> None:
        """Parents that form a circle have no top: one of them becomes it."""
        parent = self._parents[step.id]
        if parent is not None:
            siblings = self._children[parent.id]
            self._children[parent.id] = [one for one in siblings if one is not step]
        self._parents[step.id] = None
        self.tops.append(step)
        self._number(step)

    def _number(self, top: Step) -> None:
        waiting: list[tuple[Step, bool]] = [(top, False)]
        while waiting:
            step, done = waiting.pop()
            if done:
                self._last[step.id] = len(self._numbered)
                continue
            self._first[step.id] = len(self._numbered)
            self._numbered.append(step)
            waiting.append((step, True))
            waiting.extend((child, False) for child in reversed(self.children(step)))

    def children(self, step: Step) -> Sequence[Step]:
        """The nearest steps below."""
        return self._children.get(step.id, ())

    def parent(self, step: Step) -> Step | None:
        """The nearest step above."""
        return self._parents.get(step.id)

    def ancestors(self, step: Step) -> Iterator[Step]:
        """The steps above, nearest first."""
        above = self.parent(step)
        while above is not None:
            yield above
            above = self.parent(above)

    def below(self, step: Step) -> Sequence[Step]:
        """The steps below ``step``, parents before children."""
        first = self._first.get(step.id)
        return () if first is None else self._numbered[first + 1 : self._last[step.id]]

    def count_below(self, step: Step) -> int:
        """How many steps are below ``step``."""
        first = self._first.get(step.id)
        return 0 if first is None else self._last[step.id] - first - 1

    def is_below(self, span_id: str, step: Step) -> bool:
        """Whether the step of ``span_id`` is below ``step``."""
        first, at = self._first.get(step.id), self._first.get(span_id)
        return first is not None and at is not None and first < at < self._last[step.id]

    def subtree(self, step: Step) -> list[Step]:
        """``step`` and all below it, in the order in which they began."""
        return in_time([step, *self.below(step)])

    def holders(self, steps: Iterable[Step]) -> set[str]:
        """The ids of all steps above any of ``steps``."""
        found: set[str] = set()
        for step in steps:
            for above in self.ancestors(step):
                if above.id in found:
                    break
                found.add(above.id)
        return found


def _nearest(
    parent_id: str | None, steps: Mapping[str, Step], above: Mapping[str, str | None]
) -> Step | None:
    """The nearest step above."""
    seen: set[str] = set()
    while parent_id is not None and parent_id not in seen:
        if parent_id in steps:
            return steps[parent_id]
        seen.add(parent_id)
        parent_id = above.get(parent_id)
    return None
