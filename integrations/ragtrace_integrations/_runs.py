"""Open runs of a framework, by run id: what the parent of a new run is, and what must close with an old one.

Frameworks report runs by id, from any thread or task, and not every start is followed by an end: a cancelled
retriever reports nothing, an abandoned stream reports its root before its children. So the parent is looked
up by id, never in the ambient context; what is still open below a run closes with it; and a root that never
ends leaves when it is too old or there are too many.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import RLock
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Node(Generic[T]):
    id: Hashable
    item: T
    parent: _Node[T] | None
    opened_s: float
    children: dict[Hashable, _Node[T]] = field(default_factory=dict)


class OpenRuns(Generic[T]):
    """A forest of open runs, safe for all threads.

    ``max_roots`` and ``max_age_s`` bound the roots that are open at once and for how long; ``remembered`` is
    the number of closed runs that a late child can still find as its parent. Items are the caller's; the
    table never looks into them. Times are seconds of any one clock.
    """

    def __init__(self, max_roots: int = 10_000, max_age_s: float = 3600.0, remembered: int = 4096) -> None:
        self._max_roots, self._max_age_s, self._remembered = max_roots, max_age_s, remembered
        self._nodes: dict[Hashable, _Node[T]] = {}
        self._roots: OrderedDict[Hashable, _Node[T]] = OrderedDict()
        self._closed: OrderedDict[Hashable, T] = OrderedDict()
        # Re-entrant: ``make`` starts a span, and a span processor of the user's may call a traced component.
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._nodes)

    def open(
        self, run_id: Hashable, parent_id: Hashable | None, make: Callable[[T | None], T], now_s: float
    ) -> list[T]:
        """Open a run below ``parent_id`` → the items that had to leave for it, deepest first.

        ``make`` gets the parent's item (``None`` where there is no parent, or an unknown one) and is called
        under the lock, so that the parent cannot close before its child is in the table. A run that is open
        already stays as it is.
        """
        with self._lock:
            if run_id in self._nodes:
                return []
            parent = self._nodes.get(parent_id) if parent_id is not None else None
            item = make(parent.item if parent else self._closed.get(parent_id))
            node = _Node(run_id, item, parent, now_s)
            self._nodes[run_id] = node
            if parent is not None:
                parent.children[run_id] = node
                return []
            self._roots[run_id] = node
            return self._evict(now_s)

    def get(self, run_id: Hashable) -> T | None:
        """The item of an open run."""
        node = self._nodes.get(run_id)
        return node.item if node else None

    def below(self, run_id: Hashable | None) -> list[T]:
        """The items of the open runs right below an open run."""
        with self._lock:
            node = self._nodes.get(run_id) if run_id is not None else None
            return [child.item for child in node.children.values()] if node else []

    def close(self, run_id: Hashable) -> list[T]:
        """Close a run and all that is open below it → their items, deepest first, the run's own last.

        Empty where the run is not open: never seen, or closed with an ancestor.
        """
        with self._lock:
            node = self._nodes.get(run_id)
            return self._remove(node) if node else []

    def detach(self, run_id: Hashable) -> T | None:
        """Close a run alone → its item; what is open below it is handed to its parent, or becomes roots."""
        with self._lock:
            node = self._nodes.get(run_id)
            if node is None:
                return None
            for child in node.children.values():
                child.parent = node.parent
                (self._roots if node.parent is None else node.parent.children)[child.id] = child
            node.children = {}
            return self._remove(node)[0]

    def drain(self) -> list[T]:
        """Close everything → the items, each after its descendants."""
        with self._lock:
            return [item for root in list(self._roots.values()) for item in self._remove(root)]

    def _evict(self, now_s: float) -> list[T]:
        """Close the oldest roots while there are too many or they are too old; never the newest."""
        gone: list[T] = []
        while len(self._roots) > 1:
            oldest = next(iter(self._roots.values()))
            if len(self._roots) <= self._max_roots and now_s - oldest.opened_s <= self._max_age_s:
                break
            gone += self._remove(oldest)
        return gone

    def _remove(self, top: _Node[T]) -> list[T]:
        order, stack = [], [top]
        while stack:
            node = stack.pop()
            order.append(node)
            stack.extend(node.children.values())
        for node in order:
            del self._nodes[node.id]
            self._closed[node.id] = node.item
        while len(self._closed) > self._remembered:
            self._closed.popitem(last=False)
        self._roots.pop(top.id, None)
        if top.parent is not None:
            top.parent.children.pop(top.id, None)
        return [node.item for node in reversed(order)]
