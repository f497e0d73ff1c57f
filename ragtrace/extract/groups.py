"""Document lists on their way to the prompt, found again by document and by the step that they came from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ragtrace.extract.step import Step
from ragtrace.extract.tree import Tree
from ragtrace.model import Hop, RetrievedDocument


@dataclass(slots=True)
class Group:
    """One list, the hops that it comes from, where it was found, and which steps made it."""

    documents: tuple[RetrievedDocument, ...]
    hops: list[Hop]
    source: str
    kept_ratio: float = 1.0
    makers: set[str] = field(default_factory=set)
    """Names of the steps."""
    total: int = 0
    """How many documents there were, as far as can be told: more than are here where some were left out."""
    steps: set[str] = field(default_factory=set)
    """Ids of the steps that retrieved it."""


class Groups:
    """The lists as they stand, in the order in which they first appeared.

    A list that takes the place of others takes the place of the first of them.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._groups: dict[int, Group] = {}
        self._by_document: dict[str, set[int]] = defaultdict(set)
        self._by_step: dict[str, int] = {}
        self._next = 0

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups[place] for place in sorted(self._groups))

    def __bool__(self) -> bool:
        return bool(self._groups)

    def add(self, group: Group) -> None:
        """Put a new list behind the others."""
        self._put(self._next, group)
        self._next += 1

    def replace(self, places: Sequence[int], group: Group) -> None:
        """Put ``group`` where the lists at ``places`` stand; its hops and steps are theirs and its own."""
        for place in places:
            old = self._groups.pop(place)
            for key in _keys(old.documents):
                self._by_document[key].discard(place)
            group.steps |= old.steps
        self._put(min(places, default=self._next), group)
        self._next += not places

    def _put(self, place: int, group: Group) -> None:
        self._groups[place] = group
        for key in _keys(group.documents):
            self._by_document[key].add(place)
        for step in group.steps:
            self._by_step[step] = place

    def at(self, places: Iterable[int]) -> list[Group]:
        """The lists at ``places``."""
        return [self._groups[place] for place in places]

    def all(self) -> list[int]:
        """The places of all lists."""
        return sorted(self._groups)

    def holding(self, documents: Iterable[RetrievedDocument]) -> list[int]:
        """The places of the lists that hold any of ``documents``."""
        return sorted({place for key in _keys(documents) for place in self._by_document.get(key, ())})

    def below(self, step: Step) -> list[int]:
        """The places of the lists that were retrieved below ``step``."""
        return sorted({self._by_step[found] for found in ids_below(self._tree, step, self._by_step)})


def ids_below(tree: Tree, step: Step, ids: dict[str, int] | dict[str, Hop] | dict[str, None]) -> list[str]:
    """Those of ``ids`` whose steps are below ``step``, by the shorter of the two ways to find them."""
    if tree.count_below(step) <= len(ids):
        return [below.id for below in tree.below(step) if below.id in ids]
    return [span_id for span_id in ids if tree.is_below(span_id, step)]


def _keys(documents: Iterable[RetrievedDocument]) -> Iterator[str]:
    for document in documents:
        if document.id:
            yield "id " + document.id
        if document.text is not None:
            yield "text " + document.text
