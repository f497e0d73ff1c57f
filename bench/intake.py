"""Spans per CPU-second of the collector, intake to export, beside a server that does not even read them.

    python bench/intake.py [SECONDS]

A closed loop of eight connections posts requests of 512 spans of about 2 KB, uncompressed, over HTTP on
loopback; a sink takes what comes out. What is measured is the CPU time of the collector's processes, not the
wall clock: generator and sink share the machine with it. The first row is uvicorn with an app that answers
200 and throws the body away; ratios are to that row of the same run.

* plain: no span is RAG.
* mixed: one trace in ten is RAG, 1 % of those are judged by the embedded judge.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import psutil
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SPANS, TRACE, CONNECTIONS, VARIANTS = 512, 4, 8, 16
MARK = b"\xf1\xe2\xd3\xc4\xb5\xa6\x97\x88"
"""The first half of every trace id in a template; replaced in each request, so that no trace comes twice. The
second half differs between the variants of a template, so that of many traces the share is drawn."""
WORDS = "refund policy battery invoice document answer question shipping warranty index model".split()  # noqa: SIM905


def text(draw: random.Random, length: int) -> str:
    words: list[str] = []
    while sum(map(len, words)) + len(words) < length:
        words.append(draw.choice(WORDS))
    return " ".join(words)[:length]


def rag_attributes(draw: random.Random) -> list[dict[str, Any]]:
    """Attributes of entry, retriever, prompt and model call of one interaction."""
    question, answer = text(draw, 120), text(draw, 500)
    documents = {
        f"retrieval.documents.{rank}.document.{key}": value
        for rank in range(3)
        for key, value in (("id", f"d{rank}"), ("score", 0.5), ("content", text(draw, 560)))
    }
    prompt = text(draw, 1_300)
    return [
        {
            "openinference.span.kind": "CHAIN",
            "input.value": question,
            "output.value": answer,
            "context": text(draw, 900),
        },
        {"openinference.span.kind": "RETRIEVER", "input.value": question, **documents},
        {"openinference.span.kind": "CHAIN", "input.value": question, "output.value": prompt},
        {
            "openinference.span.kind": "LLM",
            "llm.model_name": "m",
            "input.value": prompt,
            "output.value": answer,
        },
    ]


def plain_attributes(draw: random.Random) -> list[dict[str, Any]]:
    """Attributes of four spans of a shop."""
    names = (
        "http.route",
        "http.method",
        "db.system",
        "db.statement",
        "net.peer.name",
        "app.user",
        "app.cart",
        "app.note",
    )
    return [{name: text(draw, 230) for name in names} for _ in range(TRACE)]


def template(rag_share: float, seed: int, spans: int = SPANS) -> bytes:
    draw = random.Random(seed)
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "bench"
    scope = resource.scope_spans.add()
    scope.scope.name = "bench"
    now = time.time_ns()
    for _ in range(spans // TRACE):
        trace_id, root = MARK + draw.randbytes(8), draw.randbytes(8)
        attributes = rag_attributes(draw) if draw.random() < rag_share else plain_attributes(draw)
        for number, fields in enumerate(attributes):
            span = scope.spans.add(trace_id=trace_id, name=f"step {number}", kind=1)
            span.span_id = root if number == 0 else draw.randbytes(8)
            span.parent_span_id = b"" if number == 0 else root
            span.start_time_unix_nano, span.end_time_unix_nano = now, now + 5_000_000
            for key, value in fields.items():
                found = span.attributes.add(key=key).value
                if isinstance(value, str):
                    found.string_value = value
                else:
                    found.double_value = value
    return request.SerializeToString()


def with_other_ids(body: bytes, draw: random.Random) -> bytes:
    """A template with other second halves of its trace ids, by which traces are drawn."""
    others: dict[bytes, bytes] = {}

    def other(found: re.Match[bytes]) -> bytes:
        return MARK + others.setdefault(found[1], draw.randbytes(8))

    return re.sub(re.escape(MARK) + b"(.{8})", other, body, flags=re.DOTALL)


@dataclass
class Result:
    """What one run gave."""

    spans: int
    errors: int
    cpu: float
    rss: float
    p99: float

    @property
    def per_cpu_second(self) -> float:
        return self.spans / self.cpu


def tree(pid: int) -> list[psutil.Process]:
    main = psutil.Process(pid)
    return [main, *main.children(recursive=True)]


def cpu_seconds(pid: int) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in tree(pid))


async def load(url: str, pid: int, templates: list[bytes], seconds: float, warm: float = 1.0) -> Result:
    numbers, latencies = itertools.count(time.time_ns()), list[float]()  # no trace comes twice
    draw = random.Random(1)
    templates = [with_other_ids(body, draw) for body in templates for _ in range(VARIANTS)]
    accepted = errors = 0
    async with aiohttp.ClientSession(headers={"content-type": "application/x-protobuf"}) as session:

        async def post() -> None:
            nonlocal accepted, errors
            number = next(numbers)
            body = templates[number % len(templates)].replace(MARK, number.to_bytes(8, "big"))
            started = time.perf_counter()
            async with session.post(url, data=body) as response:
                await response.read()
                accepted, errors = accepted + (response.status == 200), errors + (response.status != 200)
            latencies.append(time.perf_counter() - started)

        async def connection(until: float) -> None:
            while time.perf_counter() < until:
                await post()

        async def run(duration: float) -> None:
            until = time.perf_counter() + duration
            await asyncio.gather(*(connection(until) for _ in range(CONNECTIONS)))

        await run(warm)
        accepted = errors = 0
        latencies.clear()
        before = cpu_seconds(pid)
        await run(seconds)
        cpu = cpu_seconds(pid) - before
    rss = psutil.Process(pid).memory_info().rss / 2**20
    latencies.sort()
    return Result(accepted * SPANS, errors, cpu, rss, latencies[int(len(latencies) * 0.99)])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def server(*command: str, port: int, environment: Mapping[str, str] | None = None) -> Iterator[int]:
    """Run ``command`` until the block ends → its process id, once it listens on ``port``."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | dict(environment or {}))
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port), 0.1).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise SystemExit(f"{command} does not listen")
        yield process.pid
    finally:
        process.terminate()
        process.wait(20)


