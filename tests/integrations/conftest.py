"""A real SDK with spans in memory, and an OpenAI-compatible server on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ragtrace.extract import interactions
from ragtrace.model import Interaction
from ragtrace_collector.otlp_read import read_spans


class _OpenSpans(SpanProcessor):
    """Counts spans that were started and have not ended."""

    def __init__(self) -> None:
        self.open: dict[int, str] = {}

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        self.open[span.context.span_id] = span.name

    def on_end(self, span: ReadableSpan) -> None:
        del self.open[span.context.span_id]


_KINDS = {
    "interaction": ("ragtrace.kind", "interaction"),
    "retrieval": ("openinference.span.kind", "RETRIEVER"),
    "rerank": ("openinference.span.kind", "RERANKER"),
    "generation": ("openinference.span.kind", "LLM"),
}


@dataclass
class Spans:
    """What an app recorded."""

    provider: TracerProvider
    exporter: InMemorySpanExporter
    still_open: dict[int, str]

    def all(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def of_kind(self, kind: str) -> list[ReadableSpan]:
        """Finished spans of an interaction, retrieval, rerank or generation, in the order of their start."""
        key, value = _KINDS[kind]
        found = [s for s in self.all() if (s.attributes or {}).get(key) == value]
        return sorted(found, key=lambda s: (s.start_time or 0, s.context.span_id))

    def one(self, kind: str) -> ReadableSpan:
        (span,) = self.of_kind(kind)
        return span

    def documents(
        self, span: ReadableSpan, under: str = "retrieval.documents"
    ) -> list[tuple[str, str]] | None:
        """(id, text) of the documents on a span; ``None`` where it has none at all."""
        attributes = span.attributes or {}
        if "ragtrace.documents" in attributes:
            return [(d["id"], d["content"]) for d in json.loads(attributes["ragtrace.documents"])]
        found: list[tuple[str, str]] = []
        while (text := attributes.get(f"{under}.{len(found)}.document.content")) is not None:
            found.append((attributes[f"{under}.{len(found)}.document.id"], text))
        return found or None

    def read_back(self) -> list[Interaction]:
        """The interactions that the collector reads in these spans, once they went through OTLP."""
        return interactions(read_spans(encode_spans(self.all()).SerializeToString()))

    def children(self, parent: ReadableSpan) -> list[ReadableSpan]:
        return [s for s in self.all() if s.parent is not None and s.parent.span_id == parent.context.span_id]


@pytest.fixture
def spans() -> Iterator[Spans]:
    exporter, counter = InMemorySpanExporter(), _OpenSpans()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    provider.add_span_processor(counter)
    yield Spans(provider, exporter, counter.open)
    provider.shutdown()


# --- the server -------------------------------------------------------------------------------------------


def reply_to(text: str) -> str:
    """What the fake model says to a user message."""
    return f"The answer to {text} is 42."


@dataclass
class FakeOpenAI:
    """An OpenAI-compatible endpoint. A user message that holds ``FAIL`` is answered with HTTP 400."""

    base_url: str
    requests: list[dict[str, Any]] = field(default_factory=list)


@pytest.fixture(scope="session")
def _server() -> Iterator[FakeOpenAI]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    fake = FakeOpenAI(f"http://127.0.0.1:{server.server_address[1]}/v1")
    server.fake = fake  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield fake
    server.shutdown()
    server.server_close()
    thread.join(timeout=5)


@pytest.fixture
def fake_openai(_server: FakeOpenAI) -> FakeOpenAI:
    _server.requests.clear()
    return _server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.fake.requests.append(request)  # type: ignore[attr-defined]
        text = _last_user_text(request)
        if "FAIL" in text:
            return self._json(400, {"error": {"message": "asked to fail", "type": "invalid_request_error"}})
        chat = self.path.endswith("/chat/completions")
        answer = '{"answer": "42"}' if _wants_json(request) else reply_to(text)
        if request.get("stream"):
            return self._stream(_chat_chunks(request, answer) if chat else _response_events(answer))
        return self._json(200, _completion(answer) if chat else _response(answer))

    def _json(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: list[tuple[str | None, dict[str, Any] | str]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for name, event in events:
                head = f"event: {name}\n" if name else ""
                data = event if isinstance(event, str) else json.dumps(event)
                self.wfile.write(f"{head}data: {data}\n\n".encode())
                self.wfile.flush()
        except OSError:
            pass  # the client went away, as some tests do


def _last_user_text(request: dict[str, Any]) -> str:
    items = request.get("messages", request.get("input"))
    if isinstance(items, str):
        return items
    content = next(i["content"] for i in reversed(items) if i.get("role") == "user")
    return content if isinstance(content, str) else "".join(p.get("text", "") for p in content)


def _wants_json(request: dict[str, Any]) -> bool:
    return "response_format" in request or "format" in (request.get("text") or {})


def _pieces(answer: str) -> list[str]:
    words = answer.split(" ")
    return [word if i == 0 else " " + word for i, word in enumerate(words)]


_CHAT_USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
_RESPONSE_USAGE = {
    "input_tokens": 11, "output_tokens": 7, "total_tokens": 18,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
}  # fmt: skip


def _completion(answer: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "fake-1",
        "choices": [choice], "usage": _CHAT_USAGE,
    }  # fmt: skip


def _chat_chunks(request: dict[str, Any], answer: str) -> list[tuple[str | None, dict[str, Any] | str]]:
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake-1"}
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in _pieces(answer))]
    events: list[tuple[str | None, dict[str, Any] | str]] = [
        (None, {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}) for delta in deltas
    ]
    events.append((None, {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
    if (request.get("stream_options") or {}).get("include_usage"):
        events.append((None, {**base, "choices": [], "usage": _CHAT_USAGE}))
    return [*events, (None, "[DONE]")]


def _response(answer: str, status: str = "completed") -> dict[str, Any]:
    part = {"type": "output_text", "text": answer, "annotations": []}
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "fake-1", "status": status, "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True,
        "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "output": [message] if status == "completed" else [], "usage": _RESPONSE_USAGE if status == "completed" else None,
    }  # fmt: skip


def _response_events(answer: str) -> list[tuple[str | None, dict[str, Any] | str]]:
    where = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    part = {"type": "output_text", "text": "", "annotations": []}
    bodies: list[dict[str, Any]] = [
        {"type": "response.created", "response": _response(answer, "in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **where, "part": part},
        *(
            {"type": "response.output_text.delta", **where, "delta": p, "logprobs": []}
            for p in _pieces(answer)
        ),
        {"type": "response.output_text.done", **where, "text": answer, "logprobs": []},
        {"type": "response.completed", "response": _response(answer)},
    ]
    return [(body["type"], {**body, "sequence_number": i}) for i, body in enumerate(bodies)]
