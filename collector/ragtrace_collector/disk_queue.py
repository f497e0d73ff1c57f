"""The order in which batches that wait on a disk are taken back from it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

from ragtrace_collector.stages import Refused
from ragtrace_collector.telemetry import Figure, Telemetry

_log = logging.getLogger(__name__)
_AGAIN_AFTER = 1.0
"""Seconds until a disk that failed is read again."""


class DiskQueue:
    """First in, first out. ``take`` is given number and spans of each batch once ``has_room`` says yes."""

    def __init__(
        self,
        take: Callable[[int, int], Awaitable[None]],
        telemetry: Telemetry,
        has_room: Callable[[], bool] = lambda: True,
    ) -> None:
        self._take, self._telemetry, self._has_room = take, telemetry, has_room
        self._waiting: deque[tuple[int, int]] = deque()
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, batches: Iterable[tuple[int, int]]) -> None:
        """Let batches wait: number on the disk, and spans, of each."""
        self._waiting.extend(batches)
        self._changed.set()

    def look(self) -> None:
        """There may be room now."""
        if self._waiting:
            self._changed.set()

    async def run(self) -> None:
        """Have batches taken while there is room, until cancelled. One that is refused stays the first."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._waiting and self._has_room():
                try:
                    await self._take(*self._waiting[0])
                except Refused:  # the disk fails: what is on it is not lost for that
                    await asyncio.sleep(_AGAIN_AFTER)
                    continue
                except Exception as error:  # noqa: BLE001  # those behind it must go on; it stays on disk
                    _log.error("a batch stays on disk until the next start: %s", type(error).__name__)
                    self._telemetry.count(Figure.FAILURES, stage="spool")
                self._waiting.popleft()
