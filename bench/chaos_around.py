"""What stands around the collector in the chaos run, and breaks: its backend, its judge, its own process."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import psutil
from aiohttp import web
from chaos_traffic import PROTOBUF
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from servers.openai_chat import Answer, Http, Seen, good_reply

LARGEST_BODY = 4 * 2**20
START_WITHIN = 60.0
SCORED = re.compile(r'"status":\s*"scored"')


@dataclass
class Backend:
    """Keeps what it takes: how often each span came, and the scores on it."""

    mode: str = "ok"
    came: Counter[bytes] = field(default_factory=Counter)
    scores: dict[bytes, set[str]] = field(default_factory=dict)
    late: Counter[bytes] = field(default_factory=Counter)
    unanswered: Counter[bytes] = field(default_factory=Counter)
    largest: int = 0
    draw: random.Random = field(default_factory=lambda: random.Random(0))

    async def handle(self, incoming: web.Request) -> web.StreamResponse:
        mode = self.mode
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
        self._take(ExportTraceServiceRequest.FromString(body), is_lost=gone or mode == "lossy")
        if mode == "lossy" and incoming.transport is not None:
            incoming.transport.abort()
        return web.Response(headers=PROTOBUF)

    def _take(self, taken: ExportTraceServiceRequest, is_lost: bool) -> None:
        spans = [
            (scope.scope.name, span)
            for resource in taken.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        self.largest = max(self.largest, len(spans))
        for scope_name, span in spans:
            if scope_name.startswith("ragtrace"):
                self.late[span.trace_id] += 1
                continue
            self.came[span.span_id] += 1
            self.unanswered[span.span_id] += is_lost
            for attribute in span.attributes:
                if attribute.key == "ragtrace.outcomes" and SCORED.search(attribute.value.string_value):
                    self.scores.setdefault(span.span_id, set()).add(attribute.value.string_value)


@dataclass
class Judge:
    """Answers as an honest model, or as ``mode`` says."""

    mode: str = "ok"
    released: threading.Event = field(default_factory=threading.Event)

    def __call__(self, seen: Seen) -> Answer:
        match self.mode:
            case "429":
                return Http(429, headers=(("retry-after", "1"),))
            case "500":
                return Http(500)
            case "garbage":
                return "I think the answer is mostly fine."
            case "hang":
                return Http(500, hold=self.released)
        return good_reply(seen)


@dataclass
class Victim:
    """The collector process, started again whenever it was ended by us."""

    config: Path
    folder: Path
    http: int
    grpc: int
    admin: int
    kills: int = 0
    ends: int = 0
    died: int = 0
    most_rss: int = 0
    process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "ragtrace_collector", "collector", "--config", str(self.config),
                stdout=log, stderr=log,
            )  # fmt: skip

    async def up(self) -> None:
        """Wait until it answers."""
        async with asyncio.timeout(START_WITHIN):
            while await self.figures() is None:
                await self.revive()
                await asyncio.sleep(0.1)

    async def revive(self) -> None:
        """Start it where it ended without being told to, which is a failure of the run."""
        if self.process is not None and self.process.returncode is not None:
            self.died += 1
            await self.start()

    async def figures(self) -> dict[str, float] | None:
        """Its metrics, summed over labels; ``None`` while it does not answer."""
        url, found = f"http://127.0.0.1:{self.admin}/metrics", Counter[str]()
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
                text = await (await session.get(url)).text()
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None
        for line in text.splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                found[name.partition("{")[0].removeprefix("ragtrace_collector_")] += float(value)
        return dict(found)

    def main(self) -> psutil.Process:
        assert self.process is not None
        return psutil.Process(self.process.pid)

    async def kill(self, garbage: bytes) -> None:
        assert self.process is not None
        self.process.kill()
        await self.process.wait()
        self.kills += 1
        journal = self.folder / "spool" / "spool.db-wal"
        if garbage and journal.exists():
            with journal.open("ab") as out:
                out.write(garbage)
        await self.start()

    async def end(self) -> None:
        assert self.process is not None
        self.process.terminate()
        await asyncio.wait_for(self.process.wait(), 30)
        self.ends += 1
        await self.start()


@contextlib.asynccontextmanager
async def serving(backend: Backend) -> AsyncIterator[int]:
    app = web.Application(client_max_size=2**30)
    app.router.add_post("/v1/traces", backend.handle)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
