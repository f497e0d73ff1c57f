"""What waits for one destination, bounded by bytes."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from ragtrace_collector.stages import Refused, SpanBatch


@dataclass(slots=True, eq=False)
class Parcel:
    """A batch on its way to one destination. ``done`` gives the number of its spans that were dropped."""

    batch: SpanBatch
    spans: int
    done: asyncio.Future[int] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def settle(self, dropped: int) -> None:
        """Say that nothing more will be done with it."""
        if not self.done.done():
            self.done.set_result(dropped)


class ParcelQueue:
    """First in, first out. Bytes count from :meth:`put` to :meth:`release`, what is being sent included."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._waiting: deque[Parcel] = deque()
        self._arrived, self._freed = asyncio.Event(), asyncio.Event()
        self.held_bytes = 0

    def fits(self, size: int) -> bool:
        """Whether ``size`` more bytes may wait. One batch always may, whatever its size."""
        return self.held_bytes == 0 or self.held_bytes + size <= self._max_bytes

    async def room(self, size: int) -> None:
        """Wait until :meth:`fits`."""
        while not self.fits(size):
            self._freed.clear()
            await self._freed.wait()

    def put(self, parcel: Parcel) -> None:
        """Add a parcel.

        Raises:
            Refused: there is no room.
        """
        size = len(parcel.batch.body)
        if not self.fits(size):
            raise Refused("export_queue_full")
        self._waiting.append(parcel)
        self.held_bytes += size
        self._arrived.set()

    async def take(self, max_bytes: int, max_spans: int) -> list[Parcel]:
        """Wait for a parcel, then take with it those of its signal behind it, within both bounds in all."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        taken = [self._waiting.popleft()]
        size, spans = len(taken[0].batch.body), taken[0].spans
        while self._waiting and self._waiting[0].batch.signal is taken[0].batch.signal:
            size += len(self._waiting[0].batch.body)
            spans += self._waiting[0].spans
            if size > max_bytes or spans > max_spans:
                break
            taken.append(self._waiting.popleft())
        return taken

    def release(self, parcels: list[Parcel]) -> None:
        """Give the bytes of taken parcels back."""
        self.held_bytes -= sum(len(parcel.batch.body) for parcel in parcels)
        self._freed.set()
