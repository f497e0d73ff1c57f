"""The FastAPI streaming example behind a real server."""

from __future__ import annotations

import http.client
import importlib.util
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import uvicorn
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from ragtrace import _steps, config
from ragtrace import semconv as names

SECONDS = 20.0


class Awaited(SpanExporter):
    """Keeps spans by name and lets a test wait for one."""

    def __init__(self) -> None:
        self._spans: dict[str, ReadableSpan] = {}
        self._changed = threading.Condition()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        with self._changed:
            self._spans.update({span.name: span for span in spans})
            self._changed.notify_all()
        return SpanExportResult.SUCCESS

    def wait_for(self, name: str) -> ReadableSpan:
        with self._changed:
            assert self._changed.wait_for(lambda: name in self._spans, SECONDS), f"no span {name}"
            return self._spans[name]


class Server(uvicorn.Server):
    """Says when it listens, and where."""

    def __init__(self, app: Any) -> None:
        super().__init__(uvicorn.Config(app, port=0, lifespan="off", log_level="warning"))
        self.listening = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @property
    def port(self) -> int:
        assert self.listening.wait(SECONDS)
        return int(self.servers[0].sockets[0].getsockname()[1])


@pytest.fixture
def spans() -> Iterator[Awaited]:
    """The hooks' spans, as they end."""
    awaited = Awaited()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(awaited))
    _steps.use_provider(provider)
    config.use(config.resolve({}))
    yield awaited
    _steps.use_provider(None)


def example() -> ModuleType:
    path = Path(__file__).parents[2] / "examples" / "fastapi_streaming.py"
    spec = importlib.util.spec_from_file_location("fastapi_streaming", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def port() -> Iterator[int]:
    """The example, listening on a free port of loopback."""
    server = Server(example().app)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield server.port
    server.should_exit = True
    thread.join(SECONDS)


def get(port: int) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    connection.request("GET", "/ask?question=How+long+do+refunds+take")
    return connection, connection.getresponse()


def test_a_whole_stream_is_one_whole_interaction(port: int, spans: Awaited) -> None:
    """What the client read is the answer on the span, with the documents on its child."""
    connection, response = get(port)
    text = response.read().decode()
    connection.close()
    entry, retrieval = spans.wait_for("answer"), spans.wait_for("search")
    assert entry.attributes is not None
    assert entry.attributes[names.OUTPUT_VALUE] == text
    assert text.startswith("Refunds are paid within 3-5 business days. [1]")
    assert entry.attributes[names.INPUT_VALUE] == "How long do refunds take"
    assert names.PARTIAL not in entry.attributes
    assert retrieval.parent is not None
    assert entry.context is not None
    assert retrieval.parent.span_id == entry.context.span_id


def test_a_client_that_goes_away_leaves_a_closed_partial_span(port: int, spans: Awaited) -> None:
    """The spans of entry and model call end when the connection does, with what was said until then."""
    connection, response = get(port)
    first = response.read(8).decode()
    response.close()
    connection.close()
    for name in ("answer", "generate"):
        span = spans.wait_for(name)
        assert span.attributes is not None
        assert span.attributes[names.PARTIAL] is True
        said = str(span.attributes[names.OUTPUT_VALUE])
        assert said.startswith(first)
        assert not said.endswith("[2] ")
