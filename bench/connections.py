"""Crowds and attackers at the collector's doors: is the rest served, in how much memory, and who is refused?

    python bench/connections.py [--seconds 6] [--json]

A real ``ragtrace collector`` (spool off, sink on loopback) serves four healthy clients that post 20 spans of
2 KB now and then. Beside them, one after the other: nobody; 1,000 idle and 200 busy connections; 400 senders
whose heads, and 400 whose bodies, come a byte at a time; 300 gRPC connections that say nothing; gzip bodies
that unpack to 10 GiB, over HTTP and gRPC, eight at once; requests of 32 million empty resources. Shown are
the healthy clients' p50, p99 and failures, the main process's largest RSS and CPU seconds, and how all
requests were answered. Crowds run in processes of their own (bench/crowds.py).

Exit code 0 means: no healthy request failed, and the RSS stayed under the bound.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import yaml
from aiohttp import web
from crowds import CROWDS, PROTOBUF, Place, ordinary

HEALTHY, PAUSE = 4, 0.02
MORE = {"400": 34.0}
"""Seconds longer, by how a crowd's name begins: those are cut off after thirty."""
MIB = 2**20
MOST_RSS = (100 + 512 + 2 * 256) * MIB
"""An empty collector, the spans that it may hold, and the requests that each protocol may have in work."""


@dataclass
class Phase:
    """What happened while one crowd was there."""

    name: str
    served: int = 0
    failed: int = 0
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    rss_mib: int = 0
    cpu_seconds: float = 0.0
    seconds: float = 0.0
    answers: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Collector:
    """A running collector, and where it listens."""

    process: psutil.Process
    place: Place
    admin: int


# --- the collector ----------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def sink() -> AsyncIterator[int]:
    """A backend that takes everything → its port."""

    async def take(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(content_type="application/x-protobuf")

    app = web.Application(client_max_size=2**30)
    app.router.add_post("/v1/traces", take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield int(runner.addresses[0][1])
    await runner.cleanup()


@contextlib.asynccontextmanager
async def collector(backend: int) -> AsyncIterator[Collector]:
    """``ragtrace collector`` in a process of its own."""
    settings = {
        "otlp": {"http": "127.0.0.1:0", "grpc": "127.0.0.1:0"},
        "admin": "127.0.0.1:0",
        "spool": "off",
        "export": [f"http://127.0.0.1:{backend}"],
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "collector.yaml"
        file.write_text(yaml.safe_dump(settings))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ragtrace_collector", "collector", "--config", str(file)),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        said = ""
        while "admin" not in said:
            said += (await asyncio.wait_for(process.stdout.readline(), 120)).decode()
        ports = [int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", said) if int(port) != backend]
        yield Collector(psutil.Process(process.pid), Place(ports[0], ports[1]), ports[2])
        process.terminate()
        await process.wait()


async def answers(running: Collector) -> dict[str, int]:
    """The collector's own count of requests by transport and answer."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{running.admin}/metrics") as response,
    ):
        text = await response.text()
    found: dict[str, int] = {}
    for labels, value in re.findall(r"^ragtrace_collector_requests_total\{(.*)\} (\S+)$", text, re.MULTILINE):
        named = dict(re.findall(r'(\w+)="(\w*)"', labels))
        name = f"{named['transport']} {named['answer']}"
        found[name] = found.get(name, 0) + int(float(value))
    return found


# --- measuring --------------------------------------------------------------------------------------------


async def gather(name: str, place: Place) -> asyncio.subprocess.Process:
    """A crowd, all of it there."""
    crowd = await asyncio.create_subprocess_exec(
        *(sys.executable, str(Path(__file__).with_name("crowds.py")), name, str(place.http), str(place.grpc)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert crowd.stdout is not None
    assert (await asyncio.wait_for(crowd.stdout.readline(), 120)).strip() == b"here"
    return crowd


async def measure(name: str, running: Collector, seconds: float) -> Phase:
    """Healthy clients beside a crowd for so long."""
    phase, times = Phase(name), list[float]()
    before, cpu = await answers(running), cpu_seconds(running)
    crowd = await gather(name, running.place)
    until = (began := time.monotonic()) + seconds

    async def healthy() -> None:
        body = ordinary()
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(10)) as session:
            while time.monotonic() < until:
                start = time.perf_counter()
                try:
                    async with session.post(running.place.url, data=body, headers=PROTOBUF) as response:
                        await response.read()
                        phase.failed += response.status != 200
                except (aiohttp.ClientError, TimeoutError):
                    phase.failed += 1
                times.append(time.perf_counter() - start)
                await asyncio.sleep(PAUSE)

    async def watch() -> None:
        while time.monotonic() < until:
            phase.rss_mib = max(phase.rss_mib, running.process.memory_info().rss // MIB)
            await asyncio.sleep(0.02)

    await asyncio.gather(watch(), *(healthy() for _ in range(HEALTHY)))
    phase.seconds = time.monotonic() - began
    phase.cpu_seconds = cpu_seconds(running) - cpu
    after = await answers(running)
    crowd.kill()
    await crowd.wait()
    phase.served = len(times) - phase.failed
    quantiles = statistics.quantiles(times, n=100)
    phase.p50_ms, phase.p99_ms = 1e3 * statistics.median(times), 1e3 * quantiles[98]
    phase.answers = {key: after[key] - before.get(key, 0) for key in after if after[key] > before.get(key, 0)}
    return phase


def cpu_seconds(running: Collector) -> float:
    """CPU that the main process took so far."""
    times = running.process.cpu_times()
    return float(times.user + times.system)


async def run(seconds: float) -> list[Phase]:
    """Every crowd in turn, before one and the same collector."""
    async with sink() as backend, collector(backend) as running:
        return [
            await measure(name, running, seconds + MORE.get(name.split()[0], 0.0))
            for name in (*CROWDS, "nobody")
        ]


def line(phase: Phase) -> str:
    """A phase in words."""
    told = ", ".join(f"{count:,} {name}" for name, count in sorted(phase.answers.items()))
    return (
        f"{phase.name:22} healthy p50 {phase.p50_ms:6.1f} ms  p99 {phase.p99_ms:7.1f} ms  "
        f"{phase.served:5,} served {phase.failed} failed   RSS {phase.rss_mib:4} MiB   "
        f"{phase.cpu_seconds:5.1f} CPU s in {phase.seconds:.0f} s   {told}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=6.0, help="for each crowd")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    phases: list[Any] = asyncio.run(run(options.seconds))
    for phase in phases:
        print(json.dumps(asdict(phase)) if options.json else line(phase))
    return any(phase.failed or phase.rss_mib * MIB > MOST_RSS for phase in phases)


if __name__ == "__main__":
    sys.exit(main())
