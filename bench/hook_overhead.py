"""What tracing one RAG request costs in CPU: our hooks beside the bare SDK and the usual peers.

One request is an entry, a retriever that gives five documents of 1 KB, and a model call. Every peer runs in
a process of its own and encodes what it recorded as OTLP into a sink that keeps nothing but the last spans; a
run counts only if all spans, all document texts, the question and the answer are in them. CPU time of the
whole process is taken, exporter threads included; the peers take turns, the median of five runs is shown.

The peers are installed into a throw-away environment under ``.cache``; all of them, ours too, run there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".cache" / "bench-venv"
PACKAGES = (
    "opentelemetry-sdk",
    "opentelemetry-exporter-otlp",
    "openinference-instrumentation",
    "traceloop-sdk",
    "langfuse",
)
PEERS = ("otel", "ragtrace", "openinference", "traceloop", "langfuse")
QUESTION = "How long does a refund take?"
ANSWER = "A refund takes three to five business days [1]. " * 6
WARM_UP, REQUESTS, RUNS = 100, 2_000, 5
LIMITS = {"otel": 1.5, "openinference": 0.5, "traceloop": 0.5, "langfuse": 0.5}
"""Ours may cost at most this much of each peer."""

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True)
class Document:
    id: str
    page_content: str
    score: float
    metadata: dict[str, Any] = field(default_factory=dict)


def documents() -> list[Document]:
    sentence = "A refund is paid out within three to five business days after the goods have come back. "
    return [
        Document(
            f"doc-{n}", (f"({n}) " + sentence * 12)[:1_000], 0.9 - n / 10, {"source": f"{n}.md", "page": n}
        )
        for n in range(5)
    ]


class Sink:
    """An exporter that encodes and forgets, but for the last spans and the number of all."""

    def __init__(self) -> None:
        self.count = 0
        self.last: list[Any] = []

    def export(self, spans: Sequence[Any]) -> Any:
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
        from opentelemetry.sdk.trace.export import SpanExportResult

        self.count += len(spans)
        self.last = list(spans)[-9:]
        encode_spans(spans).SerializeToString()
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        return None

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True

    def holds_everything(self, given: list[Document]) -> bool:
        written = " ".join(str(dict(span.attributes or {})) for span in self.last)
        texts = [
            QUESTION,
            ANSWER[:40],
            *(one.page_content[:200] for one in given),
            *(one.id for one in given),
        ]
        return all(text in written for text in texts)


def provider(sink: Sink) -> Any:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    ours = TracerProvider()
    ours.add_span_processor(BatchSpanProcessor(sink, max_queue_size=1 << 20))  # type: ignore[arg-type]
    trace.set_tracer_provider(ours)
    return ours


def with_otel(sink: Sink) -> tuple[Decorator, Decorator, Decorator]:
    tracer = provider(sink).get_tracer("bench")

    def plain(value: Any) -> str:
        if isinstance(value, str):
            return value
        rows = [
            {"id": d.id, "content": d.page_content, "score": d.score, "metadata": d.metadata} for d in value
        ]
        return json.dumps(rows, ensure_ascii=False)

    def hook(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            with tracer.start_as_current_span(function.__name__) as span:
                span.set_attribute("input.value", args[0])
                value = function(*args)
                span.set_attribute("output.value", plain(value))
                return value

        return call

    return hook, hook, hook


def with_ragtrace(sink: Sink) -> tuple[Decorator, Decorator, Decorator]:
    provider(sink)
    import ragtrace

    return ragtrace.trace, ragtrace.retriever, ragtrace.generator


def with_openinference(sink: Sink) -> tuple[Decorator, Decorator, Decorator]:
    from openinference.instrumentation import OITracer, TraceConfig

    tracer = OITracer(provider(sink).get_tracer("bench"), config=TraceConfig())

    def retriever(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(query: str) -> Any:
            with tracer.start_as_current_span("retrieve", openinference_span_kind="retriever") as span:
                span.set_attribute("input.value", query)
                found = function(query)
                for index, one in enumerate(found):
                    prefix = f"retrieval.documents.{index}.document."
                    span.set_attribute(prefix + "id", one.id)
                    span.set_attribute(prefix + "content", one.page_content)
                    span.set_attribute(prefix + "score", one.score)
                    span.set_attribute(prefix + "metadata", json.dumps(one.metadata))
                return found

        return call

    return tracer.chain, retriever, tracer.chain


def with_traceloop(sink: Sink) -> tuple[Decorator, Decorator, Decorator]:
    from traceloop.sdk import Traceloop
    from traceloop.sdk.decorators import task, workflow

    Traceloop.init("bench", exporter=sink, disable_batch=False, telemetry_enabled=False, instruments=set())
    return workflow(name="ask"), task(name="retrieve"), task(name="generate")


def with_langfuse(sink: Sink) -> tuple[Decorator, Decorator, Decorator]:
    from langfuse import Langfuse, observe

    Langfuse(public_key="pk", secret_key="sk", host="http://127.0.0.1:9", span_exporter=sink)
    return observe(name="ask"), observe(as_type="retriever"), observe(as_type="generation")


SETUPS = {
    "otel": with_otel,
    "ragtrace": with_ragtrace,
    "openinference": with_openinference,
    "traceloop": with_traceloop,
    "langfuse": with_langfuse,
}


def measure(peer: str) -> dict[str, Any]:
    """Run the app under one peer → CPU µs a request, and whether everything was written."""
    sink = Sink()
    entry, retriever, generator = SETUPS[peer](sink)
    given = documents()

    @retriever
    def retrieve(query: str) -> list[Document]:
        return given

    @generator
    def generate(question: str, context: list[Document]) -> str:
        return ANSWER

    @entry
    def ask(question: str) -> str:
        return str(generate(question, retrieve(question)))

    for _ in range(WARM_UP):
        ask(QUESTION)
    flush()
    before = time.process_time()
    for _ in range(REQUESTS):
        ask(QUESTION)
    flush()
    cpu = time.process_time() - before
    complete = sink.count >= 3 * (WARM_UP + REQUESTS) and sink.holds_everything(given)
    return {"peer": peer, "us": cpu / REQUESTS * 1e6, "complete": complete}


def flush() -> None:
    from opentelemetry import trace

    trace.get_tracer_provider().force_flush()  # type: ignore[attr-defined]


def environment() -> Path:
    """The peers' environment, made when it is not there."""
    python = VENV / "bin" / "python"
    if not python.exists():
        uv = Path(sys.executable).parent / "uv"
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, VENV], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *PACKAGES], check=True)
    return python


