"""Break everything around a collector, again and again, and count what became of every span.

    python bench/chaos.py [--seconds 60] [--seed 1] [--destinations 2] [--json]

Senders post plain, RAG, fat and malformed requests over HTTP and gRPC, each span once, and note what was
acknowledged. Meanwhile, by a seeded schedule: the collector is killed at any moment (with garbage behind its
journal), ended in order, stopped for seconds, and its scoring worker is killed; one of two backends, or both,
answers 503, 429, 401 and 500, resets, hangs, is slow, rejects some of the spans, or takes them and loses its
answer; the judge answers 429, 500 and garbage, or hangs; the disk is full; the clock on the wall jumps (where
libfaketime is installed: the run says whether it was). At the end all is mended and drained.

Exit code 0 means:

- every acknowledged span came to every destination, and none that nobody sent;
- what a destination rejected was counted by its reason, and not sent again;
- no end of the process cost more copies than its contract says: 4 requests of 512 spans; where there are
  several destinations, besides what the slower one had not answered for yet;
- nothing else was sent twice but what a destination took without its answer coming through;
- interactions were scored, none has two different scores, and the judge was not asked again about one whose
  verdict was on disk (read from the disk at each end of the process) or had been sent. The time between the
  judge's reply and the disk is a window: ``judged_again_unstored`` says how often it was hit;
- every look at the metrics page found nothing unaccounted, and the collector never died of itself.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import shutil
import signal
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from chaos_around import Judge, Victim, WallClock
from chaos_backend import Backend
from chaos_reckoning import MAX_SPANS, REQUESTS_AT_ONCE, Result
from chaos_run import Run
from servers.openai_chat import FakeOpenAI
from servers.ports import free_ports

SPOOL_BYTES = 24 * 2**20


async def chaos(seconds: float, seed: int, destinations: int, folder: Path) -> Result:
    """Run in ``folder``, which takes the spool and the collector's log."""
    http, grpc, admin = free_ports(3)
    victim = Victim(folder / "config.yaml", folder, http, grpc, admin, WallClock.found(folder))
    backends = [
        Backend(f"destination {number}", lambda: victim.life, random.Random(f"{seed}/backend {number}"))
        for number in range(1, destinations + 1)
    ]
    judge = Judge(lambda: victim.life)
    with FakeOpenAI(judge).running() as model:
        async with contextlib.AsyncExitStack() as stack:
            ports = [await stack.enter_async_context(backend.serving()) for backend in backends]
            victim.config.write_text(yaml.safe_dump(settings(victim, ports, model.url)))
            await victim.start()
            try:
                return await Run(victim, backends, judge, seed).run(seconds)
            finally:
                assert victim.process is not None
                with contextlib.suppress(ProcessLookupError):
                    victim.process.send_signal(signal.SIGCONT)
                    victim.process.terminate()
                await victim.process.wait()


def settings(victim: Victim, ports: list[int], model: str) -> dict[str, Any]:
    """Settings under which everything happens within seconds."""
    destination = {"timeout": 3, "requests_at_once": REQUESTS_AT_ONCE, "max_spans": MAX_SPANS}
    return {
        "otlp": {"http": f"127.0.0.1:{victim.http}", "grpc": f"127.0.0.1:{victim.grpc}"},
        "admin": f"127.0.0.1:{victim.admin}",
        "export": [{"url": f"http://127.0.0.1:{port}", **destination} for port in ports],
        "spool": {"dir": str(victim.folder / "spool"), "max_bytes": SPOOL_BYTES},
        "max_bytes": 16 * 2**20,
        "judge": {"use": "openai", "base_url": model, "model": "m", "api_key": "k", "timeout": 3},
        "embedder": {"use": "off"},
        "sampling": {"share": 1.0},
        "scoring": {"deadline": 5.0, "late": 6.0},
        "assembly": {"quiet": 0.5, "idle": 15.0},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--destinations", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", type=Path, help="Folder for spool and log, kept where the run fails.")
    given = parser.parse_args()
    folder = given.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    result = asyncio.run(chaos(given.seconds, given.seed, given.destinations, folder))
    shown = asdict(result) | {"holds": result.holds}
    print(json.dumps(shown) if given.json else "\n".join(f"{key:22}{value}" for key, value in shown.items()))
    if result.holds or given.keep is None:
        shutil.rmtree(folder)
    return 0 if result.holds else 1


if __name__ == "__main__":
    sys.exit(main())
