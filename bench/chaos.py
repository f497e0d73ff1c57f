"""Break everything around a collector, again and again, and count what became of every span.

    python bench/chaos.py [--seconds 60] [--seed 1] [--json]

Senders post plain, RAG, fat and malformed requests over HTTP and gRPC, each span once, and note what was
acknowledged. Meanwhile, by a seeded schedule: the collector is killed at any moment (with garbage behind its
journal), ended in order, stopped for seconds (a clock jump, as it sees it), and its scoring worker is killed;
the backend answers 503, 429, 401 and 500, resets, hangs, is slow, or takes spans and loses its answer; the
judge answers 429, 500 and garbage, or hangs; the disk is full. At the end all is mended and drained.

Exit code 0 means: every acknowledged span was delivered, none came up that nobody sent, interactions were
scored and none has two different scores, spans that came twice are within the unconfirmed window, and the
collector never died of itself.
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

import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from chaos_around import Backend, Judge, Victim, serving
from chaos_run import REQUESTS_AT_ONCE, Result, Run
from servers.openai_chat import FakeOpenAI
from servers.ports import free_ports

SPOOL_BYTES = 24 * 2**20


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
