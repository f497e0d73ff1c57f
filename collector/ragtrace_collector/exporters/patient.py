"""A destination beside others: while it is away its batches wait on its own part of the disk.

The others go on, and what they confirmed is not sent to them again. What waits has been judged already.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from ragtrace_collector.exporters.outlet import Outlet
from ragtrace_collector.stages import Refused, SpanBatch
from ragtrace_collector.telemetry import Figure, Telemetry

T = TypeVar("T")
_log = logging.getLogger(__name__)
_AGAIN_AFTER = 1.0
"""Seconds until a disk that failed is read again."""


class Shelf(Protocol):
    """Keeps batches beyond the end of the process: a spool of the destination's own."""

    async def open(self) -> None:
        """Make it ready."""

    async def close(self) -> None:
        """Finish what was asked for."""

    def pending(self) -> list[tuple[int, int]]:
        """Number and spans of each batch that an earlier process left, the oldest first."""

    def fits(self, size: int) -> bool:
        """Whether it has room for ``size`` bytes."""

    async def put(self, item: SpanBatch) -> int:
        """Write a batch down → its number. Raises :class:`Refused` where it cannot."""

    async def get(self, number: int) -> SpanBatch | None:
        """A batch; ``None`` where it is not there. Raises :class:`Refused` where the disk fails."""

    async def remove(self, numbers: Sequence[int]) -> None:
        """Forget batches."""


class PatientOutlet:
    """As an :class:`Outlet`; but it takes batches while its destination is away, and delivers them when it is
    back, in their order."""

    def __init__(self, outlet: Outlet, shelf: Shelf, telemetry: Telemetry) -> None:
        self._outlet, self._shelf, self._telemetry = outlet, shelf, telemetry
        self._waiting: deque[tuple[int, int]] = deque()
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._unloading: asyncio.Task[None] | None = None

    @property
    def healthy(self) -> bool:
        """Whether its destination answers and nothing waits for it."""
        return self._outlet.healthy and not self._waiting

    @property
    def held_bytes(self) -> int:
        """Bytes in memory that wait or are being sent."""
        return self._outlet.held_bytes

    async def start(self) -> None:
        """Begin to deliver, what an earlier process left first.

        Raises:
            ConfigError: the destination, or its part of the disk, cannot be used.
        """
        await self._shelf.open()
        self._waiting.extend(self._shelf.pending())
        self._changed.set()
        await self._outlet.start()
        self._unloading = asyncio.create_task(self._unload())

    async def stop(self, grace: float) -> None:
        """Deliver what is in memory for up to ``grace`` seconds; what waits on disk stays there."""
        if self._unloading is not None:
            self._unloading.cancel()
            await asyncio.gather(self._unloading, return_exceptions=True)
        await self._outlet.stop(grace)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._shelf.close()

    def takes_now(self, size: int) -> bool:
        """Whether a batch of ``size`` bytes would be sent, and not wait on disk."""
        return self.healthy and self._outlet.fits(size)

    def fits(self, size: int) -> bool:
        """Whether a batch of ``size`` bytes may be submitted now."""
        return self.takes_now(size) or self._shelf.fits(size)

    def submit(self, batch: SpanBatch, spans: int) -> asyncio.Future[int]:
        """Take a batch of ``spans`` spans → a future of how many were dropped.

        It is done when they are delivered, or safe on disk.

        Raises:
            Refused: the queue is full.
        """
        if self.takes_now(len(batch.body)):
            return self._outlet.submit(batch, spans)
        return self._spawn(self._put_aside(batch, spans))

    async def _put_aside(self, batch: SpanBatch, spans: int) -> int:
        try:
            number = await self._shelf.put(batch)
        except Refused:  # no room on disk, or it fails: it waits in memory, and the others with it
            await self._outlet.room(len(batch.body))
            return await self._outlet.submit(batch, spans)
        self._telemetry.count(Figure.SHELVED, spans, destination=self._outlet.name)
        self._waiting.append((number, spans))
        self._changed.set()
        return 0

    async def _unload(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._waiting:
                try:
                    await self._deliver(*self._waiting[0])
                except Refused:  # the disk fails: what is on it is not lost for that
                    await asyncio.sleep(_AGAIN_AFTER)
                else:
                    self._waiting.popleft()

    async def _deliver(self, number: int, spans: int) -> None:
        """Hand one batch to the destination once its queue has room."""
        batch = await self._shelf.get(number)
        if batch is None:
            _log.error("%s: a batch that waited on disk is gone", self._outlet.name)
            self._telemetry.count(
                Figure.REJECTED, spans, destination=self._outlet.name, reason="spool_unreadable"
            )
            await self._shelf.remove([number])
            return
        await self._outlet.room(len(batch.body))
        done = self._outlet.submit(batch, spans)
        done.add_done_callback(
            lambda found: None if found.cancelled() else self._spawn(self._shelf.remove([number]))
        )

    def _spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
