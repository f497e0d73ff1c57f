"""Requests that wait on disk, because memory is full or a destination is away."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from ragtrace.errors import MalformedOtlp
from ragtrace_collector.outgoing import Store
from ragtrace_collector.stages import Refused, SpanBatch
from ragtrace_collector.telemetry import Figure, Telemetry

_log = logging.getLogger(__name__)
_AGAIN_AFTER = 1.0
"""Seconds until a disk that failed is read again."""


class Parking:
    """First in, first out. ``take`` is given each request with its number once ``has_room`` says yes."""

    def __init__(
        self,
        store: Store,
        take: Callable[[SpanBatch, int], None],
        has_room: Callable[[], bool],
        telemetry: Telemetry,
    ) -> None:
        self._store, self._take, self._has_room, self._telemetry = store, take, has_room, telemetry
        self._waiting: deque[tuple[int, int]] = deque()
        self._changed = asyncio.Event()
        self.spans = 0
        telemetry.watch(Figure.SPOOLED, lambda: float(self.spans))

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, number: int, spans: int) -> None:
        """Let the request ``number`` of the store, of ``spans`` spans, wait."""
        self._waiting.append((number, spans))
        self.spans += spans
        self._changed.set()

    def look(self) -> None:
        """There may be room now."""
        if self._waiting:
            self._changed.set()

    async def run(self) -> None:
        """Take requests back while there is room, until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._waiting and self._has_room():
                try:
                    await self._take_back(*self._waiting[0])
                except Refused:  # the disk fails: what is on it is not lost for that
                    await asyncio.sleep(_AGAIN_AFTER)
                else:
                    self._waiting.popleft()

    async def _take_back(self, number: int, spans: int) -> None:
        item = await self._store.get(number)
        self.spans -= spans
        try:
            if item is None:
                raise MalformedOtlp("it is not in the spool any more")
            self._take(item, number)
        except MalformedOtlp as error:
            _log.error("a request in the spool cannot be read: %s", error)
            self._telemetry.count(Figure.DROPPED, spans, reason="spool_unreadable")
            await self._store.remove([number])
