"""Memory of the collector's main process against what it is allowed to hold.

    python bench/memory.py [MEBIBYTES …]

The backend is away and RAG traffic keeps coming until there is no room for more (spool off: it is refused;
spool on: requests wait on disk). What it holds then is in its own figures; its resident memory may be at most
1.3 times what it is allowed to hold, and what it has without any span.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time

import aiohttp
import psutil
from intake import MARK, free_port, server, template
from intake_peers import figure

FACTOR = 1.3
CONNECTIONS = 4
ENOUGH = 1.5
"""Times the limit that is offered."""


async def fill(url: str, pid: int, limit: int) -> int:
    """Offer more than ``limit`` bytes → the most resident memory seen, in bytes."""
    bodies, process = [template(1.0, seed, 64) for seed in range(8)], psutil.Process(pid)
    first, most, offered, number = time.time_ns(), 0, 0, 0
    async with aiohttp.ClientSession(headers={"content-type": "application/x-protobuf"}) as session:

        async def post(body: bytes) -> None:
            async with session.post(url, data=body) as response:
                await response.read()

        while offered < ENOUGH * limit:
            made = []
            for _ in range(CONNECTIONS):
                made.append(bodies[number % 8].replace(MARK, (first + number).to_bytes(8, "big")))
                number += 1
            await asyncio.gather(*map(post, made))
            offered += sum(map(len, made))
            most = max(most, process.memory_info().rss)
    return most


def measure(limit: int, spool: str) -> tuple[float, float, float]:
    """Base, held and most resident memory of a collector that may hold ``limit`` bytes. In MiB."""
    port, admin, away = free_port(), free_port(), free_port()
    config = tempfile.NamedTemporaryFile("w", suffix=".yaml")  # noqa: SIM115  # until the end of the process
    config.write(
        f"otlp: {{http: '127.0.0.1:{port}', grpc: 'off'}}\nadmin: 127.0.0.1:{admin}\nmax_bytes: {limit}\n"
        f"spool: {spool}\nsampling: {{share: 0.0}}\nexport: [{{url: 'http://127.0.0.1:{away}'}}]\n"
    )
    config.flush()
    command = (sys.executable, "-m", "ragtrace_collector", "collector", "--config", config.name)
    with server(*command, port=port) as pid:
        base = psutil.Process(pid).memory_info().rss
        most = asyncio.run(fill(f"http://127.0.0.1:{port}/v1/traces", pid, limit))
        held = figure(admin, "held_bytes")
    return base / 2**20, held / 2**20, most / 2**20


def main(limits: list[int]) -> bool:
    print(f"{'':28}{'base':>8}{'held':>8}{'most':>8}{'bound':>8}{'ratio':>8}   MiB")
    good = True
    for limit in limits:
        for spool in ("off", "on"):
            with tempfile.TemporaryDirectory() as folder:
                where = "'off'" if spool == "off" else f"{{dir: {folder}}}"
                base, held, most = measure(limit * 2**20, where)
            bound = FACTOR * limit + base
            good = good and most <= bound
            name = f"may hold {limit} MiB, spool {spool}"
            print(f"{name:28}{base:8.0f}{held:8.0f}{most:8.0f}{bound:8.0f}{most / bound:8.2f}", flush=True)
    return good


if __name__ == "__main__":
    sys.exit(0 if main([int(one) for one in sys.argv[1:]] or [128, 512]) else 1)
