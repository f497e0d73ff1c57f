"""What the chaos run sends: a shop's traces, interactions, very large texts, bodies that are no request."""

from __future__ import annotations

import gzip
import random
import time
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PROTOBUF = {"content-type": "application/x-protobuf"}


def request(*spans: dict[str, Any]) -> ExportTraceServiceRequest:
    """Spans as keyword arguments, ``attributes`` among them → a request."""
    made = ExportTraceServiceRequest()
    resource = made.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "chaos"
    scope = resource.scope_spans.add()
    scope.scope.name = "chaos"
    for fields in spans:
        attributes = fields.pop("attributes")
        now = time.time_ns()
        span = scope.spans.add(start_time_unix_nano=now, end_time_unix_nano=now, **fields)
        for key, value in attributes.items():
            span.attributes.add(key=key).value.string_value = value
    return made


def plain(draw: random.Random) -> list[dict[str, Any]]:
    """A trace of a shop, of which one in sixty carries a very large text."""
    trace, count = draw.randbytes(16), draw.randint(1, 120)
    size = draw.choice([300_000, 3_000_000, 6_000_000]) if draw.random() < 1 / 60 else 200
    return [
        {
            "trace_id": trace,
            "span_id": draw.randbytes(8),
            "name": "GET /cart",
            "attributes": {"http.route": "/cart", "note": "退款" * (size // 6 if number == 0 else 30)},
        }
        for number in range(count)
    ]


def rag(draw: random.Random) -> list[dict[str, Any]]:
    """One interaction: entry, retriever and model call, the entry last as SDKs send it.

    Its answer names the entry, its document the retriever, so that a question to the judge tells which of
    them is judged: where they come far apart, the retriever is an interaction of its own.
    """
    trace, root, retriever = draw.randbytes(16), draw.randbytes(8), draw.randbytes(8)
    question = f"How long do refunds take, {trace.hex()}?"
    answer = f"Refunds take {draw.randint(2, 90)} days, as {root.hex()} says."
    document = {"retrieval.documents.0.document.content": f"Policy of {retriever.hex()}. {answer} Always."}
    texts = {"input.value": question, "output.value": answer}
    kinds = [
        (retriever, "RETRIEVER", {"input.value": question, **document}),
        (draw.randbytes(8), "LLM", {"output.value": answer}),
    ]
    children: list[dict[str, Any]] = [
        {"span_id": i, "parent_span_id": root, "attributes": {"openinference.span.kind": k, **a}}
        for i, k, a in kinds
    ]
    entry = {"span_id": root, "attributes": {"openinference.span.kind": "CHAIN", **texts}}
    return [{"trace_id": trace, "name": "ask", **one} for one in (*children, entry)]


def bodies(draw: random.Random) -> list[ExportTraceServiceRequest]:
    """The requests of one turn of a sender."""
    match draw.choices(("plain", "mixed", "apart"), (5, 3, 2))[0]:
        case "plain":
            return [request(*plain(draw))]
        case "mixed":
            return [request(*plain(draw), *rag(draw), *plain(draw), *rag(draw))]
        case _:
            first, *others = rag(draw)
            return [request(first, *plain(draw)), request(*others)]


def malformed(draw: random.Random) -> tuple[bytes, dict[str, str]]:
    """A body that is no request, and its headers."""
    good = request(*rag(draw)).SerializeToString()
    match draw.randrange(4):
        case 0:
            return good[: len(good) - draw.randint(1, 9)], PROTOBUF
        case 1:
            return draw.randbytes(draw.randint(1, 4_000)), PROTOBUF
        case 2:
            return gzip.compress(good)[:-9], {**PROTOBUF, "content-encoding": "gzip"}
        case _:
            return b'{"resourceSpans": [' * 500, {"content-type": "application/json"}
