"""One destination at work: its queue, its requests in flight, retry, and what to do with a refused batch."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable

from ragtrace.errors import PermanentExport, RetryableExport
from ragtrace_collector.exporters.backoff import backoff
from ragtrace_collector.exporters.fitting import Fit
from ragtrace_collector.exporters.packing import halves, pack
from ragtrace_collector.exporters.parcels import Parcel, ParcelQueue
from ragtrace_collector.exporters.sender import Oversize, Sender, ServerFault
from ragtrace_collector.exporters.standing import Standing
from ragtrace_collector.otlp import RawSpan, cut_span, join, split
from ragtrace_collector.stages import Signal, SpanBatch
from ragtrace_collector.telemetry import Figure, Telemetry

_log = logging.getLogger(__name__)
_LEAST_ROOM = 2**16
"""Bytes. Requests are not made smaller than this on a backend's word."""
_WORTH_JOINING = 2**20
"""Bytes. Larger requests cost a copy when they are joined, and save next to nothing."""
_FAULTS = 5
"""Failures, others getting through before each, after which a backend's fault is this request's."""


class Outlet:
    """Delivers to one destination, each batch once.

    A request is tried until the backend answers for it. One that it will never take is halved until the span
    at fault stands alone; that span is cut to fit where its size is the fault, else dropped and counted.
    """

    def __init__(
        self,
        sender: Sender,
        telemetry: Telemetry,
        *,
        max_request: int = 4_000_000,
        max_spans: int = 512,
        max_text: int | None = None,
        max_attributes: int | None = None,
        requests_at_once: int = 4,
        queue_bytes: int = 64 * 2**20,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        draw: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sender, self._telemetry = sender, telemetry
        self._room, self._at_once = max_request, requests_at_once
        self._max_spans, self._clock = max_spans, clock
        self._fit = Fit(max_text, max_attributes)
        self._queue = ParcelQueue(queue_bytes)
        self._sleep, self._draw = sleep, draw
        self._workers: list[asyncio.Task[None]] = []
        self._open: set[Parcel] = set()
        self._confirmed = 0
        self._standing = Standing(sender.name)
        self.healthy = True
        """Whether the last attempt was answered with yes or no, rather than with later or not at all."""

    @property
    def name(self) -> str:
        """The destination's name in figures and messages."""
        return self._sender.name

    @property
    def held_bytes(self) -> int:
        """Bytes that wait or are being sent."""
        return self._queue.held_bytes

    async def start(self) -> None:
        """Begin to deliver.

        Raises:
            ConfigError: the destination cannot be used as it is set up.
        """
        await self._sender.open()
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._at_once)]

    async def stop(self, grace: float) -> None:
        """Deliver what waits for up to ``grace`` seconds, then give up: what is left is not settled."""
        if self._open and grace > 0:
            await asyncio.wait([parcel.done for parcel in self._open], timeout=grace)
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        for parcel in self._open:
            parcel.done.cancel()
        self._open.clear()
        await self._sender.close()

    def fits(self, size: int) -> bool:
        """Whether a batch of ``size`` bytes may be submitted now."""
        return self._queue.fits(size)

    def takes_now(self, size: int) -> bool:
        """As :meth:`fits`: what does not fit is not taken."""
        return self.fits(size)

    async def room(self, size: int) -> None:
        """Wait until :meth:`fits`."""
        await self._queue.room(size)

    def submit(self, batch: SpanBatch, spans: int) -> asyncio.Future[int]:
        """Take a batch of ``spans`` spans → a future of how many of them were dropped.

        Raises:
            Refused: the queue is full.
        """
        parcel = Parcel(batch, spans)
        self._queue.put(parcel)
        self._open.add(parcel)
        return parcel.done

    async def _work(self) -> None:
        while True:
            parcels = await self._queue.take(min(self._room, _WORTH_JOINING), self._max_spans)
            try:
                await self._deliver_together(parcels)
            except Exception as error:  # noqa: BLE001  # a worker that dies would stop the destination for good
                _log.error("%s: delivery failed: %s", self.name, type(error).__name__)
                for parcel in parcels:
                    self._settle(parcel, self._drop(parcel.spans, "internal"))
            finally:
                self._queue.release(parcels)

    def _settle(self, parcel: Parcel, dropped: int) -> None:
        self._open.discard(parcel)
        if not parcel.done.done():
            self._telemetry.count(Figure.EXPORTED, parcel.spans - dropped, destination=self.name)
            parcel.settle(dropped)

    async def _deliver_together(self, parcels: list[Parcel]) -> None:
        """Encoded requests one after the other are a request: several parcels go as one if they may."""
        if len(parcels) > 1:
            signal = parcels[0].batch.signal
            body = b"".join([parcel.batch.body for parcel in parcels])
            try:
                rejected = await self._send(self._prepared(body, signal), signal)
            except PermanentExport as error:
                self._learn(error, len(body))  # and each on its own, below
            else:
                for parcel in parcels:
                    part = min(rejected, parcel.spans)
                    rejected -= part
                    self._settle(parcel, self._drop(part, "partial_success"))
                return
        for parcel in parcels:
            self._settle(parcel, await self._deliver(parcel))

    async def _deliver(self, parcel: Parcel) -> int:
        """Send one parcel in as many requests as it takes → the number of spans dropped."""
        body, signal = parcel.batch.body, parcel.batch.signal
        if signal is Signal.LOGS:
            try:
                await self._send(body, signal)
            except PermanentExport as error:
                self._standing.refused(error)
            return 0
        dropped = 0
        for piece in pack(self._prepared(body, signal), self._room):
            dropped += await self._deliver_piece(piece)
        return dropped

    async def _deliver_piece(self, body: bytes) -> int:
        try:
            return self._drop(await self._send(body, Signal.TRACES), "partial_success")
        except PermanentExport as error:
            spans = split(body)
            if error.splittable and len(spans) > 1:
                self._learn(error, len(body))
                first, second = halves(spans)
                return await self._deliver_piece(first) + await self._deliver_piece(second)
            if isinstance(error, Oversize):
                return await self._deliver_cut(spans[0], len(body))
            self._standing.refused(error)
            return self._drop(len(spans), "rejected")

    def _learn(self, error: PermanentExport, size: int) -> None:
        if isinstance(error, Oversize):
            self._room = max(min(self._room, size // 2), _LEAST_ROOM)

    async def _deliver_cut(self, span: RawSpan, size: int) -> int:
        """A span that is too large alone: its texts are cut, shorter each time, until it is taken."""
        while True:
            target = self._room if size > self._room else size // 2
            smaller = cut_span(span, target)
            if smaller.size >= span.size:
                return self._drop(1, "too_large")
            span, size = smaller, min(smaller.size, target)
            try:
                rejected = await self._send(join([span]), Signal.TRACES)
            except Oversize:
                continue
            except PermanentExport as error:
                self._standing.refused(error)
                return self._drop(1, "rejected")
            self._telemetry.count(Figure.CUT, destination=self.name)
            return self._drop(rejected, "partial_success")

    def _prepared(self, body: bytes, signal: Signal) -> bytes:
        if signal is Signal.LOGS:
            return body
        fitted, changed = self._fit(body)
        if changed:
            self._telemetry.count(Figure.CUT, changed, destination=self.name)
        return fitted

    async def _send(self, body: bytes, signal: Signal) -> int:
        """Send until the backend answers for the request → the number of items that it threw away.

        A fault of the backend (500) is tried for ever while nothing gets through, for that is an outage;
        when other requests get through between its failures, time and again, this one is at fault itself.
        """
        attempt, faults, before = 0, 0, self._confirmed
        while True:
            try:
                rejected = await self._sender.send(body, signal)
            except PermanentExport:
                self.healthy = True
                raise
            except RetryableExport as error:
                self.healthy = False
                self._standing.failed(error, attempt)
                faults += attempt > 0 and self._confirmed > before
                before = self._confirmed
                if isinstance(error, ServerFault) and faults >= _FAULTS:
                    raise PermanentExport(str(error), splittable=True) from error
                self._telemetry.count(Figure.RETRIES, destination=self.name)
                await self._sleep(backoff(attempt, error.retry_after, self._draw()))
                attempt += 1
            else:
                self.healthy = True
                self._confirmed += 1
                self._standing.answered(self._clock())
                return rejected

    def _drop(self, spans: int, reason: str) -> int:
        if spans:
            self._telemetry.count(Figure.REJECTED, spans, destination=self.name, reason=reason)
        return spans
