"""Who descends from whom in a trace of which only some spans were seen: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What part a span plays in RAG."""

    PLAIN = "plain"
    """None: it leaves at once."""
    INTERACTION = "interaction"
    """Says of itself that it is a whole interaction."""
    CHAIN = "chain"
    """Holds others together: a chain, an agent, a workflow."""
    RETRIEVAL = "retrieval"
    GENERATION = "generation"
    STEP = "step"
    """Any other part of an interaction: a rerank, an embedding, a tool, a prompt."""

    @property
    def is_whole(self) -> bool:
        """Whether a span of this role can be a whole interaction, with the others beneath it."""
        return self in (Role.INTERACTION, Role.CHAIN)


@dataclass(frozen=True, slots=True)
class Link:
    """A seen span: its parent, its role, whether the parent lives in another process, whether it left."""

    parent_id: str | None
    role: Role
    remote_parent: bool = False
    released: bool = False


@dataclass(frozen=True, slots=True)
class Climb:
    """Where the way up from a span leads.

    ``top`` is the topmost RAG span on it; ``end`` is where it ends: the root, the local root, or, where
    ``open``, a parent that was not seen and may yet come. ``late``: it passes a span that left before.
    """

    top: str
    end: str
    open: bool
    late: bool = False


def climb(span_id: str, links: Mapping[str, Link]) -> Climb:
    """Follow the parents of ``span_id`` as far as ``links`` knows them."""
    top = current = span_id
    late = False
    passed = {span_id}
    while link := links.get(current):
        if link.role is not Role.PLAIN:
            top = current
            late = late or (link.released and current != span_id)
        parent = link.parent_id
        if parent is None or link.remote_parent:
            return Climb(top, current, open=False, late=late)
        if parent in passed:
            break
        passed.add(parent)
        current = parent
    return Climb(top, current, open=True, late=late)


def is_entry(way: Climb, roles: Iterable[Role], links: Mapping[str, Link]) -> bool:
    """Whether ``way.top`` is an interaction's entry, given the ``roles`` of the spans beneath and itself.

    It is when nothing of RAG can be above it; when it says so itself; and when it holds both a retrieval and
    a generation together, for its plain parent may run for minutes or report elsewhere. A retriever whose
    parent is still to come is none, whatever the time: its chain ends after the answer.
    """
    top = links.get(way.top)
    if top is None:
        return False
    if not way.open or top.role is Role.INTERACTION:
        return True
    found = set(roles)
    return top.role.is_whole and Role.RETRIEVAL in found and Role.GENERATION in found
