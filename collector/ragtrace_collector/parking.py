"""Requests that wait on disk, because memory is full or a destination is away."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ragtrace.errors import MalformedOtlp
from ragtrace_collector.disk_queue import DiskQueue
from ragtrace_collector.outgoing import Store
from ragtrace_collector.stages import SpanBatch
from ragtrace_collector.telemetry import Figure, Telemetry

_log = logging.getLogger(__name__)


class Parking:
    """First in, first out. ``take`` is given each request with its number once ``has_room`` says yes."""

    def __init__(
        self,
        store: Store,
        take: Callable[[SpanBatch, int], None],
        has_room: Callable[[], bool],
        telemetry: Telemetry,
    ) -> None:
        self._store, self._take, self._telemetry = store, take, telemetry
        self._queue = DiskQueue(self._take_back, telemetry, has_room)
        self.spans = 0
        telemetry.watch(Figure.SPOOLED, lambda: float(self.spans))

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, number: int, spans: int) -> None:
        """Let the request ``number`` of the store, of ``spans`` spans, wait."""
        self.spans += spans
        self._queue.add([(number, spans)])

    def look(self) -> None:
        """There may be room now."""
        self._queue.look()

    async def run(self) -> None:
        """Take requests back while there is room, until cancelled."""
        await self._queue.run()

    async def _take_back(self, number: int, spans: int) -> None:
        item = await self._store.get(number)
        try:
            if item is None:
                raise MalformedOtlp("it is not in the spool any more")
            self._take(item, number)
        except MalformedOtlp as error:
            _log.error("a request in the spool cannot be read: %s", error)
            self._telemetry.count(Figure.DROPPED, spans, reason="spool_unreadable")
            self.spans -= spans
            await self._store.remove([number])
        else:
            self.spans -= spans
