"""Intake beside other collectors, all on one core and in one run: rotel, and OpenTelemetry's own Collector.

    python bench/intake_peers.py [SECONDS]

The load is that of ``intake.py``; the generator and the sink have the other core. CPU time is that of the
measured server, from the first request until it has nothing left to do.

* rotel takes requests over HTTP and throws them away; beside it ours takes plain spans and forwards them.
* The Collector samples tails (ten seconds) and forwards over OTLP/HTTP; beside it ours forwards the same
  traffic and judges 1 % of its interactions.
* Judging every interaction, and 1 % of them, beside forwarding alone.

Peers that are not there are named and left out: rotel comes from PyPI, into ``.cache/rotel``; the Collector
from ``make otelcol`` (needs Go).
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import aiohttp
import yaml
from intake import MARK, TRACE, Result, cpu_seconds, free_port, load, server, template, tree

CACHE = Path(__file__).parents[1] / ".cache"
OTELCOL = CACHE / "otelcol" / "otelcol"
ROTEL = CACHE / "rotel"
CORE, OTHERS = "0", [1]
LONGEST_DRAIN = 40.0
RATES, IN_TIME, SETTLED = (20, 40, 60, 80, 100, 120, 140, 160), 0.95, 5.0
SCORED = 'outcomes_total{metric="faithfulness",status="scored"}'
DECIDED = 'interactions_total{rule="share",verb="judge"}'
TAIL_SECONDS = 10
WARM = 3.0
"""Seconds of load before what is measured: the embedded judge reads its model with the first interaction."""


@dataclass(frozen=True)
class Contender:
    """A server to measure: its command line, whose ``{port}`` is where it is to listen."""

    name: str
    command: tuple[str, ...]
    holds: float = 0.0
    """Seconds for which it keeps spans before it goes on with them."""


def rotel() -> Contender | None:
    found = sorted(ROTEL.glob("lib/python*/site-packages/rotel/rotel-agent"))
    if not found:
        subprocess.run([sys.executable, "-m", "venv", ROTEL], check=True)
        subprocess.run([ROTEL / "bin" / "pip", "install", "--quiet", "--pre", "rotel"], check=False)
        found = sorted(ROTEL.glob("lib/python*/site-packages/rotel/rotel-agent"))
    if not found:
        print("rotel cannot be installed here: left out")
        return None
    command = (
        f"{found[0]} start --otlp-http-endpoint 127.0.0.1:{{port}} --otlp-grpc-endpoint 127.0.0.1:{{other}}"
    )
    return Contender("rotel → nowhere", (*command.split(), "--exporter", "blackhole"))


def otelcol(folder: Path, sink: int) -> Contender | None:
    if not OTELCOL.exists():
        print("the OpenTelemetry Collector is not built (make otelcol): left out")
        return None
    config: dict[str, Any] = {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": "127.0.0.1:${env:PORT}"}}}},
        "processors": {
            "tail_sampling": {
                "decision_wait": f"{TAIL_SECONDS}s",
                "num_traces": 1_000_000,
                "policies": [{"name": "all", "type": "always_sample"}],
            },
            "batch": {},
        },
        "exporters": {"otlp_http": {"endpoint": f"http://127.0.0.1:{sink}", "compression": "none"}},
        "service": {
            "telemetry": {"metrics": {"level": "none"}, "logs": {"level": "error"}},
            "pipelines": {
                "traces": {
                    "receivers": ["otlp"],
                    "processors": ["tail_sampling", "batch"],
                    "exporters": ["otlp_http"],
                }
            },
        },
    }
    path = folder / "otelcol.yaml"
    path.write_text(yaml.safe_dump(config))
    return Contender("otelcol, tail sampling", (str(OTELCOL), "--config", str(path)), holds=TAIL_SECONDS + 4)


def ours(name: str, sink: int, *flags: str) -> Contender:
    fixed = ("--otlp-http", "127.0.0.1:{port}", "--otlp-grpc", "off", "--admin", "off", "--spool", "off")
    to = ("--export", f"http://127.0.0.1:{sink}")
    return Contender(
        name, (sys.executable, "-m", "ragtrace_collector", "collector", *fixed, *to, *flags), holds=4
    )


def measure(contender: Contender, templates: list[bytes], seconds: float, cores: str = CORE) -> Result:
    """Run ``contender`` on ``cores`` under load → what it did, its CPU until it was done with all of it."""
    port = free_port()
    command = ["taskset", "-c", cores, *(p.format(port=port, other=free_port()) for p in contender.command)]
    environment = {"PORT": str(port), "GOMAXPROCS": "1"}
    with server(*command, port=port, environment=environment) as pid:
        url = f"http://127.0.0.1:{port}/v1/traces"
        asyncio.run(load(url, pid, templates, WARM))
        drain(pid, contender.holds)
        before = cpu_seconds(pid)
        result = asyncio.run(load(url, pid, templates, seconds, warm=0.0))
        most = sum(process.memory_info().rss for process in tree(pid))
        drain(pid, contender.holds)
        return replace(result, cpu=cpu_seconds(pid) - before, rss=most / 2**20)


def drain(pid: int, holds: float) -> None:
    """Wait for what it holds, and then until its processes rest."""
    time.sleep(holds)
    until = time.monotonic() + LONGEST_DRAIN
    while time.monotonic() < until:
        before = cpu_seconds(pid)
        time.sleep(1.0)
        if cpu_seconds(pid) - before < 0.05:
            return


def compare(title: str, contenders: list[Contender | None], templates: list[bytes], seconds: float) -> None:
    """Print one table; ratios are to its first row."""
    print(f"\n{title}\n{'':34}{'spans/CPU-s':>12}{'ratio':>8}{'errors':>8}{'p99 ms':>8}{'RSS MiB':>9}")
    first = None
    for contender in filter(None, contenders):
        result = measure(contender, templates, seconds)
        first = first or result
        ratio = result.per_cpu_second / first.per_cpu_second
        speed = f"{result.per_cpu_second:12,.0f}{ratio:8.2f}"
        rest = f"{result.errors:8}{result.p99 * 1e3:8.0f}{result.rss:9.0f}"
        print(f"{contender.name:34}{speed}{rest}", flush=True)


def judged(sink: int, cores: str, seconds: float) -> str:
    """The highest rate at which the embedded judge, asked to score all interactions, scores 95 % in time."""
    port, admin = free_port(), free_port()
    flags = ("--otlp-http", f"127.0.0.1:{port}", "--otlp-grpc", "off", "--admin", f"127.0.0.1:{admin}")
    command = (sys.executable, "-m", "ragtrace_collector", "collector", *flags, "--spool", "off")
    held = 0
    with server("taskset", "-c", cores, *command, "--export", f"http://127.0.0.1:{sink}", port=port):
        url = f"http://127.0.0.1:{port}/v1/traces"
        asyncio.run(paced(url, 5, 2.0))
        for rate in RATES:
            time.sleep(SETTLED)
            before = figure(admin, SCORED), figure(admin, DECIDED)
            asyncio.run(paced(url, rate, seconds))
            time.sleep(SETTLED)
            scored, decided = figure(admin, SCORED) - before[0], figure(admin, DECIDED) - before[1]
            if scored < IN_TIME * decided:
                return f"{held} interactions/s (at {rate}: {scored / decided:.0%} in time)"
            held = rate
    return f"at least {held} interactions/s"


async def paced(url: str, rate: int, seconds: float) -> None:
    """Post ``rate`` interactions a second, one a request, each at its time whatever became of the others."""
    bodies = [template(1.0, seed, TRACE) for seed in range(64)]
    first, loop = time.time_ns(), asyncio.get_running_loop()
    begun = loop.time()
    async with aiohttp.ClientSession(headers={"content-type": "application/x-protobuf"}) as session:

        async def post(number: int) -> None:
            await asyncio.sleep(begun + number / rate - loop.time())
            body = bodies[number % len(bodies)].replace(MARK, (first + number).to_bytes(8, "big"))
            async with session.post(url, data=body) as response:
                await response.read()

        await asyncio.gather(*(post(number) for number in range(int(rate * seconds))))


def figure(admin: int, name: str) -> float:
    """One figure of the collector's metrics."""
    with urlopen(f"http://127.0.0.1:{admin}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return sum(
        float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"ragtrace_collector_{name}")
    )


def main(seconds: float) -> None:
    os.sched_setaffinity(0, OTHERS)
    plain, mixed, rag = ([template(share, seed) for seed in range(4)] for share in (0.0, 0.1, 1.0))
    sink = free_port()
    with (
        tempfile.TemporaryDirectory() as folder,
        server(sys.executable, str(Path(__file__).with_name("intake.py")), "discard", str(sink), port=sink),
    ):
        compare("plain spans", [rotel(), ours("ours, forwarded", sink)], plain, seconds)
        for title, templates in (("one trace in ten RAG", mixed), ("all traces RAG", rag)):
            row = ours("ours, 1 % judged", sink, "--sample", "0.01")
            compare(title, [otelcol(Path(folder), sink), row], templates, seconds)
        rows = [ours(f"ours, {share:.0%} judged", sink, "--sample", str(share)) for share in (0, 0.01)]
        compare("what judging costs, all traces RAG", rows, rag, seconds)
        for cores in ("0", "0,1"):
            print(
                f"judge everything, cores {cores}: {judged(sink, cores, seconds):.0f} interactions/s",
                flush=True,
            )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 8.0)
