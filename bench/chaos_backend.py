"""A backend of the chaos run: it breaks in many ways, and notes every copy of a span that comes."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from aiohttp import web
from chaos_traffic import PROTOBUF
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

LARGEST_BODY = 4 * 2**20
SCORED = re.compile(r'"status":\s*"scored"')
MODES = ("503", "429", "401", "500", "reset", "hang", "slow", "lossy", "partial")


@dataclass(frozen=True, slots=True)
class Arrival:
    """One copy of a span: in which ``life`` of the collector its request came, when it was answered."""

    life: int
    at: float
    taken: bool
    """Else it was rejected, by a partial success."""
    answered: bool
    """Whether the answer can have reached the collector."""
    hung_up: bool = False
    """Whether the connection of the copy before was closed by then: its answer had not been read."""


@dataclass
class Backend:
    """Keeps what it takes. ``life`` says which life of the collector this is."""

    name: str
    life: Callable[[], int]
    draw: random.Random
    mode: str = "ok"
    arrivals: dict[bytes, list[Arrival]] = field(default_factory=dict)
    scores: dict[bytes, set[str]] = field(default_factory=dict)
    scored_at: dict[str, tuple[int, float]] = field(default_factory=dict)
    """By interaction (trace/entry, hex): the life, and when."""
    late: Counter[bytes] = field(default_factory=Counter)
    came_by: dict[bytes, asyncio.Transport] = field(default_factory=dict)
    port: int = 0

    async def handle(self, incoming: web.Request) -> web.StreamResponse:
        mode, life = self.mode, self.life()
        if mode == "reset" and incoming.transport is not None:
            incoming.transport.abort()
        try:
            body = await incoming.read()
        except ConnectionResetError:
            return web.Response(status=400)
        if mode == "hang":
            await asyncio.sleep(30)
        if mode in {"503", "429", "401", "500"}:
            return web.Response(status=int(mode), headers={"retry-after": "1"} if mode == "429" else {})
        if len(body) > LARGEST_BODY:
            return web.Response(status=413)
        if mode == "slow":
            await asyncio.sleep(self.draw.uniform(0.1, 1.0))
        gone = incoming.transport is None or incoming.transport.is_closing()
        is_lost = gone or mode == "lossy"
        rejected = self._take(
            ExportTraceServiceRequest.FromString(body), life, mode, is_lost, incoming.transport
        )
        if mode == "lossy" and incoming.transport is not None:
            incoming.transport.abort()
        return web.Response(body=_partial(rejected) if rejected else b"", headers=PROTOBUF)

    def _take(
        self,
        taken: ExportTraceServiceRequest,
        life: int,
        mode: str,
        is_lost: bool,
        by: asyncio.Transport | None,
    ) -> int:
        """Note the spans of a request → how many of them are rejected."""
        spans = list[Span]()
        for resource in taken.resource_spans:
            for scope in resource.scope_spans:
                if scope.scope.name.startswith("ragtrace"):
                    self.late.update(span.trace_id for span in scope.spans)
                else:
                    spans += scope.spans
        is_partial = mode == "partial" and spans and not is_lost
        rejected = {s.span_id for s in self.draw.sample(spans, min(3, len(spans)))} if is_partial else set()
        for span in spans:
            before = self.came_by.get(span.span_id)
            hung_up = before is not None and before.is_closing()
            arrival = Arrival(life, time.monotonic(), span.span_id not in rejected, not is_lost, hung_up)
            if by is not None:
                self.came_by[span.span_id] = by
            self.arrivals.setdefault(span.span_id, []).append(arrival)
            if arrival.taken:
                self._note_scores(span, life)
        return len(rejected)

    def _note_scores(self, span: Span, life: int) -> None:
        for attribute in span.attributes:
            if attribute.key == "ragtrace.outcomes" and SCORED.search(attribute.value.string_value):
                self.scores.setdefault(span.span_id, set()).add(attribute.value.string_value)
                about = f"{span.trace_id.hex()}/{span.span_id.hex()}"
                self.scored_at.setdefault(about, (life, time.monotonic()))

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[int]:
        app = web.Application(client_max_size=2**30)
        app.router.add_post("/v1/traces", self.handle)
        runner = web.AppRunner(app, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.port = runner.addresses[0][1]
        try:
            yield self.port
        finally:
            await runner.cleanup()


def _partial(rejected: int) -> bytes:
    answer = ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = rejected
    answer.partial_success.error_message = "these are no spans of ours"
    return answer.SerializeToString()
