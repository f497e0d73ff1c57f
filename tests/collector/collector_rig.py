"""A whole collector in the test's loop, senders before it and a backend behind it, all on real loopback."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ragtrace_collector.service import Collector, Running
from ragtrace_collector.settings import load

WITHIN = 30.0
PROTOBUF = {"content-type": "application/x-protobuf"}


@dataclass
class Backend:
    """An OTLP/HTTP backend that keeps what it takes, or answers ``status``; with a ``gate``, once that opens."""

    status: int = 200
    bodies: list[bytes] = field(default_factory=list)
    log_bodies: list[bytes] = field(default_factory=list)
    port: int = 0
    gate: asyncio.Event | None = None
    _came: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def spans(self) -> list[Span]:
        """Every span that was taken, as the official classes read it."""
        return [
            span
            for body in self.bodies
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def log_records(self) -> list[LogRecord]:
        """Every log record that was taken."""
        return [
            record
            for body in self.log_bodies
            for resource in ExportLogsServiceRequest.FromString(body).resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]

    async def until(self, enough: Callable[[Backend], bool]) -> None:
        """Wait until ``enough`` came in."""
        async with asyncio.timeout(WITHIN), self._came:
            await self._came.wait_for(lambda: enough(self))

    async def answer(self, request: web.Request) -> web.Response:
        """Take one request."""
        body = await request.read()
        if self.gate is not None:
            await self.gate.wait()
        async with self._came:
            if self.status == 200 and request.path.endswith("/logs"):
                self.log_bodies.append(body)
            elif self.status == 200:
                self.bodies.append(body)
            self._came.notify_all()
        return web.Response(status=self.status, headers={"content-type": "application/x-protobuf"})


@contextlib.asynccontextmanager
async def backend(status: int = 200) -> AsyncIterator[Backend]:
    """A backend on a free port."""
    kept = Backend(status)
    app = web.Application(client_max_size=2**30)
    app.router.add_post("/v1/{signal}", kept.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    kept.port = runner.addresses[0][1]
    try:
        yield kept
    finally:
        await runner.cleanup()


@dataclass(frozen=True)
class Rig:
    """A running collector."""

    collector: Collector
    running: Running

    async def post(self, body: bytes, path: str = "/v1/traces", **headers: str) -> int:
        """Send an encoded request → the status of the answer."""
        url = f"http://127.0.0.1:{self.running.http}{path}"
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, data=body, headers={**PROTOBUF, **headers}) as response,
        ):
            await response.read()
            return response.status

    async def ask(self, path: str) -> tuple[int, Any]:
        """GET from the admin endpoint → status, JSON or text."""
        url = f"http://127.0.0.1:{self.running.admin}{path}"
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            is_json = response.content_type == "application/json"
            return response.status, await (response.json() if is_json else response.text())


async def eventually(check: Callable[[], Any]) -> None:
    """Wait until ``check`` holds: for figures, which tell nobody that they changed."""
    async with asyncio.timeout(WITHIN):
        while not check():  # noqa: ASYNC110  # nobody sets an event
            await asyncio.sleep(0.01)


def settings(behind: Backend | None, **more: Any) -> dict[str, Any]:
    """Settings of a quick collector in front of a backend."""
    found: dict[str, Any] = {
        "otlp": {"http": "127.0.0.1:0", "grpc": "off"},
        "admin": "127.0.0.1:0",
        "spool": "off",
        "judge": {"use": "own_judges:Supports"},
        "embedder": {"use": "off"},
        "sampling": {"share": 1.0},
        "assembly": {"quiet": 0.1},
        "scoring": {"deadline": 20.0, "redact": False},
    }
    if behind is not None:
        found["export"] = [f"http://127.0.0.1:{behind.port}"]
    return {key: _merged(found.get(key), value) for key, value in (found | more).items()}


@contextlib.asynccontextmanager
async def running(behind: Backend | None, **more: Any) -> AsyncIterator[Rig]:
    """A collector from start to stop; ``more`` are settings beside the rig's own."""
    collector = Collector(load(None, settings(behind, **more), {}))
    rig = Rig(collector, await asyncio.wait_for(collector.start(), WITHIN))
    try:
        yield rig
    finally:
        await collector.stop(5.0)


def _merged(below: Any, above: Any) -> Any:
    if isinstance(below, Mapping) and isinstance(above, Mapping) and "use" not in above:
        return {**below, **above}
    return above


JUDGES = '''
import asyncio, os, time
from pathlib import Path
from ragtrace.judges.base import JudgeReply
from ragtrace.model import Claim, JudgedClaim, Support, Verdict

class Base:
    kind, revision, model = "test", "r1", None
    async def aclose(self): pass

class Supports(Base):
    async def judge(self, request):
        print("a library that prints")
        claims = tuple(
            JudgedClaim(Claim(u.text, u.index, u.start, u.end), Verdict(Support.SUPPORTED, (1,)))
            for u in request.units
        )
        return JudgeReply(claims=claims, relevance={1: 0.9})

class Counts(Supports):
    """Notes each interaction that it was asked about."""
    def __init__(self, file): self.file = Path(file)
    async def judge(self, request):
        with self.file.open("a") as out:
            out.write(f"{request.interaction.trace_id}\\n")
        return await super().judge(request)

class Slow(Supports):
    async def judge(self, request):
        await asyncio.sleep(0.6)
        return await super().judge(request)

class Hangs(Base):
    async def judge(self, request):
        await asyncio.sleep(3600)

class Blocks(Base):
    async def judge(self, request):
        time.sleep(3600)

class Dies(Base):
    async def judge(self, request):
        os._exit(3)

class Raises(Base):
    async def judge(self, request):
        raise RuntimeError("secret words of the document")

class Unfinished:
    kind = "unfinished"
'''
"""A module of judges as a user may write them, for the worker process to import."""
