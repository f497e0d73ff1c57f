"""Break everything around a collector, again and again, and count what became of every span.

    python bench/chaos.py [--seconds 60] [--seed 1] [--json]

Senders post plain, RAG, fat and malformed requests over HTTP and gRPC, each span once, and note what was
acknowledged. Meanwhile, by a seeded schedule: the collector is killed at any moment (with garbage behind its
journal), ended in order, stopped for seconds (a clock jump, as it sees it), and its scoring worker is killed;
the backend answers 503, 429, 401 and 500, resets, hangs, is slow, or takes spans and loses its answer; the
judge answers 429, 500 and garbage, or hangs; the disk is full. At the end all is mended and drained.

Exit code 0 means: every acknowledged span was delivered, none came up that nobody sent, no interaction has
two different scores, spans that came twice are within the unconfirmed window, and the collector never died of
itself.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import json
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import psutil
import yaml
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from servers.openai_chat import Answer, FakeOpenAI, Http, Seen, good_reply

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
PROTOBUF = {"content-type": "application/x-protobuf"}
SENDERS, REQUESTS_AT_ONCE, LARGEST_BODY = 6, 4, 4 * 2**20
SPOOL_BYTES = 24 * 2**20
AWAY = frozenset({"ClientConnectorError", "UNAVAILABLE"})
START_WITHIN, DRAIN_WITHIN = 60.0, 240.0
SCORED = re.compile(r'"status":\s*"scored"')


# --- what is sent -----------------------------------------------------------------------------------------


def request(*spans: dict[str, Any]) -> ExportTraceServiceRequest:
    """Spans as keyword arguments, ``attributes`` among them → a request."""
    made = ExportTraceServiceRequest()
    resource = made.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "chaos"
    scope = resource.scope_spans.add()
    scope.scope.name = "chaos"
    for fields in spans:
        attributes = fields.pop("attributes")
        now = time.time_ns()
        span = scope.spans.add(start_time_unix_nano=now, end_time_unix_nano=now, **fields)
        for key, value in attributes.items():
            span.attributes.add(key=key).value.string_value = value
    return made


def plain(draw: random.Random) -> list[dict[str, Any]]:
    """A trace of a shop, of which one in sixty carries a very large text."""
    trace, count = draw.randbytes(16), draw.randint(1, 120)
    size = draw.choice([300_000, 3_000_000, 6_000_000]) if draw.random() < 1 / 60 else 200
    return [
        {
            "trace_id": trace,
            "span_id": draw.randbytes(8),
            "name": "GET /cart",
            "attributes": {"http.route": "/cart", "note": "退款" * (size // 6 if number == 0 else 30)},
        }
        for number in range(count)
    ]


def rag(draw: random.Random) -> list[dict[str, Any]]:
    """One interaction: entry, retriever and model call, the entry last as SDKs send it."""
    trace, root = draw.randbytes(16), draw.randbytes(8)
    question, answer = (
        f"How long do refunds take, {trace.hex()}?",
        f"Refunds take {draw.randint(2, 90)} days.",
    )
    document = {"retrieval.documents.0.document.content": f"Our policy. {answer} Always."}
    texts = {"input.value": question, "output.value": answer}
    kinds = [("RETRIEVER", {"input.value": question, **document}), ("LLM", {"output.value": answer})]
    children = [
        {
            "span_id": draw.randbytes(8),
            "parent_span_id": root,
            "attributes": {"openinference.span.kind": k, **a},
        }
        for k, a in kinds
    ]
    entry = {"span_id": root, "attributes": {"openinference.span.kind": "CHAIN", **texts}}
    return [{"trace_id": trace, "name": "ask", **one} for one in (*children, entry)]


def bodies(draw: random.Random) -> list[ExportTraceServiceRequest]:
    """The requests of one turn of a sender."""
    match draw.choices(("plain", "mixed", "apart"), (5, 3, 2))[0]:
        case "plain":
            return [request(*plain(draw))]
        case "mixed":
            return [request(*plain(draw), *rag(draw), *plain(draw), *rag(draw))]
        case _:
            first, *others = rag(draw)
            return [request(first, *plain(draw)), request(*others)]


def malformed(draw: random.Random) -> tuple[bytes, dict[str, str]]:
    """A body that is no request, and its headers."""
    good = request(*rag(draw)).SerializeToString()
    match draw.randrange(4):
        case 0:
            return good[: len(good) - draw.randint(1, 9)], PROTOBUF
        case 1:
            return draw.randbytes(draw.randint(1, 4_000)), PROTOBUF
        case 2:
            return gzip.compress(good)[:-9], {**PROTOBUF, "content-encoding": "gzip"}
        case _:
            return b'{"resourceSpans": [' * 500, {"content-type": "application/json"}


# --- around the collector ---------------------------------------------------------------------------------


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


# --- the run ----------------------------------------------------------------------------------------------


@dataclass
class Result:
    """What a run came to."""

    seconds: float
    sent: int = 0
    acknowledged: int = 0
    delivered: int = 0
    lost: int = 0
    unknown: int = 0
    twice: int = 0
    """Copies of spans beyond the first."""
    twice_unanswered: int = 0
    """Of these, copies sent again because the backend took them and its answer was lost."""
    window: int = 0
    """Copies that the kills may cost: requests in flight times the spans of the largest."""
    scored: int = 0
    scored_twice: int = 0
    late_scores: int = 0
    kills: int = 0
    ends: int = 0
    died: int = 0
    most_rss_mib: float = 0.0
    unaccounted: float = 0.0
    drained: bool = False
    answers: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        wrong = self.lost or self.unknown or self.scored_twice or self.died or self.unaccounted
        return self.drained and not wrong and self.twice - self.twice_unanswered <= self.window


class Run:
    """One run: senders, faults, and the reckoning."""

    def __init__(self, victim: Victim, backend: Backend, judge: Judge, seed: int) -> None:
        self._victim, self._backend, self._judge = victim, backend, judge
        self._draw, self._seed = random.Random(seed), seed
        self._sent, self._acknowledged = set[bytes](), set[bytes]()
        self._answers, self._faults = Counter[str](), Counter[str]()
        self._ends = 0.0

    async def run(self, seconds: float) -> Result:
        await self._victim.up()
        self._ends = time.monotonic() + seconds
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=15)) as session:
            senders = [self._send(session, random.Random(f"{self._seed}/{n}")) for n in range(SENDERS)]
            await asyncio.gather(*senders, self._break())
        self._backend.mode = self._judge.mode = "ok"
        return self._result(seconds, await self._drained())

    async def _send(self, session: aiohttp.ClientSession, draw: random.Random) -> None:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{self._victim.grpc}") as channel:
            call = channel.unary_unary(EXPORT)
            while time.monotonic() < self._ends:
                if draw.random() < 0.05:
                    body, headers = malformed(draw)
                    self._answers[f"malformed: {await self._post(session, body, headers)}"] += 1
                for made in bodies(draw):
                    ids = {s.span_id for r in made.resource_spans for c in r.scope_spans for s in c.spans}
                    self._sent |= ids
                    body = made.SerializeToString()
                    over_grpc = draw.random() < 0.3
                    answer = await (_call(call, body) if over_grpc else self._post(session, body, PROTOBUF))
                    self._answers[answer] += 1
                    if answer in AWAY:
                        await asyncio.sleep(1)
                    if answer in {"200", "OK"}:
                        self._acknowledged |= ids
                await asyncio.sleep(draw.uniform(0.02, 0.3))

    async def _post(self, session: aiohttp.ClientSession, body: bytes, headers: dict[str, str]) -> str:
        try:
            url = f"http://127.0.0.1:{self._victim.http}/v1/traces"
            async with session.post(url, data=body, headers=headers) as response:
                await response.read()
                return str(response.status)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return type(error).__name__

    async def _break(self) -> None:
        faults: dict[str, tuple[int, Callable[[], Awaitable[None]]]] = {
            "kill": (3, self._kill), "end": (1, self._victim.end), "worker": (2, self._kill_worker),
            "pause": (1, self._pause), "backend": (5, self._break_backend), "judge": (4, self._break_judge),
            "disk": (2, self._fill_disk),
        }  # fmt: skip
        names, weights = list(faults), [weight for weight, _ in faults.values()]
        while time.monotonic() < self._ends:
            name = self._draw.choices(names, weights)[0]
            self._faults[name] += 1
            with contextlib.suppress(psutil.NoSuchProcess):
                await faults[name][1]()
            await asyncio.sleep(self._draw.uniform(0.5, 4))
            await (self._victim.up() if self._draw.random() < 0.8 else self._victim.revive())
            with contextlib.suppress(psutil.NoSuchProcess):
                self._victim.most_rss = max(self._victim.most_rss, self._victim.main().memory_info().rss)

    async def _kill(self) -> None:
        await asyncio.sleep(self._draw.uniform(0, 2))
        await self._victim.kill(self._draw.randbytes(self._draw.choice([0, 0, 100, 5_000])))

    async def _kill_worker(self) -> None:
        for child in self._victim.main().children():
            child.kill()

    async def _pause(self) -> None:
        process = self._victim.main()
        process.suspend()
        await asyncio.sleep(self._draw.uniform(2, 8))
        process.resume()

    async def _break_backend(self) -> None:
        modes = ("503", "429", "401", "500", "reset", "hang", "slow", "lossy")
        self._backend.mode = self._draw.choice(modes)
        self._faults[f"backend {self._backend.mode}"] += 1
        await asyncio.sleep(self._draw.uniform(1, 8))
        self._backend.mode = "ok"

    async def _break_judge(self) -> None:
        self._judge.released = threading.Event()
        self._judge.mode = self._draw.choice(("429", "500", "garbage", "hang"))
        self._faults[f"judge {self._judge.mode}"] += 1
        await asyncio.sleep(self._draw.uniform(1, 6))
        self._judge.mode = "ok"
        self._judge.released.set()

    async def _fill_disk(self) -> None:
        """No file of the process may grow any more: every write fails as on a full disk."""
        process, spool = self._victim.main(), self._victim.folder / "spool"
        largest = max((file.stat().st_size for file in spool.glob("spool.db*")), default=0)
        _, hard = process.rlimit(psutil.RLIMIT_FSIZE)
        process.rlimit(psutil.RLIMIT_FSIZE, (largest, hard))
        await asyncio.sleep(self._draw.uniform(1, 5))
        process.rlimit(psutil.RLIMIT_FSIZE, (hard, hard))

    async def _drained(self) -> dict[str, float] | None:
        """Wait until nothing is held or spooled any more → the figures then."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_WITHIN):
                quiet = 0
                while quiet < 5:
                    await self._victim.revive()
                    figures = await self._victim.figures()
                    left = figures and (
                        figures["held_spans"] or figures["spooled_spans"] or figures["spool_bytes"]
                    )
                    quiet = 0 if figures is None or left else quiet + 1
                    await asyncio.sleep(0.5)
                return figures
        return None

    def _result(self, seconds: float, figures: dict[str, float] | None) -> Result:
        backend, victim = self._backend, self._victim
        delivered = set(backend.came)
        twice = {span: count - 1 for span, count in backend.came.items() if count > 1}
        return Result(
            seconds=seconds,
            sent=len(self._sent),
            acknowledged=len(self._acknowledged),
            delivered=len(delivered),
            lost=len(self._acknowledged - delivered),
            unknown=len(delivered - self._sent),
            twice=sum(twice.values()),
            twice_unanswered=sum(min(count, backend.unanswered[span]) for span, count in twice.items()),
            window=(victim.kills + victim.ends) * REQUESTS_AT_ONCE * backend.largest,
            scored=len(backend.scores),
            scored_twice=sum(len(found) > 1 for found in backend.scores.values()),
            late_scores=sum(backend.late.values()),
            kills=victim.kills,
            ends=victim.ends,
            died=victim.died,
            most_rss_mib=round(victim.most_rss / 2**20, 1),
            unaccounted=unaccounted(figures) if figures else 0.0,
            drained=figures is not None,
            answers=dict(sorted(self._answers.items())),
            faults=dict(sorted(self._faults.items())),
        )


