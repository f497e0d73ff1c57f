"""ragtrace behind and in front of the real OpenTelemetry Collector, with the configuration that the docs give.

`make otelcol` builds the Collector; RAGTRACE_OTELCOL names another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from collector.collector_rig import PROTOBUF, Backend, backend, running
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from servers.ports import free_ports

from ragtrace_collector.telemetry import Figure

ROOT = Path(__file__).parents[2]
BINARY = Path(os.environ.get("RAGTRACE_OTELCOL", ROOT / ".cache" / "otelcol" / "otelcol"))
PAGE = ROOT / "docs" / "with-opentelemetry-collector.md"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BINARY.exists(), reason="no OpenTelemetry Collector: make otelcol (needs Go)"),
]
WITHIN = 30.0
TRACES = 20


def trace(number: int) -> ExportTraceServiceRequest:
    """A trace of an HTTP root without RAG attributes and, below it, an interaction of three spans."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    answer = f"Refund {number} takes five days."
    question = {"openinference.span.kind": "CHAIN", "input.value": f"How long does refund {number} take?"}
    document = {"retrieval.documents.0.document.content": f"Our terms. {answer}"}
    rows: list[tuple[str, int, dict[str, str]]] = [
        ("POST /ask", 0, {"http.route": "/ask"}),
        ("ask", 1, {**question, "output.value": answer}),
        ("search", 2, {"openinference.span.kind": "RETRIEVER", **document}),
        ("SELECT", 3, {"db.system": "postgresql"}),
        ("generate", 2, {"openinference.span.kind": "LLM", "output.value": answer}),
    ]
    for place, (name, parent, attributes) in enumerate(rows, 1):
        span = scope.spans.add(name=name, trace_id=number.to_bytes(16, "big"), span_id=span_id(number, place))
        span.parent_span_id = span_id(number, parent) if parent else b""
        span.start_time_unix_nano, span.end_time_unix_nano = place, place + 10
        for key, value in attributes.items():
            span.attributes.add(key=key).value.string_value = value
    return request


def span_id(number: int, place: int) -> bytes:
    return bytes((1, 0, 0, 0, 0, 0, number, place))


@contextlib.asynccontextmanager
async def otelcol(folder: Path, ports: dict[int, int]) -> AsyncIterator[None]:
    """The real Collector with the page's configuration, its ``ports`` replaced by free ones."""
    config = re.search(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert config is not None
    text = config[1] + "  telemetry: {metrics: {level: none}}\n"
    for written, real in ports.items():
        assert f"127.0.0.1:{written}" in text
        text = text.replace(f"127.0.0.1:{written}", f"127.0.0.1:{real}")
    (folder / "otelcol.yaml").write_text(text, encoding="utf-8")
    with (folder / "otelcol.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            str(BINARY), "--config", str(folder / "otelcol.yaml"), stdout=log, stderr=log
        )
    try:
        await listening(ports[4318], process, folder / "otelcol.log")
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def listening(port: int, process: asyncio.subprocess.Process, log: Path) -> None:
    async with asyncio.timeout(WITHIN):
        while True:
            assert process.returncode is None, f"it ended: see {log}"
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return
            await asyncio.sleep(0.05)


async def test_genai_spans_are_scored_on_their_way_and_the_rest_goes_straight_on(tmp_path: Path) -> None:
    """Every span arrives once, each interaction with its score, through the Collector on both sides of us."""
    first, scored, ours = free_ports(3)
    async with backend() as behind:
        ports = {4318: first, 4418: scored, 4328: ours, 4518: behind.port}
        own = {"otlp": {"http": f"127.0.0.1:{ours}"}, "judge": {"use": "embedded"}}
        async with running(Backend(port=scored), **own) as rig, otelcol(tmp_path, ports):
            async with aiohttp.ClientSession(headers=PROTOBUF) as session:
                for number in range(1, TRACES + 1):
                    url = f"http://127.0.0.1:{first}/v1/traces"
                    async with session.post(url, data=trace(number).SerializeToString()) as answer:
                        assert answer.status == 200
            await behind.until(lambda kept: len(kept.spans) >= 5 * TRACES)
            through = rig.collector.telemetry.value(Figure.RECEIVED)
    sent = {span_id(number, place) for number in range(1, TRACES + 1) for place in range(1, 6)}
    assert Counter(span.span_id for span in behind.spans) == Counter(sent)
    assert through == 3 * TRACES
    for span in behind.spans:
        attributes = {one.key: one.value for one in span.attributes}
        if span.name == "ask":
            assert attributes["ragtrace.faithfulness"].double_value == 1.0
            assert attributes["ragtrace.diagnosis"].string_value == "ok"
        else:
            assert "ragtrace.faithfulness" not in attributes
