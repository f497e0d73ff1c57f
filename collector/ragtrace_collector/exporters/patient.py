"""A destination beside others: while it is away or slow its batches wait on its own part of the disk.

The others go on, and what they confirmed is not sent to them again. What waits has been judged already.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from ragtrace_collector.disk_queue import DiskQueue
from ragtrace_collector.exporters.outlet import Outlet
from ragtrace_collector.stages import Refused, SpanBatch
from ragtrace_collector.telemetry import Figure, Telemetry

T = TypeVar("T")
_log = logging.getLogger(__name__)
_PATIENCE = 1.0
"""Seconds that the others, and senders, wait for this destination's answer."""


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
    back, in their order.

    What it has not answered for when the process is killed, the others get twice: no more than came in the
    last ``patience`` seconds, for then it is written down.
    """

    def __init__(
        self, outlet: Outlet, shelf: Shelf, telemetry: Telemetry, *, patience: float = _PATIENCE
    ) -> None:
        self._outlet, self._shelf, self._telemetry = outlet, shelf, telemetry
        self._patience = patience
        self._waiting = DiskQueue(self._deliver, telemetry)
        self._overdue = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._unloading: asyncio.Task[None] | None = None

    @property
    def healthy(self) -> bool:
        """Whether its destination answers in time and nothing waits for it."""
        return self._outlet.healthy and not self._waiting and not self._overdue

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
        self._waiting.add(self._shelf.pending())
        await self._outlet.start()
        self._unloading = asyncio.create_task(self._waiting.run())

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
            return self._spawn(self._await_answer(batch, spans, self._outlet.submit(batch, spans)))
        return self._spawn(self._put_aside(batch, spans))

    async def _await_answer(self, batch: SpanBatch, spans: int, answer: asyncio.Future[int]) -> int:
        """Wait for the ``answer`` to a batch, but not for long: then it is written down too."""
        await asyncio.wait([answer], timeout=self._patience)
        if answer.done():
            return answer.result()
        self._overdue += 1
        answer.add_done_callback(self._answered)
        try:
            number = await self._written(batch, spans)
        except Refused:
            return await answer
        self._forget_after(answer, number)
        return 0

    def _answered(self, _: object) -> None:
        self._overdue -= 1

    async def _put_aside(self, batch: SpanBatch, spans: int) -> int:
        try:
            number = await self._written(batch, spans)
        except Refused:  # no room on disk, or it fails: it waits in memory, and the others with it
            await self._outlet.room(len(batch.body))
            return await self._outlet.submit(batch, spans)
        self._waiting.add([(number, spans)])
        return 0

    async def _written(self, batch: SpanBatch, spans: int) -> int:
        number = await self._shelf.put(batch)
        self._telemetry.count(Figure.SHELVED, spans, destination=self._outlet.name)
        return number

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
        self._forget_after(self._outlet.submit(batch, spans), number)

    def _forget_after(self, answer: asyncio.Future[int], number: int) -> None:
        """Keep a batch on disk until it is answered for."""
        answer.add_done_callback(
            lambda found: None if found.cancelled() else self._spawn(self._shelf.remove([number]))
        )

    def _spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