def unaccounted(figures: dict[str, float]) -> float:
    """Spans that the last process took in and that are in none of its books."""
    came = ("received_spans_total", "replayed_spans_total", "made_spans_total")
    went = (
        "forwarded_spans_total",
        "held_spans",
        "spooled_spans",
        "refused_spans_total",
        "dropped_spans_total",
    )
    return sum(figures.get(name, 0.0) for name in came) - sum(figures.get(name, 0.0) for name in went)


async def _call(call: Any, body: bytes) -> str:
    try:
        await call(body, timeout=15)
    except grpc.aio.AioRpcError as error:
        return str(error.code().name)
    return "OK"


def free_ports(count: int) -> list[int]:
    import socket

    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


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


async def chaos(seconds: float, seed: int, folder: Path) -> Result:
    """Run in ``folder``, which takes the spool and the collector's log."""
    backend, judge = Backend(draw=random.Random(f"{seed}/backend")), Judge()
    http, grpc_, admin = free_ports(3)
    with FakeOpenAI(judge).running() as model:
        async with serving(backend) as port:
            settings = {
                "otlp": {"http": f"127.0.0.1:{http}", "grpc": f"127.0.0.1:{grpc_}"},
                "admin": f"127.0.0.1:{admin}",
                "export": [
                    {"url": f"http://127.0.0.1:{port}", "timeout": 3, "requests_at_once": REQUESTS_AT_ONCE}
                ],
                "spool": {"dir": str(folder / "spool"), "max_bytes": SPOOL_BYTES},
                "max_bytes": 16 * 2**20,
                "judge": {"use": "openai", "base_url": model.url, "model": "m", "api_key": "k", "timeout": 3},
                "embedder": {"use": "off"},
                "sampling": {"share": 1.0},
                "scoring": {"deadline": 5.0, "late": 6.0},
                "assembly": {"quiet": 0.5, "idle": 5.0},
            }
            (folder / "config.yaml").write_text(yaml.safe_dump(settings))
            victim = Victim(folder / "config.yaml", folder, http, grpc_, admin)
            await victim.start()
            try:
                return await Run(victim, backend, judge, seed).run(seconds)
            finally:
                assert victim.process is not None
                with contextlib.suppress(ProcessLookupError):
                    victim.process.send_signal(signal.SIGCONT)
                    victim.process.terminate()
                await victim.process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", type=Path, help="Folder for spool and log, kept where the run fails.")
    given = parser.parse_args()
    folder = given.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    result = asyncio.run(chaos(given.seconds, given.seed, folder))
    shown = asdict(result) | {"holds": result.holds}
    print(json.dumps(shown) if given.json else "\n".join(f"{key:18}{value}" for key, value in shown.items()))
    if result.holds or given.keep is None:
        shutil.rmtree(folder)
    return 0 if result.holds else 1


if __name__ == "__main__":
    sys.exit(main())