# --- the other processes ----------------------------------------------------------------------------------


async def discard(scope: Any, receive: Any, send: Any) -> None:
    """An ASGI app that reads a body and forgets it: a backend, and the bare server of the first row."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def serve_discard(port: int) -> None:
    import uvicorn

    uvicorn.run(discard, host="127.0.0.1", port=port, log_level="critical", lifespan="off", ws="none")


def main(seconds: float) -> None:
    plain = [template(0.0, seed) for seed in range(4)]
    mixed = [template(0.1, seed) for seed in range(4)]
    size = sum(map(len, plain + mixed)) / 8 / SPANS
    print(f"{CONNECTIONS} connections, {SPANS} spans of {size:,.0f} bytes a request, {seconds:g} s each")
    print(f"{'':24}{'spans/CPU-s':>12}{'ratio':>8}{'errors':>8}{'p99 ms':>8}{'RSS MiB':>9}")
    sink = free_port()
    with server(sys.executable, __file__, "discard", str(sink), port=sink):
        port = free_port()
        with server(sys.executable, __file__, "discard", str(port), port=port) as pid:
            bare = asyncio.run(load(f"http://127.0.0.1:{port}/v1/traces", pid, plain, seconds))
        report("bare uvicorn", bare, bare)
        for name, templates in (("plain", plain), ("mixed", mixed)):
            for spool in (False, True):
                with tempfile.TemporaryDirectory() as folder:
                    result = measure(templates, sink, folder if spool else "off", seconds)
                report(f"{name}, spool {'on' if spool else 'off'}", result, bare)


def measure(templates: list[bytes], sink: int, spool: str, seconds: float) -> Result:
    port = free_port()
    flags = ["--otlp-http", f"127.0.0.1:{port}", "--otlp-grpc", "off", "--admin", "off", "--sample", "0.01"]
    flags += ["--spool", spool, "--export", f"http://127.0.0.1:{sink}"]
    with server(sys.executable, "-m", "ragtrace_collector", "collector", *flags, port=port) as pid:
        return asyncio.run(load(f"http://127.0.0.1:{port}/v1/traces", pid, templates, seconds))


def report(name: str, result: Result, bare: Result) -> None:
    ratio = result.per_cpu_second / bare.per_cpu_second
    speed = f"{result.per_cpu_second:12,.0f}{ratio:8.2f}"
    print(f"{name:24}{speed}{result.errors:8}{result.p99 * 1e3:8.0f}{result.rss:9.0f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["discard"]:
        serve_discard(int(sys.argv[2]))
    else:
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 8.0)
