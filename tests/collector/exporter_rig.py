"""Backends that take, refuse, delay and break, and exporters that deliver to them; the clock is ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from ragtrace_collector import otlp
from ragtrace_collector.exporters import Destination, Exporters, Outlet
from ragtrace_collector.exporters.grpc import GrpcSender
from ragtrace_collector.exporters.http import HttpSender
from ragtrace_collector.stages import SpanBatch, span_count
from ragtrace_collector.telemetry import Telemetry

Reply = tuple[int, dict[str, str], bytes]
YES: Reply = (200, {}, b"")


@dataclass
class Backend:
    """An OTLP/HTTP backend. ``rule`` says what it answers to the spans of a request; what it takes is kept."""

    rule: Callable[[list[Any]], Reply] = lambda spans: YES
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    max_body: int = 2**30
    url: str = ""
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.requests.append(
            (request.path, {name.lower(): value for name, value in request.headers.items()}, body)
        )
        self.arrived.set()
        if len(body) > self.max_body:
            return web.Response(status=413)
        if request.path.endswith("/logs"):
            return web.Response()
        spans = otlp.read_spans(body)
        status, headers, answer = self.rule(spans)
        if status == 200:
            self.taken += [int(span.span_id, 16) for span in spans]
        return web.Response(status=status, headers=headers, body=answer)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Backend]:
        app = web.Application(client_max_size=2**30)
        app.router.add_post("/{path:.*}", self.handle)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()


class Clock:
    """Sleeps without waiting, and remembers for how long; ``now`` goes on by that alone."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.now = 0.0
        self.fifth = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        if len(self.slept) == 5:
            self.fifth.set()
        await asyncio.sleep(0)


@dataclass
class Delivery:
    """Exporters with one outlet to ``backend``."""

    exporters: Exporters
    telemetry: Telemetry
    clock: Clock
    spans: int = 0
    dropped: int = 0

    async def send(self, *bodies: bytes) -> None:
        """Send requests of spans, and wait until they are settled."""
        await self.send_batches(*map(SpanBatch, bodies))

    async def send_batches(self, *batches: SpanBatch) -> None:
        futures = [self.exporters.submit(batch) for batch in batches]
        self.dropped += sum(await asyncio.wait_for(asyncio.gather(*futures), 30))
        self.spans += sum(map(span_count, batches))

    def balance(self) -> tuple[int, int]:
        """Spans that were taken, and that reach no destination, of those sent until now."""
        return self.spans - self.dropped, self.dropped


@asynccontextmanager
async def delivering(
    url: str, *, at_once: int = 1, sender: Any = None, **options: Any
) -> AsyncIterator[Delivery]:
    outlet_options = {
        key: options.pop(key)
        for key in ("max_request", "max_spans", "max_text", "queue_bytes")
        if key in options
    }
    destination = Destination(url, **options)
    telemetry, clock = Telemetry(), Clock()
    make = GrpcSender if destination.is_grpc else HttpSender
    outlet = Outlet(
        sender or make(destination),
        telemetry,
        requests_at_once=at_once,
        sleep=clock.sleep,
        draw=lambda: 1.0,
        clock=lambda: clock.now,
        **outlet_options,
    )
    exporters = Exporters([outlet])
    await exporters.start()
    try:
        yield Delivery(exporters, telemetry, clock)
    finally:
        await exporters.stop(0)
