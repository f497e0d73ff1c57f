"""How long ``ragtrace evaluate`` takes, beside the least that it could take.

    python bench/evaluate.py [ROWS [CALLED_ROWS]]

* embedded: ROWS rows (5,000) judged by the embedded judge in worker processes.
* openai: CALLED_ROWS rows (1,000), three requests and one for embeddings each, against a loopback server
  that answers after 100 ms, 32 at a time; the bound is requests x 0.1 s / 32. The time to start
  (imports, models) is measured by a run of one row and told apart.

Memory is the peak resident size of all its processes, at a tenth of the rows and at all of them.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
LATENCY, CONCURRENCY = 0.1, 32
WORDS = [
    "refund",
    "policy",
    "battery",
    "invoice",
    "warranty",
    "index",
    "parcel",
    "customer",
    "shelf",
    "order",
]
WORDS += [
    "payment",
    "city",
    "train",
    "museum",
    "harbour",
    "engine",
    "library",
    "garden",
    "teacher",
    "festival",
]


def row(number: int, draw: random.Random) -> dict[str, Any]:
    fact = f"The {' '.join(draw.sample(WORDS, 4))} number {number} takes {draw.randint(2, 40)} days."
    noise = [" ".join(draw.choices(WORDS, k=90)) + "." for _ in range(4)]
    other = f"It covers {' '.join(draw.sample(WORDS, 5))} in {draw.randint(1950, 2020)}."
    return {
        "question": f"How long does number {number} take?",
        "contexts": [f"{fact} {noise[0]}", *noise[1:]],
        "answer": f"{fact} {other}",
        "reference": fact,
        "question_type": draw.choice(["factual", "summary"]),
    }


@dataclass(frozen=True)
class Taken:
    seconds: float
    peak_mb: float
    n: int
    calls: int


def evaluate(rows: int, *arguments: str) -> Taken:
    draw = random.Random(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "set.jsonl")
        path.write_text("".join(json.dumps(row(n, draw)) + "\n" for n in range(rows)))
        command = [sys.executable, "-m", "ragtrace_collector", "evaluate", str(path), "--json", *arguments]
        command += [
            "--journal",
            str(Path(folder, "journal.sqlite")),
            "--rows",
            str(Path(folder, "out.jsonl")),
        ]
        began = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "OPENAI_API_KEY": "k"}, text=True
        )
        peak = Peak(process.pid)
        out, _ = process.communicate()
        seconds = time.perf_counter() - began
        summary = json.loads(out)
        return Taken(seconds, peak.stop(), summary["n"], summary["judge"]["calls"])


class Peak:
    """The largest resident size of a process and its children, looked at four times a second."""

    def __init__(self, pid: int) -> None:
        self._pid, self._most, self._over = pid, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.25):
            try:
                top = psutil.Process(self._pid)
                sizes = [one.memory_info().rss for one in (top, *top.children(recursive=True))]
            except psutil.NoSuchProcess:
                continue
            self._most = max(self._most, sum(sizes) / 1e6)

    def stop(self) -> float:
        self._over.set()
        self._thread.join()
        return self._most


def serve(pipe: Connection) -> None:
    """An honest model behind an OpenAI-compatible endpoint that takes its time."""
    from aiohttp import web
    from servers.openai_chat import Seen, _completion, good_reply

    async def answer(request: web.Request) -> web.Response:
        began = time.monotonic()
        made = _completion(good_reply(Seen(await request.json(), {})))
        await asyncio.sleep(max(0.0, LATENCY - (time.monotonic() - began)))
        return web.json_response(made)

    async def embed(request: web.Request) -> web.Response:
        texts = (await request.json())["input"]
        await asyncio.sleep(LATENCY)
        data = [{"object": "embedding", "index": n, "embedding": [1.0, 0.5]} for n in range(len(texts))]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return web.json_response({"object": "list", "model": "e", "data": data, "usage": usage})

    async def run() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        app.router.add_post("/v1/embeddings", embed)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        pipe.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    called = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    few, all_rows = evaluate(rows // 10), evaluate(rows)
    print(f"embedded: {all_rows.n} rows in {all_rows.seconds:.1f} s on {os.cpu_count()} cores", end="; ")
    print(f"peak {few.peak_mb:.0f} MB at {few.n} rows, {all_rows.peak_mb:.0f} MB at {all_rows.n}", flush=True)

    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ours.recv()}/v1"
    judge = ("--judge", "openai", "--model", "m", "--base-url", url, "--concurrency", str(CONCURRENCY))
    judge += ("--embedding-model", "e")
    start, many = evaluate(1, *judge), evaluate(called, *judge)
    server.terminate()
    bound = (many.calls + many.n) * LATENCY / CONCURRENCY
    net = many.seconds - start.seconds
    print(f"openai: {many.n} rows, {many.calls} requests in {many.seconds:.1f} s,", end=" ")
    print(f"{start.seconds:.1f} s of it start; {net:.1f} s without it, bound {bound:.1f} s,", end=" ")
    print(f"ratio {net / bound:.2f}; peak {many.peak_mb:.0f} MB")


if __name__ == "__main__":
    main()
