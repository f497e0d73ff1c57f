"""From the retrievals, rerankers and reorderings of an interaction to the documents that reached the prompt.

The lists are followed in the order of time: a retrieval adds a list, a retrieval around others replaces
theirs (the outermost wins), a step that hands on known documents has reranked, fused or filtered them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ragtrace.extract.documents import DocumentList, documents_in, may_hold_documents
from ragtrace.extract.known import Known, completed, distinct, keys_of
from ragtrace.extract.step import Field, Role, Step
from ragtrace.extract.tree import Tree
from ragtrace.model import Hop, RetrievedDocument

_RETRIEVING_NAME = re.compile(r"retriev|search|lookup|look_up|fetch|knowledge|检索|搜索", re.IGNORECASE)
_HOLDERS = frozenset({Role.CHAIN, Role.AGENT, Role.PROMPT, Role.OTHER, Role.TOOL})
"""Roles whose inputs and outputs may carry a document list on."""


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


@dataclass(slots=True)
class _Group:
    """One list on its way to the prompt, the spans that it came through, and its hops."""

    documents: tuple[RetrievedDocument, ...]
    spans: set[str]
    hops: list[Hop]
    source: str
    kept_ratio: float


@dataclass(frozen=True, slots=True)
class _Event:
    """At ``time``, ``step`` had this list."""

    time: int
    step: Step
    listed: DocumentList | None
    kind: Role
    source: str


def rank(tree: Tree, steps: Sequence[Step], entry: Step | None, answered_at: int | None) -> Ranking:
    """Follow the document lists of ``steps``. ``answered_at`` is when the answering model call began."""
    groups: list[_Group] = []
    unread: list[Hop] = []
    outer: dict[str, None] = {}
    for event in sorted(_events(tree, steps, entry), key=lambda e: e.time):
        late = answered_at is not None and event.time > answered_at and event.kind not in _DECLARED
        if event.kind in (Role.RETRIEVAL, Role.TOOL):
            _retrieved(tree, groups, unread, event)
            _note_outermost(tree, outer, event.step)
        else:
            _reordered(tree, groups, event, late)
    return _ranking(groups, unread, tuple(outer))


_DECLARED = frozenset({Role.RETRIEVAL, Role.RERANK, Role.TOOL})


def _ranking(groups: list[_Group], unread: list[Hop], retrievals: tuple[str, ...]) -> Ranking:
    hops = [hop for group in groups for hop in group.hops] + unread
    if not groups:
        return Ranking(None, tuple(hops), retrievals)
    documents = distinct(_final(d) for group in groups for d in group.documents)
    filled = [group for group in groups if group.documents]
    return Ranking(
        documents,
        tuple(hops),
        retrievals,
        filled[-1].source if filled else groups[-1].source,
        len(filled) > 1,
        min(group.kept_ratio for group in groups),
    )


def _final(document: RetrievedDocument) -> RetrievedDocument:
    """The number of the last stage is the score: the reranker's where there was one."""
    if document.rerank_score is None or document.rerank_score == document.score:
        return document
    return replace(document, score=document.rerank_score)


# --- events -----------------------------------------------------------------------------------------------


def _events(tree: Tree, steps: Sequence[Step], entry: Step | None) -> Iterator[_Event]:
    holding = {ancestor.id for step in steps if _retrieves(step) for ancestor in tree.ancestors(step.id)}
    for step in steps:
        span = step.span
        ended = max(span.end_ns, span.start_ns)
        if step.role in (Role.RETRIEVAL, Role.RERANK):
            yield _Event(ended, step, step.documents, step.role, step.source("documents"))
        elif step.role is Role.TOOL and step.documents is not None and step.id not in holding:
            yield _Event(ended, step, step.documents, Role.TOOL, step.source("documents"))
        elif step.role in _HOLDERS:
            yield from _carried(tree, step, ended, step.id in holding or step is entry)
        if step.used is not None:
            yield _Event(ended, step, step.used, Role.RERANK, step.source("documents"))


def _retrieves(step: Step) -> bool:
    return step.role is Role.RETRIEVAL


