"""An endpoint that accepts and never answers, or is not there: does the app notice?

The same app (a request is some work and an answer through our hooks) runs against a healthy endpoint, a black
hole and a closed port, each in a process of its own, in turns. Shown are p50 and p99 of a request, the memory
that the process grew by, and what became of the spans; the p99s are compared as medians over the runs.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ENDPOINTS = ("healthy", "black hole", "absent")
REQUESTS, WARM_UP, RUNS = 3_000, 300, 7
WORK_SECONDS = 0.002
"""What the app itself does in a request: waits, as it would for its model, and works a little."""
TOLERANCE = 1.05
QUESTION, TEXT = "How long does a refund take?", "A refund is paid out within five days. " * 25


class Receiver(BaseHTTPRequestHandler):
    """Takes every OTLP request."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        return


@contextmanager
def endpoint(kind: str) -> Iterator[str]:
    """The URL of an endpoint of the given kind on loopback."""
    if kind == "healthy":
        server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        return
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if kind == "black hole":
            listener.listen(512)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def app(url: str) -> dict[str, Any]:
    """Answer the requests with spans going to ``url`` → latencies, memory and counts."""
    import psutil

    import ragtrace

    pipeline = ragtrace.configure(endpoint=url, service_name="bench")
    found = [{"id": f"doc-{n}", "text": TEXT, "score": 0.9} for n in range(5)]

    @ragtrace.retriever
    def retrieve(query: str) -> list[dict[str, Any]]:
        return found

    @ragtrace.trace
    def ask(question: str) -> str:
        documents = retrieve(question)
        time.sleep(WORK_SECONDS)
        return f"{len(documents)} documents say: five days."

    for _ in range(WARM_UP):
        ask(QUESTION)
    process = psutil.Process()
    memory = process.memory_info().rss
    seconds = []
    for _ in range(REQUESTS):
        start = time.perf_counter()
        ask(QUESTION)
        seconds.append(time.perf_counter() - start)
    grown = process.memory_info().rss - memory
    counts = pipeline.counts
    assert counts is not None
    percentiles = statistics.quantiles(seconds, n=100)
    return {
        "p50": percentiles[49] * 1e3,
        "p99": percentiles[98] * 1e3,
        "memory": grown / 2**20,
        "ended": counts.ended,
        "sent": counts.sent,
        "failed": counts.failed,
        "dropped": counts.dropped,
        "waiting": counts.waiting,
    }


def run(kind: str) -> dict[str, Any]:
    with endpoint(kind) as url:
        done = subprocess.run(
            [sys.executable, __file__, "--worker", url],
            env={**os.environ, "OTEL_EXPORTER_OTLP_TIMEOUT": "2"},
            capture_output=True,
            text=True,
            check=True,
        )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {"kind": kind, **result}


def report(results: list[dict[str, Any]]) -> bool:
    """Print the table; true when no p99 is over the tolerance and every span is accounted for."""

    def median(kind: str, name: str) -> float:
        return statistics.median(one[name] for one in results if one["kind"] == kind)

    healthy = median("healthy", "p99")
    print(
        f"{'endpoint':<12}{'p50 ms':>8}{'p99 ms':>8}{'/ healthy':>11}{'RSS + MB':>10}   spans of the last run"
    )
    for kind in ENDPOINTS:
        last = [one for one in results if one["kind"] == kind][-1]
        spans = ", ".join(
            f"{last[name]} {name}" for name in ("ended", "sent", "failed", "dropped", "waiting")
        )
        p99 = median(kind, "p99")
        print(
            f"{kind:<12}{median(kind, 'p50'):>8.2f}{p99:>8.2f}{p99 / healthy:>11.2f}"
            f"{max(one['memory'] for one in results if one['kind'] == kind):>10.1f}   {spans}"
        )
    counted = all(
        one["ended"] == one["sent"] + one["failed"] + one["dropped"] + one["waiting"] for one in results
    )
    return counted and all(median(kind, "p99") <= healthy * TOLERANCE for kind in ENDPOINTS)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worker", metavar="URL", help=argparse.SUPPRESS)
    url = parser.parse_args().worker
    if url:
        print(json.dumps(app(url)))
        return 0
    return 0 if report([run(kind) for _ in range(RUNS) for kind in ENDPOINTS]) else 1


if __name__ == "__main__":
    sys.exit(main())
