"""From the retrievals, rerankers and reorderings of an interaction to the documents that it ended with.

The lists are followed in the order of time: a retrieval adds a list, a retrieval around others replaces
theirs (the outermost wins), a step that hands on known documents has reranked, fused or filtered them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragtrace.extract.documents import DocumentList, documents_in
from ragtrace.extract.groups import Group, Groups, ids_below
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
    total: int = 0
    """How many documents the one list had, where some of its last ones were left out; else 0."""


def rank(tree: Tree, steps: Sequence[Step], entry: Step | None, answered_at: int | None) -> Ranking:
    """Follow the document lists of ``steps``. ``answered_at`` is when the answering model call began."""
    flow = _Flow(tree, answered_at)
    for listing in listings(tree, steps, entry):
        flow.follow(listing)
    return flow.end()


def told_to(call: Step) -> Ranking:
    """The documents in the tool results that a model was told, for traces that record no other retrieval."""
    results = [documents_in(m.data, strict=True) for m in call.prompt if m.data is not None]
    hops = tuple(Hop(None, found.items, None) for found in results if found is not None and found.items)
    if not hops:
        return Ranking()
    documents = distinct(_final(d) for hop in hops for d in hop.documents or ())
    return Ranking(documents, hops, source=call.source("prompt"), fused=len(hops) > 1)


class _Flow:
    """The lists as they stand at one moment."""

    def __init__(self, tree: Tree, answered_at: int | None) -> None:
        self._tree = tree
        self._answered_at = answered_at
        self._groups = Groups(tree)
        self._unread: dict[str, Hop] = {}
        """Retrievals whose documents were not recorded, by span id."""
        self._outermost: dict[str, None] = {}
        self._stores: set[str] = set()
        """Ids of spans that are calls to vector stores."""

    def follow(self, listing: Listing) -> None:
        """Take in what a step did."""
        if listing.move is Move.RETRIEVED:
            self._retrieved(listing)
        elif listing.listed is not None:
            self._listed(listing, listing.listed)

    def end(self) -> Ranking:
        """What the lists have come to."""
        groups = list(self._groups)
        hops = (*(hop for group in groups for hop in group.hops), *self._unread.values())
        if not groups:
            return Ranking(None, hops, tuple(self._outermost))
        filled = [group for group in groups if group.documents] or groups
        return Ranking(
            distinct(_final(d) for group in groups for d in group.documents),
            hops,
            tuple(self._outermost),
            filled[-1].source,
            len(filled) > 1,
            min(group.kept_ratio for group in groups),
            groups[0].total if len(groups) == 1 else 0,
        )

    # --- retrievals

    def _retrieved(self, listing: Listing) -> None:
        step, listed = listing.step, listing.listed
        self._note(step)
        inner = self._groups.below(step)
        if listed is None:
            if not inner:
                self._unread[step.id] = Hop(step.query, None, step.id)
                if step.dialect == _VECTOR_STORE:
                    self._stores.add(step.id)
            return
        for span_id in ids_below(self._tree, step, self._unread):
            del self._unread[span_id]
        known = [d for group in self._groups.at(inner) for d in group.documents]
        passed_on = not inner or keys_of(known) == keys_of(listed.items)
        documents = completed(listed.items, known, keep_scores=passed_on)
        hops = [hop for group in self._groups.at(inner) for hop in group.hops]
        if not hops or (len(hops) == 1 and keys_of(hops[0].documents or ()) == keys_of(documents)):
            query = step.query or (hops[0].query if hops else None)
            hops = [Hop(query, documents, step.id)]
        self._groups.replace(inner, self._made(listing, listed, documents, hops, step.id))

    def _note(self, step: Step) -> None:
        for inner in ids_below(self._tree, step, self._outermost):
            del self._outermost[inner]
        self._outermost[step.id] = None

    # --- lists of other steps

    def _listed(self, listing: Listing, listed: DocumentList) -> None:
        touched = self._groups.holding(listed.items)
        if listing.move is Move.USED:
            # Nodes that an engine made anew from those retrieved are no other documents.
            if touched or not self._groups or listing.step.role is Role.INTERACTION:
                self._reorder(listing, listed, self._groups.all())
        elif touched and not self._repeats(listing, listed, touched):
            if not self._only_quotes(listing, listed, touched):
                self._reorder(listing, listed, touched)
        elif listed.items and (unread := ids_below(self._tree, listing.step, self._unread)):
            self._fill(listing, listed, unread[0])
        elif listing.move is Move.APPEARED or (listing.move is Move.RERANKED and not self._groups):
            self._note(listing.step)
            hop = Hop(_query(listing.step), listed.items, listing.step.id)
            self._groups.add(self._made(listing, listed, listed.items, [hop], listing.step.id))

    def _repeats(self, listing: Listing, listed: DocumentList, touched: list[int]) -> bool:
        """Whether a step that makes lists of its own made another: its name did before, or some are new."""
        if listing.move is not Move.APPEARED:
            return False
        groups = self._groups.at(touched)
        if any(listing.step.span.name in group.makers for group in groups):
            return True
        known = Known(d for group in groups for d in group.documents)
        return any(known.find(d) is None for d in listed.items)

    def _only_quotes(self, listing: Listing, listed: DocumentList, touched: list[int]) -> bool:
        """Whether a shorter list is no stage of its own: it came after the answer, or was cut."""
        late = self._answered_at is not None and listing.time > self._answered_at
        if listing.move is Move.RERANKED or not (late or listed.cut):
            return False
        known = (d for group in self._groups.at(touched) for d in group.documents)
        return len(listed.items) < len(distinct(known))

    def _reorder(self, listing: Listing, listed: DocumentList, touched: list[int]) -> None:
        groups = self._groups.at(touched)
        known = [d for group in groups for d in group.documents]
        declared = listing.move is Move.RERANKED
        documents = completed(
            listed.items, known, keep_scores=not declared, reranked=declared or len(groups) == 1
        )
        group = self._made(listing, listed, documents, [hop for g in groups for hop in g.hops])
        if groups and keys_of(documents) == keys_of(known):
            group.source = groups[-1].source
        if groups and (listed.cut or len(documents) < len(known)):
            group.kept_ratio = min(g.kept_ratio for g in groups)
        group.makers.update(*(g.makers for g in groups))
        self._groups.replace(touched, group)

    def _fill(self, listing: Listing, listed: DocumentList, retrieval: str) -> None:
        """A step around a retrieval that recorded no documents returned them."""
        query = self._unread.pop(retrieval).query or _query(listing.step)
        items = _as_distances(listed.items) if retrieval in self._stores else listed.items
        self._groups.add(self._made(listing, listed, items, [Hop(query, items, retrieval)], retrieval))

    def _made(
        self,
        listing: Listing,
        listed: DocumentList,
        documents: tuple[RetrievedDocument, ...],
        hops: list[Hop],
        *retrieval: str,
    ) -> Group:
        makers = {listing.step.span.name}
        total = listed.total if listed.cut else 0
        return Group(documents, hops, listing.source, listed.kept_ratio, makers, total, set(retrieval))


def _query(step: Step) -> str | None:
    return step.query or (question_in(step.input.value) if step.input is not None else None)


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
