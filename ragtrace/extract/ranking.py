"""From the retrievals, rerankers and reorderings of an interaction to the documents that it ended with.

The lists are followed in the order of time: a retrieval adds a list, a retrieval around others replaces
theirs (the outermost wins), a step that hands on known documents has reranked, fused or filtered them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ragtrace.extract.documents import DocumentList
from ragtrace.extract.known import Known, completed, distinct, keys_of
from ragtrace.extract.listings import Listing, Move, listings
from ragtrace.extract.shapes import question_in
from ragtrace.extract.step import Role, Step
from ragtrace.extract.tree import Tree
from ragtrace.model import Hop, RetrievedDocument


@dataclass(frozen=True, slots=True)
class Ranking:
    """The documents of an interaction.

    ``documents`` as :class:`~ragtrace.model.Interaction` has them, before the prompt was looked at.
    ``fused``: several lists stand side by side and no span says in which order they were put together.
    ``source`` is where the final list was found, ``retrievals`` the ids of the outermost retrieval spans.
    """

    documents: tuple[RetrievedDocument, ...] | None = None
    hops: tuple[Hop, ...] = ()
    retrievals: tuple[str, ...] = ()
    source: str | None = None
    fused: bool = False
    kept_ratio: float = 1.0


def rank(tree: Tree, steps: Sequence[Step], entry: Step | None, answered_at: int | None) -> Ranking:
    """Follow the document lists of ``steps``. ``answered_at`` is when the answering model call began."""
    flow = _Flow(tree, answered_at)
    for listing in listings(tree, steps, entry):
        flow.follow(listing)
    return flow.end()


@dataclass(slots=True)
class _Group:
    """One list on its way to the prompt, the steps that it came through, and its hops."""

    documents: tuple[RetrievedDocument, ...]
    steps: list[Step]
    hops: list[Hop]
    source: str
    kept_ratio: float


class _Flow:
    """The lists as they stand at one moment."""

    def __init__(self, tree: Tree, answered_at: int | None) -> None:
        self._tree = tree
        self._answered_at = answered_at
        self._groups: list[_Group] = []
        self._unread: list[tuple[Step, Hop]] = []
        """Retrievals whose documents were not recorded."""
        self._outermost: dict[str, None] = {}

    def follow(self, listing: Listing) -> None:
        """Take in what a step did."""
        if listing.move is Move.RETRIEVED:
            self._retrieved(listing)
        elif listing.listed is not None:
            self._listed(listing, listing.listed)

    def end(self) -> Ranking:
        """What the lists have come to."""
        hops = [hop for group in self._groups for hop in group.hops] + [hop for _, hop in self._unread]
        if not self._groups:
            return Ranking(None, tuple(hops), tuple(self._outermost))
        filled = [group for group in self._groups if group.documents] or self._groups
        return Ranking(
            distinct(_final(d) for group in self._groups for d in group.documents),
            tuple(hops),
            tuple(self._outermost),
            filled[-1].source,
            len(filled) > 1,
            min(group.kept_ratio for group in self._groups),
        )

    # --- retrievals

    def _retrieved(self, listing: Listing) -> None:
        step, listed = listing.step, listing.listed
        self._note(step)
        inner = [group for group in self._groups if any(self._below(one, step) for one in group.steps)]
        if listed is None:
            if not inner:
                self._unread.append((step, Hop(step.query, None, step.id)))
            return
        self._unread = [(one, hop) for one, hop in self._unread if not self._below(one, step)]
        hop = Hop(step.query, listed.items, step.id)
        if not inner:
            self._groups.append(_Group(listed.items, [step], [hop], listing.source, listed.kept_ratio))
            return
        known = [d for group in inner for d in group.documents]
        documents = completed(listed.items, known, keep_scores=keys_of(known) == keys_of(listed.items))
        hops = [hop for group in inner for hop in group.hops]
        if len(hops) == 1 and keys_of(hops[0].documents or ()) == keys_of(documents):
            hops = [replace(hop, documents=documents, query=hop.query or hops[0].query)]
        self._replace(inner, _Group(documents, [step], hops, listing.source, listed.kept_ratio))

    def _note(self, step: Step) -> None:
        for known in [span_id for span_id in self._outermost if self._is_above(step, span_id)]:
            del self._outermost[known]
        self._outermost[step.id] = None

    # --- lists of other steps

    def _listed(self, listing: Listing, listed: DocumentList) -> None:
        named = Known(listed.items)
        touched = [g for g in self._groups if any(named.find(d) for d in g.documents)]
        if listing.move is Move.USED:
            # Nodes that an engine made anew from those retrieved are no other documents.
            if touched or not self._groups or listing.step.role is Role.INTERACTION:
                self._replace(self._groups[:], self._reordered(listing, listed, self._groups))
        elif touched and not self._repeats(listing, touched):
            self._hand_on(listing, listed, touched)
        elif (unread := [(s, h) for s, h in self._unread if self._below(s, listing.step)]) and listed.items:
            self._fill(listing, listed, unread)
        elif listing.move is Move.APPEARED or (listing.move is Move.RERANKED and not self._groups):
            query = listing.step.query or (
                question_in(listing.step.input.value) if listing.step.input else None
            )
            hop = Hop(query, listed.items, listing.step.id)
            self._note(listing.step)
            self._groups.append(
                _Group(listed.items, [listing.step], [hop], listing.source, listed.kept_ratio)
            )

    def _repeats(self, listing: Listing, touched: Iterable[_Group]) -> bool:
        """Whether a step that makes lists of its own made another: its name did before, or some are new."""
        if listing.move is not Move.APPEARED or listing.listed is None:
            return False
        if any(one.span.name == listing.step.span.name for group in touched for one in group.steps):
            return True
        known = Known(d for group in touched for d in group.documents)
        return any(known.find(d) is None for d in listing.listed.items)

    def _hand_on(self, listing: Listing, listed: DocumentList, touched: list[_Group]) -> None:
        """A list replaces those that its documents come from, unless it only quotes some of them."""
        count = len(distinct(d for group in touched for d in group.documents))
        quotes = self._answered_at is not None and listing.time > self._answered_at
        if len(listed.items) < count and (quotes or listed.cut) and listing.move is not Move.RERANKED:
            return
        self._replace(touched, self._reordered(listing, listed, touched))

    def _reordered(self, listing: Listing, listed: DocumentList, touched: Sequence[_Group]) -> _Group:
        known = [d for group in touched for d in group.documents]
        declared = listing.move is Move.RERANKED
        documents = completed(
            listed.items, known, keep_scores=not declared, reranked=declared or len(touched) == 1
        )
        moved = not touched or keys_of(documents) != keys_of(known)
        whole = not listed.cut and len(documents) >= len(known)
        return _Group(
            documents,
            [listing.step, *(step for group in touched for step in group.steps)],
            [hop for group in touched for hop in group.hops],
            listing.source if moved else touched[-1].source,
            listed.kept_ratio if whole or not touched else min(group.kept_ratio for group in touched),
        )

    def _fill(self, listing: Listing, listed: DocumentList, unread: list[tuple[Step, Hop]]) -> None:
        """A step around a retrieval that recorded no documents returned them."""
        step, hop = unread[0]
        query = hop.query or (question_in(listing.step.input.value) if listing.step.input else None)
        items = _as_distances(listed.items) if step.dialect == _VECTOR_STORE else listed.items
        self._unread = [(one, other) for one, other in self._unread if one is not step]
        filled = Hop(query, items, step.id)
        self._groups.append(_Group(items, [listing.step, step], [filled], listing.source, listed.kept_ratio))

    # --- places

    def _replace(self, old: list[_Group], new: _Group) -> None:
        at = min((self._groups.index(group) for group in old), default=0)
        self._groups = [group for group in self._groups if group not in old]
        self._groups.insert(at, new)

    def _below(self, step: Step, above: Step) -> bool:
        return self._is_above(above, step.id)

    def _is_above(self, above: Step, span_id: str) -> bool:
        return any(ancestor.id == above.id for ancestor in self._tree.ancestors(span_id))


_VECTOR_STORE = "vector-store"


def _as_distances(documents: Sequence[RetrievedDocument]) -> tuple[RetrievedDocument, ...]:
    """Numbers that rise from the best document to the worst are distances, whatever the app calls them."""
    scores = [d.score for d in documents if d.score is not None]
    if len(scores) < 2 or scores != sorted(scores) or scores[0] == scores[-1]:
        return tuple(documents)
    return tuple(
        replace(d, score=None, distance=d.score if d.distance is None else d.distance) for d in documents
    )


def _final(document: RetrievedDocument) -> RetrievedDocument:
    """The number of the last stage is the score: the reranker's where there was one."""
    if document.rerank_score is None or document.rerank_score == document.score:
        return document
    return replace(document, score=document.rerank_score)
