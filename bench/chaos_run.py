"""One chaos run: senders, faults by a seeded schedule, and the reckoning at the end."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import grpc
import psutil
from chaos_around import Backend, Judge, Victim
from chaos_traffic import PROTOBUF, bodies, malformed

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SENDERS, REQUESTS_AT_ONCE = 6, 4
AWAY = frozenset({"ClientConnectorError", "UNAVAILABLE"})
DRAIN_WITHIN = 240.0


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
        return (
            self.drained
            and self.scored > 0
            and not wrong
            and self.twice - self.twice_unanswered <= self.window
        )


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
