"""Who answers for which spans: every span that is held, until all destinations have answered for it.

A request that was written to the spool stays there until the last of its spans is settled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragtrace_collector.stages import SpanBatch, span_count

if TYPE_CHECKING:
    from ragtrace_collector.otlp import RawSpan

Key = tuple[bytes, bytes]
"""Trace id and span id."""


@dataclass(slots=True)
class Request:
    """A request (``number`` in the spool; ``None`` = it is in memory alone) and its parts not settled yet."""

    number: int | None
    open: int


class Custody:
    """The books. A sender may repeat a span: each copy is settled by itself."""

    def __init__(self) -> None:
        self._copies: dict[Key, list[tuple[Request, int]]] = {}
        self.spans = 0
        self.bytes = 0

    def take(self, spans: Iterable[RawSpan], number: int | None, rest: SpanBatch | None = None) -> Request:
        """Take over the spooled request ``number``: ``spans`` each by itself, the ``rest`` of it as one."""
        taken = list(spans)
        request = Request(number, len(taken))
        for span in taken:
            self._copies.setdefault((span.trace_id, span.span_id), []).append((request, span.size))
            self.bytes += span.size
        self.spans += len(taken)
        if rest is not None:
            request.open += 1
            self.spans += span_count(rest)
            self.bytes += len(rest.body)
        return request

    def settle_rest(self, request: Request, rest: SpanBatch) -> list[int]:
        """The rest of ``request`` left for good → its number, where nothing of it is open any more."""
        self.spans -= span_count(rest)
        self.bytes -= len(rest.body)
        return self._closed(request)

    def settle(self, spans: Iterable[RawSpan]) -> list[int]:
        """``spans`` left for good → the spooled requests of which nothing is open any more.

        Only their ids count, since enriching changes their bytes. Spans of our own are in no book.
        """
        finished: list[int] = []
        for span in spans:
            key = (span.trace_id, span.span_id)
            copies = self._copies.get(key)
            if not copies:
                continue
            request, size = copies.pop(0)
            if not copies:
                del self._copies[key]
            self.spans -= 1
            self.bytes -= size
            finished += self._closed(request)
        return finished

    def _closed(self, request: Request) -> list[int]:
        request.open -= 1
        return [request.number] if request.open == 0 and request.number is not None else []
