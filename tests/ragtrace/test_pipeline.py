"""configure(): where spans go. Each case is a process of its own: a tracer provider is set once."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from ragtrace import _exporting
from ragtrace.errors import ConfigError
from ragtrace.pipeline import advice, configure, endpoints_of

SECONDS = 30.0


class Receiver(http.server.ThreadingHTTPServer):
    """A real OTLP/HTTP receiver on loopback that keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str | None, ExportTraceServiceRequest]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = ExportTraceServiceRequest.FromString(body)
        self.server.requests.append((self.path, self.headers.get("x-key"), request))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that runs while the test does."""
    server = Receiver()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def run(code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "RAGTRACE_"))}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**clean, **environ},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )


ASK = """
import ragtrace
pipeline = ragtrace.configure({arguments})
@ragtrace.trace
def ask(question): return "a"
ask("q")
print(pipeline.flush(), pipeline.endpoint, pipeline.counts)
"""


def test_without_a_provider_it_builds_one_from_the_variables(receiver: Receiver) -> None:
    """Endpoint, headers and service name come from OpenTelemetry's own variables."""
    done = run(
        ASK.format(arguments=""),
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url,
        OTEL_EXPORTER_OTLP_HEADERS="x-key=secret",
        OTEL_SERVICE_NAME="shop",
    )
    (path, key, request) = receiver.requests[0]
    (resource_spans,) = request.resource_spans
    resource = {a.key: a.value.string_value for a in resource_spans.resource.attributes}
    assert (path, key, resource["service.name"]) == ("/v1/traces", "secret", "shop")
    assert [span.name for span in resource_spans.scope_spans[0].spans] == ["ask"]
    assert resource_spans.scope_spans[0].scope.name == "ragtrace"
    assert done.stdout.startswith(f"True {receiver.url}/v1/traces Counts(ended=1, sent=1,")
    assert done.stderr == ""


def test_arguments_win_and_the_last_spans_are_sent_at_exit(receiver: Receiver) -> None:
    """Without a flush, the end of the process sends what waits."""
    code = ASK.format(arguments=f"endpoint={receiver.url!r}, service_name='mine'").replace(
        "pipeline.flush()", "0"
    )
    run(code, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_SERVICE_NAME="theirs")
    (resource_spans,) = receiver.requests[0][2].resource_spans
    assert "mine" in [a.value.string_value for a in resource_spans.resource.attributes]


@pytest.mark.parametrize("environ", [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}])
def test_switched_off_by_opentelemetrys_own_variables(environ: dict[str, str]) -> None:
    """The app runs, nothing is sent, nothing is said."""
    done = run(ASK.format(arguments=""), **environ)
    assert done.stdout.split()[:2] == ["True", "None"]
    assert done.stderr == ""


EXISTING = """
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
import ragtrace
before = provider._active_span_processor._span_processors
pipeline = ragtrace.configure()
assert provider._active_span_processor._span_processors is before
assert trace.get_tracer_provider() is provider
print(pipeline.own, pipeline.endpoint)
"""


def test_with_a_provider_it_adds_nothing_and_says_where_spans_go(receiver: Receiver) -> None:
    """One line: where they go now, and what to set to send them through the collector."""
    done = run(EXISTING, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url)
    assert done.stdout.split() == ["False", f"{receiver.url}/v1/traces"]
    assert done.stderr.splitlines() == [
        f"ragtrace: traces go to {receiver.url}/v1/traces now; set OTEL_EXPORTER_OTLP_ENDPOINT="
        "http://127.0.0.1:4318 to send them through ragtrace"
    ]


def test_an_app_that_sends_to_the_collector_already_is_told_no_more() -> None:
    """Nothing is left to set."""
    assert advice(("http://127.0.0.1:4318/v1/traces",)) == (
        "ragtrace: traces go to http://127.0.0.1:4318/v1/traces now"
    )


@pytest.mark.parametrize(
    ("arguments", "path"),
    [({"endpoint": "phoenix:6006"}, "endpoint"), ({"protocol": "http/json"}, "protocol")],
)
def test_wrong_arguments_are_named(arguments: dict[str, str], path: str) -> None:
    """With the argument's name."""
    code = f"import ragtrace\ntry: ragtrace.configure(**{arguments!r})\nexcept Exception as e: print(type(e).__name__, e.path)"
    assert run(code).stdout.split() == [ConfigError.__name__, path]


def test_configuring_twice_gives_the_same_pipeline(receiver: Receiver) -> None:
    """The second call changes settings, not where spans go."""
    code = "import ragtrace\na = ragtrace.configure()\nprint(a is ragtrace.configure(capture_content=False))"
    done = run(code, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url)
    assert (done.stdout.strip(), done.stderr) == ("True", "")


class Stuck(SpanExporter):
    """A black hole: takes a batch and never answers."""

    def __init__(self) -> None:
        self.taken = threading.Event()
        self.released = threading.Event()

    def export(self, spans: Any) -> SpanExportResult:
        self.taken.set()
        self.released.wait(SECONDS)
        return SpanExportResult.FAILURE

    def shutdown(self) -> None:
        self.released.set()


def end_spans(provider: TracerProvider, count: int, text: str = "") -> None:
    tracer = provider.get_tracer("x")
    for _ in range(count):
        tracer.start_span("x", attributes={"text": text}).end()


@pytest.mark.parametrize(("spans", "text"), [(300, ""), (300, "x" * 1_000_000)])
def test_what_a_dead_endpoint_does_not_take_is_bounded_and_counted(
    spans: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By number and by characters; ended = sent + failed + dropped + waiting at any time."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "100")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
    stuck = Stuck()
    processor = _exporting.CountingProcessor(stuck)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    end_spans(provider, spans, text)
    assert stuck.taken.wait(SECONDS)
    counts = processor.counts
    held = 64 if text else 100
    assert (counts.ended, counts.waiting, counts.dropped) == (spans, held, spans - held)
    stuck.released.set()
    provider.shutdown()
    assert (counts.waiting, counts.failed, counts.sent) == (0, held, 0)


def test_an_address_is_shown_without_its_credentials() -> None:
    """The note goes to the app's stderr, and from there into its logs."""
    provider = TracerProvider(shutdown_on_exit=False)
    exporter = OTLPSpanExporter("https://user:hunter2@h:4318/v1/traces?api_key=hunter2")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    (shown,) = endpoints_of(provider)
    assert "hunter2" not in shown
    assert "h:4318/v1/traces" in shown


def test_a_provider_of_another_kind_has_no_visible_endpoint() -> None:
    """An exporter without an address goes by its full name; one that cannot be looked into gives nothing."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(Stuck()))
    name = f"{__name__}.Stuck"
    assert endpoints_of(provider) == (name,)
    assert endpoints_of(object()) == ()  # type: ignore[arg-type]
    pipeline = configure(tracer_provider=provider, quiet=True)
    assert json.dumps(pipeline.endpoints) == json.dumps([name])
    configure(tracer_provider=TracerProvider(shutdown_on_exit=False), quiet=True)
