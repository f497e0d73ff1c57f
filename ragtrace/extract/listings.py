"""When which step had which documents: the events that :mod:`~ragtrace.extract.ranking` follows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from ragtrace.extract.documents import DocumentList, documents_in, may_hold_documents
from ragtrace.extract.step import Field, Role, Step
from ragtrace.extract.tree import Tree

_RETRIEVING_NAME = re.compile(r"retriev|search|lookup|look_up|fetch|knowledge|检索|搜索", re.IGNORECASE)
_HOLDERS = frozenset({Role.INTERACTION, Role.CHAIN, Role.AGENT, Role.PROMPT, Role.OTHER, Role.TOOL})
"""Roles whose inputs and outputs may carry a document list on."""


class Move(Enum):
    """What a step did with a list."""

    RETRIEVED = auto()
    APPEARED = auto()
    """A step that does not say that it retrieves returned a list that it was not given."""
    RERANKED = auto()
    HANDED_ON = auto()
    USED = auto()
    """A step says that its answer was made from these."""


@dataclass(frozen=True, slots=True)
class Listing:
    """At ``time`` (nanoseconds), ``step`` had this list; ``None`` where it was not recorded."""

    time: int
    step: Step
    listed: DocumentList | None
    move: Move
    source: str


def listings(tree: Tree, steps: Sequence[Step], entry: Step | None) -> list[Listing]:
    """All lists that ``steps`` had, in the order of time."""
    holding = tree.holders(step for step in steps if step.role is Role.RETRIEVAL)
    answering = tree.holders(step for step in steps if step.role is Role.GENERATION)
    if entry is not None:
        holding.add(entry.id)
    found = (
        listing for step in steps for listing in _of_step(step, step.id in holding, step.id in answering)
    )
    return sorted(found, key=lambda listing: listing.time)


def _of_step(step: Step, holds_retrieval: bool, holds_call: bool) -> Iterator[Listing]:
    ended = max(step.span.end_ns, step.span.start_ns)
    source = step.source("documents")
    if step.role in (Role.RETRIEVAL, Role.RERANK):
        move = Move.RETRIEVED if step.role is Role.RETRIEVAL else Move.RERANKED
        yield Listing(ended, step, step.documents, move, source)
    elif step.role is Role.TOOL and step.documents is not None and not holds_retrieval:
        yield Listing(ended, step, step.documents, Move.RETRIEVED, source)
    elif step.role in _HOLDERS:
        yield from _carried(step, ended, is_leaf=not holds_retrieval and not holds_call)
    if step.used is not None:
        yield Listing(ended, step, step.used, Move.USED, source)


def _carried(step: Step, ended: int, *, is_leaf: bool) -> Iterator[Listing]:
    """The lists in a plain step's input and output."""
    taken = _listed(step.input)
    if step.input is not None and taken is not None and taken.items:
        yield Listing(step.span.start_ns, step, taken, Move.HANDED_ON, step.source(step.input.key))
    made = _listed(step.output) if step.role is not Role.PROMPT else None  # a prompt's output is a prompt
    if step.output is None or made is None:
        return
    appeared = is_leaf and taken is None and isinstance(step.output.value, list)
    if made.items or (appeared and _RETRIEVING_NAME.search(step.span.name)):
        move = Move.APPEARED if appeared else Move.HANDED_ON
        yield Listing(ended, step, made, move, step.source(step.output.key))


def _listed(field: Field | None) -> DocumentList | None:
    if field is None:
        return None
    if field.raw in ("[]", []):
        return DocumentList(())
    if not may_hold_documents(field.raw):
        return None
    return documents_in(field.value, cut=field.decoded.cut, strict=True)
