"""All destinations together: a batch is done with when each of them has answered for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from ragtrace_collector.exporters.file import FileSender
from ragtrace_collector.exporters.grpc import GrpcSender
from ragtrace_collector.exporters.http import HttpSender
from ragtrace_collector.exporters.outlet import Outlet
from ragtrace_collector.exporters.patient import PatientOutlet
from ragtrace_collector.exporters.target import Destination
from ragtrace_collector.stages import Refused, SpanBatch, span_count
from ragtrace_collector.telemetry import Telemetry


def make_outlet(destination: Destination, telemetry: Telemetry) -> Outlet:
    """The outlet of a backend."""
    sender = GrpcSender(destination) if destination.is_grpc else HttpSender(destination)
    return Outlet(
        sender,
        telemetry,
        max_request=destination.max_request,
        max_spans=destination.max_spans,
        max_text=destination.max_text,
        max_attributes=destination.max_attributes,
        requests_at_once=destination.requests_at_once,
        queue_bytes=destination.queue,
    )


def make_file_outlet(path: Path, telemetry: Telemetry) -> Outlet:
    """The outlet of ``--out FILE``: one line at a time, so that lines stand in the order of arrival."""
    return Outlet(FileSender(path), telemetry, requests_at_once=1)


class Exporters:
    """Hands each batch to every outlet. Without any, batches are done with at once."""

    def __init__(self, outlets: Sequence[Outlet | PatientOutlet]) -> None:
        self._outlets = tuple(outlets)
        self.held_spans = 0
        """Spans that some destination has not answered for yet."""

    @property
    def healthy(self) -> bool:
        """Whether every destination answers: then waiting for it is better than writing to disk."""
        return all(outlet.healthy for outlet in self._outlets)

    @property
    def held_bytes(self) -> int:
        """Bytes that wait for the destination that has the most of them."""
        return max((outlet.held_bytes for outlet in self._outlets), default=0)

    def fits(self, size: int) -> bool:
        """Whether a batch of ``size`` bytes may be submitted now."""
        return all(outlet.fits(size) for outlet in self._outlets) and (
            not self._outlets or any(outlet.takes_now(size) for outlet in self._outlets)
        )

    async def start(self) -> None:
        """Begin to deliver.

        Raises:
            ConfigError: a destination cannot be used as it is set up.
        """
        for outlet in self._outlets:
            await outlet.start()

    async def stop(self, grace: float) -> int:
        """Deliver what waits for up to ``grace`` seconds → the number of spans that were left undelivered."""
        await asyncio.gather(*(outlet.stop(grace) for outlet in self._outlets))
        await asyncio.sleep(0)  # the callbacks of what was settled last
        return self.held_spans

    def submit(self, batch: SpanBatch) -> asyncio.Future[int]:
        """Take a batch → a future of how many of its spans reached no destination.

        It is done when every destination took or finally refused them, and cancelled where the collector
        stops before.

        Raises:
            Refused: a destination's queue is full; no destination got the batch.
        """
        if not self.fits(len(batch.body)):
            raise Refused("export_queue_full")
        spans = span_count(batch)
        settled: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        parts = [outlet.submit(batch, spans) for outlet in self._outlets]
        self.held_spans += spans
        waiting = len(parts)

        def one_done(_: object) -> None:
            nonlocal waiting
            waiting -= 1
            if waiting > 0:
                return
            if any(part.cancelled() for part in parts):
                settled.cancel()
                return
            self.held_spans -= spans
            if not settled.done():
                settled.set_result(min((part.result() for part in parts), default=0))

        for part in parts:
            part.add_done_callback(one_done)
        if not parts:
            one_done(None)
        return settled
