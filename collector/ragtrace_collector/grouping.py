"""Which held spans make one interaction, and when it is complete: pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragtrace_collector.lineage import Climb, Link, Role, climb, is_entry
from ragtrace_collector.stages import ReleaseReason

if TYPE_CHECKING:
    from ragtrace_collector.otlp import RawSpan


@dataclass(frozen=True, slots=True)
class Completion:
    """When an interaction is complete. Times in seconds."""

    quiet: float = 2.0
    """After its entry span arrived."""
    idle: float = 60.0
    """After the last of its spans, where no entry came."""
    age: float = 300.0
    """After the first of its spans, whatever came."""


@dataclass(frozen=True, slots=True)
class SeenSpan:
    """A received span with what the assembler must know of it. Ids are hex, ``size`` is in bytes."""

    raw: RawSpan
    trace_id: str
    span_id: str
    parent_id: str | None
    role: Role
    size: int
    remote_parent: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """A span that waits since ``at`` (seconds)."""

    span: SeenSpan
    at: float


@dataclass(frozen=True, slots=True)
class Group:
    """Held spans that leave together at ``due``. ``tops``: their topmost RAG spans, in order of arrival."""

    tops: tuple[str, ...]
    held: list[Held]
    due: float
    reason: ReleaseReason


def groups(spans: Sequence[Held], links: Mapping[str, Link], options: Completion) -> list[Group]:
    """The held ``spans`` of a trace, by interaction, each with the time it is due and why.

    Spans beneath a chain go with it; retrievals and generations that no chain holds together go with each
    other. Those that still wait for what is above them leave together, as one group, if it never comes.
    """
    by_key: dict[str, list[Held]] = {}
    ways: dict[str, Climb] = {}
    for held in spans:
        way = climb(held.span.span_id, links)
        ways[held.span.span_id] = way
        top = links.get(way.top)
        by_key.setdefault(way.top if top is None or top.role.is_whole else f"end {way.end}", []).append(held)
    groups, waiting = [], []
    for members in by_key.values():
        tops = [held for held in members if ways[held.span.span_id].top == held.span.span_id]
        roles = [held.span.role for held in members]
        if tops and is_entry(ways[tops[-1].span.span_id], roles, links):
            due = max(held.at for held in tops) + options.quiet
            groups.append(_group(members, ways, due, ReleaseReason.ENTRY, options))
        else:
            waiting += members
    if waiting:
        due = max(held.at for held in waiting) + options.idle
        groups.append(_group(waiting, ways, due, ReleaseReason.IDLE, options))
    return groups


def _group(
    members: list[Held],
    ways: Mapping[str, Climb],
    due: float,
    reason: ReleaseReason,
    options: Completion,
) -> Group:
    tops = tuple(dict.fromkeys(ways[held.span.span_id].top for held in members))
    aged = min(held.at for held in members) + options.age
    return Group(tops, members, aged, ReleaseReason.AGE) if aged < due else Group(tops, members, due, reason)
