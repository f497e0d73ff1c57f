"""The way out: spans to the destinations, and the books of what is not settled yet.

A span is settled when every destination took or finally refused it; a request in the spool is forgotten when
the last of its spans is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ragtrace_collector import otlp
from ragtrace_collector.custody import Custody, Request, Settled
from ragtrace_collector.exporters import Exporters
from ragtrace_collector.settlement import Note, key_of
from ragtrace_collector.stages import Refused, SpanBatch, span_count
from ragtrace_collector.telemetry import Figure, Telemetry

if TYPE_CHECKING:
    from ragtrace_collector.otlp import RawSpan

_log = logging.getLogger(__name__)
_NO_ROOM_PAUSE = 0.05
_LAST_NOTES = 0.5


class Store(Protocol):
    """Where requests are written down until they are settled."""

    async def put(self, item: SpanBatch) -> int:
        """Write a request down → its number.

        Raises:
            Refused: there is no room.
        """

    async def get(self, number: int) -> SpanBatch | None:
        """A request that was written down; ``None`` where it is not there, or is damaged.

        Raises:
            Refused: the disk fails; it may be read later.
        """

    async def remove(self, numbers: Sequence[int]) -> None:
        """Forget requests that are settled."""

    async def note(self, notes: Sequence[tuple[int, Note]]) -> None:
        """Write down which spans of requests are settled while others are not, by number."""


class Outgoing:
    """Sends spans and keeps the books."""

    def __init__(self, exporters: Exporters, store: Store | None, telemetry: Telemetry) -> None:
        self._exporters, self._store, self._telemetry = exporters, store, telemetry
        self._custody = Custody()
        self._direct_spans = self._direct_bytes = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._door = asyncio.Lock()
        self.on_settled: Callable[[], None] = lambda: None

    @property
    def spans(self) -> int:
        """Spans in memory that are not settled."""
        return self._custody.spans + self._direct_spans

    @property
    def bytes(self) -> int:
        """Their bytes."""
        return self._custody.bytes + self._direct_bytes

    def take(self, spans: Iterable[RawSpan], number: int | None, rest: SpanBatch | None = None) -> None:
        """Answer from now on for a request, ``number`` in the store: for ``spans`` each by itself.

        The ``rest`` of its spans is sent on at once.
        """
        request = self._custody.take(spans, number, rest)
        if rest is not None:
            self.spawn(self._send_rest(request, rest))

    def settle(self, spans: Iterable[RawSpan]) -> None:
        """Answer for ``spans`` no longer."""
        settled = self._custody.settle(spans)
        if settled.finished or settled.notes:
            self.spawn(self._write_down(settled))
        self.on_settled()

    async def send(self, spans: Sequence[RawSpan]) -> None:
        """Send ``spans``, taken before; returns when they are settled.

        Raises:
            asyncio.CancelledError: the collector stops before; they stay in the spool.
        """
        if spans:
            dropped = await (await self._submitted(SpanBatch(otlp.join(spans), tuple(spans))))
            self._book(len(spans), dropped)
            self.settle(spans)

    async def send_left(self, spans: Iterable[RawSpan]) -> None:
        """Send those of ``spans`` that are not settled, each once; returns when they are."""
        left = {key_of(span): span for span in spans if self._custody.holds(span)}
        await self.send(list(left.values()))

    async def _send_rest(self, request: Request, rest: SpanBatch) -> None:
        self._book(span_count(rest), await (await self._submitted(rest)))
        await self._write_down(self._custody.settle_rest(request, rest))
        self.on_settled()

    async def send_logs(self, item: SpanBatch, number: int | None = None) -> None:
        """Send log records, the request ``number`` of the store if they are there."""
        self._direct_bytes += len(item.body)
        try:
            await (await self._submitted(item))
        finally:
            self._release(0, len(item.body))
        if number is not None:
            await self._forget([number])

    async def send_plain(self, item: SpanBatch, spans: int, within: float) -> None:
        """Send a request of ``spans`` plain spans as it came; returns when it is safe.

        Safe is what is settled, or, where that takes more than ``within`` seconds, in the store.

        Raises:
            Refused: a destination's queue is full.
        """
        settled = self._exporters.submit(item)
        self._direct_spans += spans
        self._direct_bytes += len(item.body)
        settled.add_done_callback(lambda done: self._plain_settled(done, spans, len(item.body)))
        if settled.done() or (await asyncio.wait([settled], timeout=within))[0] or self._store is None:
            return
        try:
            number = await self._store.put(item)
        except Refused:
            # It is on its way and nowhere else: the sender waits with us.
            await asyncio.wait([settled])
            return
        settled.add_done_callback(
            lambda done: None if done.cancelled() else self.spawn(self._forget([number]))
        )

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run ``work`` beside everything else; :meth:`idle` waits for it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def idle(self, within: float) -> bool:
        """Wait at most ``within`` seconds until nothing is on its way → whether that is so."""
        until = asyncio.get_running_loop().time() + within
        while self._tasks and (left := until - asyncio.get_running_loop().time()) > 0:
            await asyncio.wait(set(self._tasks), timeout=left)
        return not self._tasks

    async def close(self) -> None:
        """Wait for the last notes to the store, let go of what is still on its way."""
        await self.idle(_LAST_NOTES)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _submitted(self, item: SpanBatch) -> asyncio.Future[int]:
        """Submit once there is room. What has been acknowledged is never refused: it waits its turn."""
        async with self._door:
            while True:
                try:
                    return self._exporters.submit(item)
                except Refused:
                    await asyncio.sleep(_NO_ROOM_PAUSE)

    def _plain_settled(self, done: asyncio.Future[int], spans: int, size: int) -> None:
        if not done.cancelled():
            self._book(spans, done.result())
        self._release(spans, size)

    def _book(self, spans: int, dropped: int) -> None:
        """Count what became of ``spans`` spans, in the very step in which they are held no longer."""
        self._telemetry.count(Figure.FORWARDED, spans - dropped)
        if dropped:
            self._telemetry.count(Figure.DROPPED, dropped, reason="export")

    def _release(self, spans: int, size: int) -> None:
        self._direct_spans -= spans
        self._direct_bytes -= size
        self.on_settled()

    async def _write_down(self, settled: Settled) -> None:
        if self._store is not None and settled.notes:
            await self._store.note(settled.notes)
        if settled.finished:
            await self._forget(settled.finished)

    async def _forget(self, numbers: Sequence[int]) -> None:
        if self._store is not None:
            await self._store.remove(numbers)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a task failed: %s", type(error).__name__)