def run(python: Path, peer: str) -> dict[str, Any]:
    quiet = {"OTEL_TRACES_EXPORTER": "none", "TRACELOOP_TELEMETRY": "false", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [python, __file__, "--worker", peer],
        env={**os.environ, **quiet},
        capture_output=True,
        text=True,
        check=True,
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def report(costs: dict[str, float]) -> bool:
    """Print the table; true when ours keeps every limit."""
    ours = costs["ragtrace"]
    kept = True
    print(f"{'peer':<16}{'CPU µs/request':>16}{'ours / peer':>14}{'at most':>10}")
    for peer, cost in costs.items():
        limit = LIMITS.get(peer)
        kept = kept and (limit is None or ours / cost <= limit)
        print(f"{peer:<16}{cost:>16.0f}{ours / cost:>14.2f}{'' if limit is None else limit:>10}")
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worker", choices=PEERS, help=argparse.SUPPRESS)
    worker = parser.parse_args().worker
    if worker:
        print(json.dumps(measure(worker)))
        return 0
    python = environment()
    results = [run(python, peer) for _ in range(RUNS) for peer in PEERS]
    for result in results:
        if not result["complete"]:
            print(f"{result['peer']} did not write everything")
    kept = report({p: statistics.median(r["us"] for r in results if r["peer"] == p) for p in PEERS})
    return 0 if kept and all(result["complete"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