def _carried(tree: Tree, step: Step, ended: int, holds_retrieval: bool) -> Iterator[_Event]:
    """The lists in a plain step's input and output; a leaf whose output alone is one has retrieved it."""
    taken = _listed(step.input)
    if taken is not None and taken.items:
        yield _Event(
            step.span.start_ns, step, taken, Role.OTHER, step.source(step.input.key if step.input else "")
        )
    given = _listed(step.output)
    source = step.source(step.output.key if step.output else "")
    if given is None:
        return
    leaf = (
        not holds_retrieval
        and taken is None
        and not any(s.role is Role.GENERATION for s in tree.subtree(step))
    )
    named = bool(_RETRIEVING_NAME.search(step.span.name))
    if leaf and (isinstance(step.output.value, list) if step.output else False) and (given.items or named):
        yield _Event(ended, step, given, Role.CHAIN, source)
    elif given.items:
        yield _Event(ended, step, given, Role.OTHER, source)


def _listed(field: Field | None) -> DocumentList | None:
    if field is None:
        return None
    if field.raw in ("[]", []):
        return DocumentList(())
    if not may_hold_documents(field.raw):
        return None
    return documents_in(field.value, cut=field.decoded.cut, strict=True)


# --- what an event does to the lists ----------------------------------------------------------------------


def _retrieved(tree: Tree, groups: list[_Group], unread: list[Hop], event: _Event) -> None:
    inner = [group for group in groups if _inside(tree, group, event.step)]
    if event.listed is None:
        if not inner:
            unread.append(Hop(event.step.query, None, event.step.id))
        return
    unread[:] = [hop for hop in unread if not _below(tree, hop.span_id, event.step)]
    hop = Hop(event.step.query, event.listed.items, event.step.id)
    if not inner:
        groups.append(
            _Group(event.listed.items, {event.step.id}, [hop], event.source, event.listed.kept_ratio)
        )
        return
    known = [d for group in inner for d in group.documents]
    passed_on = keys_of(known) == keys_of(event.listed.items)
    documents = completed(event.listed.items, known, keep_scores=passed_on)
    hops = [hop for group in inner for hop in group.hops]
    if len(hops) == 1 and keys_of(hops[0].documents or ()) == keys_of(documents):
        hops = [replace(hop, documents=documents, query=hop.query or hops[0].query)]
    _replace(groups, inner, _Group(documents, {event.step.id}, hops, event.source, event.listed.kept_ratio))


def _reordered(tree: Tree, groups: list[_Group], event: _Event, late: bool) -> None:
    """A list that a step handed on: it replaces the lists that its documents come from."""
    listed = event.listed
    if listed is None:
        return
    named = Known(listed.items)
    touched = [group for group in groups if any(named.find(d) for d in group.documents)]
    if not touched:
        _appeared(groups, event)
        return
    known = [d for group in touched for d in group.documents]
    whole = len(listed.items) >= len(distinct(known))
    if (late and not whole) or (listed.cut and len(listed.items) < len(known)):
        return
    declared = event.kind is Role.RERANK
    reranked = declared or len(touched) == 1
    documents = completed(listed.items, known, keep_scores=not declared, reranked=reranked)
    unread_ratio = 1.0 if whole and not listed.cut else min(group.kept_ratio for group in touched)
    group = _Group(
        documents,
        {event.step.id}.union(*(g.spans for g in touched)),
        [hop for g in touched for hop in g.hops],
        event.source if keys_of(documents) != keys_of(known) or listed.cut else touched[-1].source,
        unread_ratio,
    )
    _replace(groups, touched, group)


def _appeared(groups: list[_Group], event: _Event) -> None:
    """A list of documents that nothing before it had: a step that did not say that it retrieves."""
    if event.kind is Role.CHAIN or (event.kind is Role.RERANK and not groups):
        listed = event.listed or DocumentList(())
        hop = Hop(event.step.query, listed.items, event.step.id)
        groups.append(_Group(listed.items, {event.step.id}, [hop], event.source, listed.kept_ratio))


def _replace(groups: list[_Group], old: list[_Group], new: _Group) -> None:
    at = min(groups.index(group) for group in old)
    groups[:] = [group for group in groups if group not in old]
    groups.insert(at, new)


def _note_outermost(tree: Tree, outer: dict[str, None], step: Step) -> None:
    for known in list(outer):
        if _below(tree, known, step):
            del outer[known]
    outer[step.id] = None


def _inside(tree: Tree, group: _Group, step: Step) -> bool:
    return any(_below(tree, span, step) for span in group.spans)


def _below(tree: Tree, span_id: str | None, step: Step) -> bool:
    return span_id is not None and any(ancestor.id == step.id for ancestor in tree.ancestors(span_id))
