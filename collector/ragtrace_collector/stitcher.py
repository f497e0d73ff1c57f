"""Puts traces together that are steps of one interaction, for instrumentations that begin a trace for each.

What need not wait passes at once. A retrieval without an answer, and a model call without a retrieval, wait
for each other: only when nothing more came can it be told that one call alone fits. The state machine takes
the time as an argument; :mod:`ragtrace_collector.onward` drives it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from ragtrace.extract.stitch import Trace, is_whole, lone_calls, may_be_joined
from ragtrace_collector.stages import HeldInteraction, ReleaseReason

_MAX_WAITS = 10
"""A session that never rests leaves after so many times the wait."""


@dataclass(frozen=True, slots=True)
class StitchOptions:
    """What is put together, and how long it waits."""

    by: Literal["off", "calls", "sessions"] = "off"
    """``calls``: a lone model call and the one retrieval that its prompt shows. ``sessions``: all traces of a
    session or conversation that are no whole interactions too."""
    wait: float = 30.0
    """Seconds after the last piece that more may come."""
    max_bytes: int = 64 * 2**20
    """Bytes of spans that wait; beyond, the oldest leave as they are."""

    def __post_init__(self) -> None:
        if self.wait < 0 or self.max_bytes < 1:
            raise ValueError("wait must not be negative, max_bytes at least 1")


@dataclass(frozen=True, slots=True)
class _Piece:
    held: HeldInteraction
    trace: Trace

    @property
    def size(self) -> int:
        return sum(raw.size for raw in self.held.spans)


@dataclass(slots=True)
class _Group:
    """Pieces of one session, or one piece that may find its partner."""

    pieces: list[_Piece]
    due: float
    latest: float


class Stitcher:
    """The state machine. ``read`` turns held spans into what they say. Not thread-safe."""

    def __init__(self, options: StitchOptions, read: Callable[[HeldInteraction], Trace]) -> None:
        self._options, self._read = options, read
        self._groups: dict[object, _Group] = {}  # by session; by number where a piece has none
        self._released: list[HeldInteraction] = []
        self._size = self._count = 0

    def add(self, held: HeldInteraction, now: float) -> list[HeldInteraction]:
        """Take an interaction → what leaves at once: itself if it is whole, the oldest beyond the bound."""
        trace = self._read(held)
        session = self._session(trace)
        waits = may_be_joined(trace) if session is None else not is_whole(trace)
        if not trace.steps or not waits:
            return [held]
        piece, wait = _Piece(held, trace), self._options.wait
        self._count += 1
        group = self._groups.setdefault(session or self._count, _Group([], now, now + _MAX_WAITS * wait))
        group.pieces.append(piece)
        # By whole seconds, so that those of one second are looked through together.
        group.due = min(ceil(now + wait), group.latest)
        self._size += piece.size
        while self._size > self._options.max_bytes:
            self._take([next(iter(self._groups))], now)
        return self._handed_out()

    def tick(self, now: float) -> list[HeldInteraction]:
        """What has waited long enough at ``now``, put together where it belongs together."""
        return self._leaving([key for key, group in self._groups.items() if group.due <= now], now)

    def drain(self, now: float) -> list[HeldInteraction]:
        """Everything: the collector is stopping."""
        return self._leaving(list(self._groups), now)

    def abandon(self) -> list[HeldInteraction]:
        """Everything as it came, without a thought, after another step has raised."""
        pieces = [piece.held for group in self._groups.values() for piece in group.pieces]
        self._groups, self._size = {}, 0
        return [*self._handed_out(), *pieces]

    def next_deadline(self) -> float | None:
        """When :meth:`tick` has something to do; ``None`` = not before something is added."""
        return min((group.due for group in self._groups.values()), default=None)

    def _session(self, trace: Trace) -> tuple[object, str] | None:
        if self._options.by != "sessions" or trace.session is None:
            return None
        return trace.spans[0].resource.get("service.name"), trace.session

    def _leaving(self, due: Sequence[object], now: float) -> list[HeldInteraction]:
        partners = self._partners() if due else {}
        for key in due:
            if key in self._groups:
                self._take(partners.get(key, [key]), now)
        return self._handed_out()

    def _handed_out(self) -> list[HeldInteraction]:
        released, self._released = self._released, []
        return released

    def _partners(self) -> dict[object, list[object]]:
        """For each piece that has found others: all of them."""
        single = [(key, group.pieces[0]) for key, group in self._groups.items() if isinstance(key, int)]
        together = lone_calls([piece.trace for _, piece in single])
        found: list[list[object]] = [[single[place][0] for place in places] for places in together]
        return {key: keys for keys in found for key in keys}

    def _take(self, keys: Collection[object], now: float) -> None:
        taken = [piece for key in keys for piece in self._groups[key].pieces]
        taken.sort(key=lambda piece: min(span.start_ns for span in piece.trace.spans))
        self._released.append(as_one([piece.held for piece in taken], now))
        for key in keys:  # last, so that nothing is gone where one of the lines above raises
            del self._groups[key]
        self._size -= sum(piece.size for piece in taken)


def as_one(pieces: Sequence[HeldInteraction], now: float) -> HeldInteraction:
    """Pieces, in the order in which they began, as one interaction that goes by the first one's ids."""
    first = pieces[0]
    if len(pieces) == 1:
        return replace(first, released_at=now)
    return replace(
        first,
        spans=tuple(raw for piece in pieces for raw in piece.spans),
        left=tuple(raw for piece in pieces for raw in piece.left),
        logs=tuple(log for piece in pieces for log in piece.logs),
        reason=ReleaseReason.STITCHED,
        first_at=min(piece.first_at for piece in pieces),
        released_at=now,
    )
