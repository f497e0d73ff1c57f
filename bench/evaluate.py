"""How long ``ragtrace evaluate`` takes, beside the least that it could take.

    python bench/evaluate.py [ROWS [CALLED_ROWS]]

* embedded: ROWS rows (5,000) judged by the embedded judge in worker processes.
* openai: CALLED_ROWS rows (1,000) against a loopback server that answers after 100 ms, 32 at a time, with the
  built-in embedder and with the endpoint's, without a reference (two requests a row) and with one (three).
  The bound is requests x 0.1 s / 32. The time to start (imports, models) is that of 64 rows in as many
  processes, less what their requests take at best, and told apart; CPU is that of the rows beyond those.
  The questions that the server makes up are as long as a model's: what the built-in embedder takes for them
  counts by the word.

Judge and server share the cores here: CPU seconds of both are printed, and what they come to at best on
these cores. Where that is more than the bound, the cores are the bound.
Memory is the peak resident size of all processes of the run, at a tenth of the rows, at half and at all.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
LATENCY, CONCURRENCY = 0.1, 32
FEW = 64
"""Rows of the run that tells what it takes to start."""
WORDS = """refund policy battery invoice warranty index parcel customer shelf order payment city train museum
harbour engine library garden teacher festival""".split()  # noqa: SIM905


def row(number: int, draw: random.Random, reference: bool) -> dict[str, Any]:
    fact = f"The {' '.join(draw.sample(WORDS, 4))} number {number} takes {draw.randint(2, 40)} days."
    noise = [" ".join(draw.choices(WORDS, k=90)) + "." for _ in range(4)]
    other = f"It covers {' '.join(draw.sample(WORDS, 5))} in {draw.randint(1950, 2020)}."
    made = {
        "question": f"How long does number {number} take?",
        "contexts": [f"{fact} {noise[0]}", *noise[1:]],
        "answer": f"{fact} {other}",
        "question_type": draw.choice(["factual", "summary"]),
    }
    return made | {"reference": fact} if reference else made


@dataclass(frozen=True)
class Taken:
    seconds: float
    cpu: float
    peak_mb: float
    n: int
    calls: int


def evaluate(rows: int, *arguments: str, reference: bool = True) -> Taken:
    draw = random.Random(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "set.jsonl")
        path.write_text("".join(json.dumps(row(n, draw, reference)) + "\n" for n in range(rows)))
        command = [sys.executable, "-m", "ragtrace_collector", "evaluate", str(path), "--json", *arguments]
        command += [
            "--journal",
            str(Path(folder, "journal.sqlite")),
            "--rows",
            str(Path(folder, "out.jsonl")),
        ]
        began, before = time.perf_counter(), _children()
        environment = {**os.environ, "OPENAI_API_KEY": "k"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
        peak = Peak(process.pid)
        out, _ = process.communicate()
        seconds = time.perf_counter() - began
        summary = json.loads(out)
        return Taken(seconds, _children() - before, peak.stop(), summary["n"], summary["judge"]["calls"])


def _children() -> float:
    """CPU seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
    import uvloop
    from aiohttp import web
    from servers.openai_chat import Seen, completion, good_reply

    async def answer(request: web.Request) -> web.Response:
        began = time.monotonic()
        seen = Seen(await request.json(), {})
        made = completion(asked_back(seen.items[0][3]) if seen.call == "questions" else good_reply(seen))
        await asyncio.sleep(max(0.0, LATENCY - (time.monotonic() - began)))
        return web.Response(body=made, content_type="application/json")

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

    uvloop.run(run())


def asked_back(answer: str) -> dict[str, Any]:
    """The questions that a model finds ``answer`` to answer: one fact each, in a dozen words."""
    fact = " ".join(answer.split()[1:7])
    kinds = ("How many days does the {} take?", "How long does the {} take?", "When is the {} done?")
    return {"questions": [kind.format(fact) for kind in kinds], "evasive": "no"}


@contextmanager
def served() -> Iterator[tuple[str, psutil.Process]]:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}/v1", psutil.Process(server.pid)
    finally:
        server.terminate()
        server.join()


def embedded(rows: int) -> None:
    sizes = [evaluate(n) for n in (rows // 10, rows // 2, rows)]
    whole = sizes[-1]
    print(f"embedded: {whole.n} rows in {whole.seconds:.1f} s, {whole.cpu:.1f} CPU s", end="; peak ")
    print(", ".join(f"{one.peak_mb:.0f} MB at {one.n}" for one in sizes), flush=True)


def openai(rows: int, *, builtin: bool, reference: bool) -> None:
    with served() as (url, server):
        judge = ["--judge", "openai", "--model", "m", "--base-url", url, "--concurrency", str(CONCURRENCY)]
        judge += [] if builtin else ["--embedding-model", "e"]
        judge += ["--processes", str(os.cpu_count() or 1)]
        few = evaluate(FEW, *judge, reference=reference)
        before = sum(server.cpu_times()[:2])
        many = evaluate(rows, *judge, reference=reference)
        served_for = sum(server.cpu_times()[:2]) - before
    requests = [one.calls + (0 if builtin else one.n) for one in (few, many)]
    start = few.seconds - _bound(requests[0])
    bound, net = _bound(requests[1]), many.seconds - start
    cpu, server_cpu = (many.cpu - few.cpu) / (rows - FEW), served_for / rows
    least = rows * (cpu + server_cpu) / (os.cpu_count() or 1)
    embedder = "built-in" if builtin else "endpoint"
    print(f"openai, {embedder} embedder: {many.n} rows, {requests[1]} requests: {net:.1f} s", end=" ")
    print(f"(+ {start:.1f} s to start), bound {bound:.1f} s, ratio {net / bound:.2f};", end=" ")
    print(f"CPU a row {cpu * 1e3:.1f} ms, server {server_cpu * 1e3:.1f} ms,", end=" ")
    print(f"which takes {least:.1f} s on {os.cpu_count()} cores; peak {many.peak_mb:.0f} MB", flush=True)


def _bound(requests: int) -> float:
    """Seconds that so many requests take, the latency alone."""
    return requests * LATENCY / CONCURRENCY


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    called = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    print("load", os.getloadavg())
    if rows:
        embedded(rows)
    for reference in (False, True):
        for builtin in (True, False):
            openai(called, builtin=builtin, reference=reference)
    print("load", os.getloadavg())


if __name__ == "__main__":
    main()
