"""Fuzzed: the body of a request over HTTP and gRPC, and all that the collector may do with it."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import Any

from captures import OWN

from ragtrace.errors import MalformedOtlp, TooLarge
from ragtrace.extract.classify import is_rag_key
from ragtrace.redact import Redactor
from ragtrace_collector import otlp
from ragtrace_collector.exporters.packing import pack
from ragtrace_collector.privacy import is_content
from ragtrace_collector.receivers.endpoint import Endpoint, Limits
from ragtrace_collector.receivers.grpc import GrpcReceiver
from ragtrace_collector.receivers.http import JSON, PATHS, PROTOBUF, OtlpApp
from ragtrace_collector.stages import Signal, SpanBatch
from ragtrace_collector.stories import Stories
from ragtrace_collector.telemetry import Telemetry
from ragtrace_collector.triage import Triage

_LIMITS = Limits(body=2**20, json=2**20)
_LOOP = asyncio.new_event_loop()


class Works:
    """Stands behind a receiver and does with a request all that the collector may do with it."""

    def __init__(self) -> None:
        self.fault: Exception | None = None
        self._triage = Triage(lambda trace_id: None, lambda trace_id: False, Stories(64))
        self._redact = Redactor(key="fuzz")

    async def consume(self, batch: SpanBatch) -> None:
        try:
            if batch.signal is Signal.LOGS:
                self._logs(batch.body)
            else:
                self._traces(batch.body)
        except (MalformedOtlp, TooLarge):
            raise
        except Exception as error:
            self.fault = error
            raise

    def _logs(self, body: bytes) -> None:
        otlp.redact_logs(body, self._redact, is_content)
        self._triage.wanted(otlp.read_logs(body))
        otlp.logs_to_json(body)

    def _traces(self, body: bytes) -> None:
        otlp.redact_traces(body, self._redact, is_content)
        survey = otlp.survey(body, is_rag_key)
        sifted = self._triage.sift(body, survey)
        if sifted.rest_spans + len(sifted.picked) != survey.spans:
            raise AssertionError("spans got lost on the way")
        for one in sifted.picked:
            self._triage.see(one)
        for raw in otlp.split(body):
            otlp.read_span(otlp.append_attributes(raw, {"ragtrace.faithfulness": 0.5}))
            otlp.cut_span(raw, 256)
        if sum(len(otlp.split(piece)) for piece in pack(body, 512)) != survey.spans:
            raise AssertionError("packing lost spans")
        otlp.to_json(otlp.split(body))


_works = Works()
_app = OtlpApp(_works, Endpoint(), _LIMITS, Telemetry())
_rpc = GrpcReceiver(_works, Endpoint(), Telemetry(), _LIMITS)
_GOOD = {200, 400, 413, 415}
_PACK: tuple[tuple[str, Callable[[bytes], bytes]], ...] = (
    ("", bytes),
    ("gzip", bytes),
    ("gzip", lambda body: gzip.compress(body, 1)),
    ("deflate", bytes),
    ("deflate", zlib.compress),
)


def http_body(data: bytes) -> None:
    """The first byte chooses path, content type and encoding; the rest is the body."""
    choice = data[0] if data else 0
    path = list(PATHS)[choice % len(PATHS)]
    content_type = (PROTOBUF, JSON)[choice // 3 % 2]
    encoding, packed = _PACK[choice // 6 % len(_PACK)]
    status: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": packed(data[1:]), "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            status.append(message["status"])

    headers = [(b"content-type", content_type.encode()), (b"content-encoding", encoding.encode())]
    _LOOP.run_until_complete(
        _app({"path": path, "method": "POST", "headers": headers}, receive, send)  # as ASGI has it
    )
    _no_fault()
    if status[0] not in _GOOD:
        raise AssertionError(f"answered {status[0]}")


class _Aborted(Exception):
    """A gRPC call ended with a status."""


class _Context:
    code = ""

    async def abort(self, code: Any, details: str, metadata: Any) -> None:
        self.code = code.name
        raise _Aborted


async def _call(handler: Callable[..., Awaitable[bytes]], message: bytes, context: _Context) -> None:
    async def once() -> AsyncGenerator[bytes, None]:
        yield message

    async with contextlib.aclosing(once()) as requests:
        await handler(requests, context)


def grpc_body(data: bytes) -> None:
    """The first byte chooses the service; the rest is the message, as gRPC hands it over, packed or not."""
    handler = _rpc._handler(Signal.LOGS if data[:1] == b"\1" else Signal.TRACES)
    context = _Context()
    with contextlib.suppress(_Aborted):
        _LOOP.run_until_complete(_call(handler, data[1:], context))
    _no_fault()
    if context.code not in {"", "INVALID_ARGUMENT"}:
        raise AssertionError(f"answered {context.code}")


def _no_fault() -> None:
    fault, _works.fault = _works.fault, None
    if fault is not None:
        raise fault


def captured_bodies() -> Iterator[bytes]:
    """The first request of each recorded capture, encoded."""
    for path in sorted(OWN.glob("*__*.json")):
        if ".expected" not in path.name:
            convert = otlp.logs_request_from_json if ".logs" in path.name else otlp.trace_request_from_json
            for line in path.read_bytes().splitlines()[:1]:
                yield convert(line)


def http_seeds() -> Iterator[bytes]:
    for body in captured_bodies():
        spans = otlp.kind_of_protobuf(body) == "spans"
        yield bytes([0 if spans else 1]) + body
        text = (otlp.to_json(otlp.split(body)) if spans else otlp.logs_to_json(body)).encode()
        yield bytes([3 if spans else 4]) + text
        yield bytes([6]) + gzip.compress(body)
        yield bytes([18]) + zlib.compress(body)


def grpc_seeds() -> Iterator[bytes]:
    for body in captured_bodies():
        yield bytes([otlp.kind_of_protobuf(body) == "logs"]) + body
