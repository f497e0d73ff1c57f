"""Who answers for which spans: every span that is held, until all destinations have answered for it.

A request that was written to the spool stays there until the last of its spans is settled; that some of them
are is noted there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ragtrace_collector.settlement import Key, Note, key_of
from ragtrace_collector.stages import SpanBatch, span_count

if TYPE_CHECKING:
    from ragtrace_collector.otlp import RawSpan


@dataclass(slots=True)
class Request:
    """A request (``number`` in the spool; ``None`` = it is in memory alone) and its parts not settled yet."""

    number: int | None
    open: int
    keys: tuple[Key, ...] = ()
    """Of the spans that are held each by itself."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What it means for the spool: requests that are ``finished``, and ``notes`` on those that are not."""

    finished: list[int] = field(default_factory=list)
    notes: list[tuple[int, Note]] = field(default_factory=list)


class Custody:
    """The books. A sender may repeat a span: each copy is settled by itself."""

    def __init__(self) -> None:
        self._copies: dict[Key, list[tuple[Request, int]]] = {}
        self.spans = 0
        self.bytes = 0

    def take(self, spans: Iterable[RawSpan], number: int | None, rest: SpanBatch | None = None) -> Request:
        """Take over the spooled request ``number``: ``spans`` each by itself, the ``rest`` of it as one."""
        taken = list(spans)
        request = Request(number, len(taken), tuple(map(key_of, taken)))
        for key, span in zip(request.keys, taken, strict=True):
            self._copies.setdefault(key, []).append((request, span.size))
            self.bytes += span.size
        self.spans += len(taken)
        if rest is not None:
            request.open += 1
            self.spans += span_count(rest)
            self.bytes += len(rest.body)
        return request

    def holds(self, span: RawSpan) -> bool:
        """Whether a copy of ``span`` is not settled."""
        return key_of(span) in self._copies

    def settle_rest(self, request: Request, rest: SpanBatch) -> Settled:
        """The rest of ``request`` left for good."""
        self.spans -= span_count(rest)
        self.bytes -= len(rest.body)
        request.open -= 1
        if request.number is None:
            return Settled()
        if not request.open:
            return Settled(finished=[request.number])
        return Settled(notes=[(request.number, Note(True, request.keys))])

    def settle(self, spans: Iterable[RawSpan]) -> Settled:
        """``spans`` left for good.

        Only their ids count, since enriching changes their bytes. Spans of our own are in no book.
        """
        touched: dict[int, tuple[Request, list[Key]]] = {}
        for span in spans:
            key = key_of(span)
            copies = self._copies.get(key)
            if not copies:
                continue
            request, size = copies.pop(0)
            if not copies:
                del self._copies[key]
            self.spans -= 1
            self.bytes -= size
            request.open -= 1
            if request.number is not None:
                touched.setdefault(request.number, (request, []))[1].append(key)
        return Settled(
            finished=[number for number, (request, _) in touched.items() if not request.open],
            notes=[
                (number, Note(False, tuple(keys)))
                for number, (request, keys) in touched.items()
                if request.open
            ],
        )
