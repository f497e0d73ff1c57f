"""One chaos run: senders, and faults by a seeded schedule."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import aiohttp
import grpc
import psutil
from chaos_around import Figures, Judge, Victim
from chaos_backend import MODES, Backend
from chaos_reckoning import Account, Result, account, judged_again
from chaos_traffic import PROTOBUF, bodies, malformed, plain, request
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SENDERS = 6
LEFT = ("held_spans", "spooled_spans", "spool_bytes", "shelf_bytes")
"""Figures that are 0 once everything is out."""
AWAY = frozenset({"ClientConnectorError", "UNAVAILABLE"})
DRAIN_WITHIN = 240.0
_DAY = 86_400


class Run:
    """One run against ``victim``, what stands around it, and the reckoning."""

    def __init__(self, victim: Victim, backends: Sequence[Backend], judge: Judge, seed: int) -> None:
        self._victim, self._backends, self._judge = victim, backends, judge
        self._draw, self._seed = random.Random(seed), seed
        self._sent, self._acknowledged = set[bytes](), set[bytes]()
        self._answers, self._faults = Counter[str](), Counter[str]()
        self._modes = shuffled(self._draw, MODES)
        self._pauses: list[tuple[float, float]] = []
        self._disk_full: list[tuple[float, float]] = []
        self._ends = 0.0

    async def run(self, seconds: float) -> Result:
        await self._victim.up()
        self._ends = time.monotonic() + seconds
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=15)) as session:
            senders = [self._send(session, random.Random(f"{self._seed}/{n}")) for n in range(SENDERS)]
            await asyncio.gather(*senders, self._break())
            await self._victim.up()
            await self._reject_some(session)
        self._judge.mode = "ok"
        return self._result(seconds, await self._drained())

    async def _reject_some(self, session: aiohttp.ClientSession) -> None:
        """Let each backend reject spans in the last life, for the two counts of them to be compared."""
        for backend in self._backends:
            backend.mode = "partial"
        draw = random.Random(f"{self._seed}/last")
        for _ in range(5):
            await self._send_one(request(*plain(draw)), lambda body: self._post(session, body, PROTOBUF))
        for backend in self._backends:
            backend.mode = "ok"

    async def _send(self, session: aiohttp.ClientSession, draw: random.Random) -> None:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{self._victim.grpc}") as channel:
            call = channel.unary_unary(EXPORT)
            while time.monotonic() < self._ends:
                if draw.random() < 0.05:
                    body, headers = malformed(draw)
                    self._answers[f"malformed: {await self._post(session, body, headers)}"] += 1
                for made in bodies(draw):
                    over_grpc = draw.random() < 0.3
                    await self._send_one(
                        made,
                        lambda body, over_grpc=over_grpc: (
                            _call(call, body) if over_grpc else self._post(session, body, PROTOBUF)
                        ),
                    )
                await asyncio.sleep(draw.uniform(0.02, 0.3))

    async def _send_one(
        self, made: ExportTraceServiceRequest, send: Callable[[bytes], Awaitable[str]]
    ) -> None:
        """Send a request once, and note whether it was acknowledged."""
        ids = {s.span_id for r in made.resource_spans for c in r.scope_spans for s in c.spans}
        self._sent |= ids
        answer = await send(made.SerializeToString())
        self._answers[answer] += 1
        if answer in AWAY:
            await asyncio.sleep(1)
        if answer in {"200", "OK"}:
            self._acknowledged |= ids

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
            "disk": (2, self._fill_disk), "clock": (2 if self._victim.clock else 0, self._jump),
        }  # fmt: skip
        kinds = [name for name, (weight, _) in faults.items() if weight]
        cards = [name for name, (weight, _) in faults.items() for _ in range(weight)]
        for name in itertools.chain(self._draw.sample(kinds, len(kinds)), shuffled(self._draw, cards)):
            if time.monotonic() >= self._ends:
                return
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
        process, since = self._victim.main(), time.monotonic()
        process.suspend()
        await asyncio.sleep(self._draw.uniform(2, 8))
        process.resume()
        self._pauses.append((since, time.monotonic()))

    async def _jump(self) -> None:
        """The clock on the wall jumps, by minutes or by a year, forwards or back; the steady one does not."""
        assert self._victim.clock is not None
        furthest = self._draw.choice((600, _DAY, 400 * _DAY))
        self._victim.clock.set(self._draw.randint(-furthest, furthest))

    async def _break_backend(self) -> None:
        """One of them, or now and then all, in one way."""
        broken = [self._draw.choice(self._backends)] if self._draw.random() < 0.8 else self._backends
        mode = next(self._modes)
        self._faults[f"backend {mode}"] += 1
        for backend in broken:
            backend.mode = mode
        await asyncio.sleep(self._draw.uniform(1, 8))
        for backend in broken:
            backend.mode = "ok"

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
        since = time.monotonic()
        process.rlimit(psutil.RLIMIT_FSIZE, (largest, hard))
        await asyncio.sleep(self._draw.uniform(1, 5))
        process.rlimit(psutil.RLIMIT_FSIZE, (hard, hard))
        self._disk_full.append((since, time.monotonic()))

    async def _drained(self) -> Figures | None:
        """Wait until nothing is held or spooled any more → the figures then."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_WITHIN):
                quiet = 0
                while quiet < 5:
                    await self._victim.revive()
                    figures = await self._victim.figures()
                    left = figures and sum(map(figures.total, LEFT))
                    quiet = 0 if figures is None or left else quiet + 1
                    await asyncio.sleep(0.5)
                return figures
        return None

    def _result(self, seconds: float, figures: Figures | None) -> Result:
        backends, victim = self._backends, self._victim
        asked_again, paid_twice = judged_again(
            self._judge.asks,
            victim.judged,
            {about: at for b in backends for about, at in b.scored_at.items()},
        )
        return Result(
            seconds=seconds,
            clock_jumps=victim.clock is not None,
            sent=len(self._sent),
            acknowledged=len(self._acknowledged),
            accounts={backend.name: self._account(backend, figures) for backend in backends},
            scored=len({span for backend in backends for span in backend.scores}),
            scored_twice=sum(len(found) > 1 for backend in backends for found in backend.scores.values()),
            late_scores=sum(sum(backend.late.values()) for backend in backends),
            judged_again=len(asked_again),
            judged_again_unstored=len(paid_twice),
            kills=victim.kills,
            ends=victim.ends,
            died=victim.died,
            most_rss_mib=round(victim.most_rss / 2**20, 1),
            unaccounted=victim.unaccounted,
            drained=figures is not None,
            answers=dict(sorted(self._answers.items())),
            faults=dict(sorted(self._faults.items())),
        )

    def _account(self, backend: Backend, figures: Figures | None) -> Account:
        destination = f'destination="http://127.0.0.1:{backend.port}"'
        counted = (
            None
            if figures is None
            else figures.total("rejected_spans_total", destination, 'reason="partial_success"')
        )
        return account(
            backend,
            sent=self._sent,
            acknowledged=self._acknowledged,
            ended_at=self._victim.ended_at,
            pauses=self._pauses,
            others=[other for other in self._backends if other is not backend],
            disk_full=self._disk_full,
            counted=counted,
        )


def shuffled(draw: random.Random, cards: Sequence[str]) -> Iterator[str]:
    """Cards off a deck that is shuffled whenever it is empty, so that each comes up."""
    while True:
        yield from draw.sample(cards, len(cards))


async def _call(call: Any, body: bytes) -> str:
    try:
        await call(body, timeout=15)
    except grpc.aio.AioRpcError as error:
        return str(error.code().name)
    return "OK"
