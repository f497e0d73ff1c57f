"""The config of each backend as the docs give it, exported to a server that looks at what comes."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from aiohttp import web
from collector.certificates import Authority
from collector.exporter_rig import delivering
from collector.otlp_peers import encoded_request
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ragtrace import semconv
from ragtrace.errors import ConfigError
from ragtrace_collector import otlp
from ragtrace_collector.config import Config
from ragtrace_collector.exporters import Destination, make_outlet
from ragtrace_collector.settings import as_yaml, load
from ragtrace_collector.stages import SpanBatch
from ragtrace_collector.telemetry import Figure, Telemetry

DOCS = Path(__file__).parents[2] / "docs"
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
ENVIRONMENT = {"PHOENIX_API_KEY": "secret-px", "LANGFUSE_BASIC": "cGs6c2s=", "HONEYCOMB_KEY": "secret-hc"}
IN_FILE = "secret-nr"


@dataclass(frozen=True)
class Expected:
    """What a backend must see of one destination. ``headers`` are those that matter to it."""

    path: str
    headers: dict[str, str] = field(default_factory=dict)
    gzip: bool = False
    caps: tuple[int | None, int | None] = (None, None)


EXPECTED = {
    "http://phoenix:6006": Expected("/v1/traces", {"authorization": "Bearer secret-px"}),
    "https://cloud.langfuse.com": Expected(
        "/api/public/otel/v1/traces",
        {"authorization": "Basic cGs6c2s=", "x-langfuse-ingestion-version": "4"},
    ),
    "http://mlflow:5000": Expected("/v1/traces", {"x-mlflow-experiment-id": "17"}),
    "grpc://jaeger:4317": Expected(TRACES),
    "grpc://tempo:4317": Expected(TRACES, {"x-scope-orgid": "rag"}, gzip=True),
    "http://datadog-agent:4318": Expected("/v1/traces", caps=(128, 25_000)),
    "https://otlp.nr-data.net": Expected("/v1/traces", {"api-key": IN_FILE}, gzip=True, caps=(128, 4_095)),
    "https://api.honeycomb.io": Expected("/v1/traces", {"x-honeycomb-team": "secret-hc"}),
    "grpcs://gateway:4317": Expected(TRACES),
}


def documented(secrets: Path) -> list[Config]:
    """The settings of every block of the page; files of secrets lie in ``secrets``."""
    page = (DOCS / "backends.md").read_text(encoding="utf-8")
    found = []
    for number, block in enumerate(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)):
        if not block.startswith("export:"):
            continue
        file = secrets / f"{number}.yaml"
        text = block.replace("/run/secrets", str(secrets)).replace("/etc/ragtrace", str(secrets))
        file.write_text(text, encoding="utf-8")
        found.append(load(file, {}, ENVIRONMENT))
    return found


@pytest.fixture(scope="module")
def configs(tmp_path_factory: pytest.TempPathFactory) -> list[Config]:
    secrets = tmp_path_factory.mktemp("secrets")
    (secrets / "newrelic").write_text(f"{IN_FILE}\n")
    return documented(secrets)


@pytest.fixture(scope="module")
def destinations(configs: list[Config]) -> dict[str, Destination]:
    """Those of the page, by name."""
    return {one.name: one for config in configs for one in config.export}


# --- the other side ---------------------------------------------------------------------------------------


@dataclass
class Seen:
    """One request as it came: path, headers by lower-case name, body unpacked."""

    path: str
    headers: dict[str, str]
    body: bytes


@asynccontextmanager
async def http_backend(seen: list[Seen]) -> AsyncIterator[int]:
    async def answer(request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = await request.content.read()
        seen.append(Seen(request.path, headers, body))
        return web.Response(content_type="application/x-protobuf")

    app = web.Application(handler_args={"auto_decompress": False})
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


class _Calls(grpc.GenericRpcHandler):
    def __init__(self, seen: list[Seen]) -> None:
        self._seen = seen

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        async def answer(body: bytes, context: Any) -> bytes:
            self._seen.append(Seen(details.method, dict(details.invocation_metadata), body))
            return b""

        return grpc.unary_unary_rpc_method_handler(answer)


@asynccontextmanager
async def grpc_backend(seen: list[Seen], credentials: Any = None) -> AsyncIterator[int]:
    # Its own unpacking is switched off, so that the encoding can be seen.
    server = grpc.aio.server(options=[("grpc.per_message_decompression", 0)])
    server.add_generic_rpc_handlers([_Calls(seen)])
    address = "127.0.0.1:0"
    port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    await server.start()
    try:
        yield port
    finally:
        await server.stop(0)


def moved(destination: Destination, port: int, **changes: Any) -> Destination:
    """The same destination on loopback, without TLS where it goes to the world: path and options stay."""
    scheme, _, rest = destination.url.partition("://")
    path = rest[rest.index("/") :] if "/" in rest else ""
    plain = {"https": "http"}.get(scheme, scheme)
    options = {name: getattr(destination, name) for name in destination.__dataclass_fields__ if name != "url"}
    return Destination(f"{plain}://127.0.0.1:{port}{path}", **(options | changes))


async def export(destination: Destination, body: bytes) -> Telemetry:
    telemetry = Telemetry()
    outlet = make_outlet(destination, telemetry)
    await outlet.start()
    try:
        assert await asyncio.wait_for(outlet.submit(SpanBatch(body), len(otlp.split(body))), 20) == 0
    finally:
        await outlet.stop(0)
    return telemetry


# --- the page ---------------------------------------------------------------------------------------------


def test_every_documented_destination_is_expected_here(destinations: dict[str, Destination]) -> None:
    """A backend that is added to the page gets a line in the table above."""
    assert destinations.keys() == EXPECTED.keys()


@pytest.mark.parametrize("name", [name for name in EXPECTED if not name.startswith("grpcs")])
async def test_what_the_page_says_reaches_the_backend(
    name: str, destinations: dict[str, Destination]
) -> None:
    """Path, headers, login and encoding are the backend's own; every byte of the spans arrives."""
    destination, expected, seen, body = destinations[name], EXPECTED[name], list[Seen](), encoded_request(3)
    serve = grpc_backend if destination.is_grpc else http_backend
    async with serve(seen) as port:
        await export(moved(destination, port), body)
    (request,) = seen
    assert request.path == expected.path
    assert expected.headers.items() <= request.headers.items()
    if not destination.is_grpc:
        assert request.headers["content-type"] == "application/x-protobuf"
        assert request.headers.get("content-encoding", "") == ("gzip" if expected.gzip else "")
    assert (request.body[:2] == b"\x1f\x8b") is expected.gzip
    assert (gzip.decompress(request.body) if expected.gzip else request.body) == body
    assert (destination.max_attributes, destination.max_text) == expected.caps


async def test_the_gateway_sees_the_client_certificate(
    destinations: dict[str, Destination], tmp_path: Path
) -> None:
    """Where the page names files, ours are put."""
    destination = destinations["grpcs://gateway:4317"]
    names = [path.name for path in (destination.ca, destination.cert, destination.key) if path]
    assert names == ["ca.pem", "client.pem", "client.key"]
    authority = Authority.make(tmp_path, "authority")
    server, client, ca = authority.sign("server"), authority.sign("client"), authority.own.cert
    credentials = grpc.ssl_server_credentials(
        [(server.key.read_bytes(), server.cert.read_bytes())], ca.read_bytes(), require_client_auth=True
    )
    seen: list[Seen] = []
    async with grpc_backend(seen, credentials) as port:
        await export(moved(destination, port, ca=ca, cert=client.cert, key=client.key), encoded_request())
    assert seen[0].path == TRACES


def test_settings_as_shown_hold_no_secret_of_the_page(configs: list[Config]) -> None:
    """Neither ``--print-config`` nor what an error or a traceback would show of the settings."""
    for config in configs:
        for shown in (as_yaml(config), repr(config), str(config)):
            assert not any(secret in shown for secret in (*ENVIRONMENT.values(), IN_FILE))


# --- caps -------------------------------------------------------------------------------------------------


def span(*keys: str, dropped: int = 0) -> otlp.RawSpan:
    request = ExportTraceServiceRequest()
    made = (
        request.resource_spans.add()
        .scope_spans.add()
        .spans.add(trace_id=b"\1" * 16, span_id=b"\2" * 8, name="ask", dropped_attributes_count=dropped)
    )
    for key in keys:
        made.attributes.add(key=key).value.string_value = "x"
    (raw,) = otlp.split(request.SerializeToString())
    return raw


def kept(raw: otlp.RawSpan) -> tuple[list[str], int]:
    message = Span.FromString(raw.data)
    return [attribute.key for attribute in message.attributes], message.dropped_attributes_count


DOCUMENTS = [f"retrieval.documents.{number}.document.content" for number in range(3)]
KEYS = ["input.value", *DOCUMENTS, "app.tier", "output.value", "ragtrace.faithfulness", "zone"]


@pytest.mark.parametrize(
    ("most", "left"),
    [
        (8, KEYS),
        (7, [key for key in KEYS if key != DOCUMENTS[2]]),
        (5, ["input.value", "app.tier", "output.value", "ragtrace.faithfulness", "zone"]),
        (4, ["input.value", "app.tier", "output.value", "ragtrace.faithfulness"]),
        (1, ["input.value", "output.value", "ragtrace.faithfulness"]),
    ],
)
def test_the_least_telling_attributes_go_first(most: int, left: list[str]) -> None:
    """Pieces of flat lists from the last, then others from the last; scores, question and answer never."""
    raw = span(*KEYS, dropped=2)
    capped = otlp.cap_attributes(raw, most)
    assert kept(capped) == (left, 2 + len(KEYS) - len(left))
    assert (capped is raw) is (len(left) == len(KEYS))


@given(
    st.lists(st.sampled_from([*KEYS, semconv.OUTCOMES, "", "a.1", "a.1b"]), max_size=20), st.integers(1, 20)
)
def test_a_cap_keeps_order_bytes_and_account(keys: list[str], most: int) -> None:
    """What stays is in its order, what went is counted, and everything else of the span is as it was."""
    raw = span(*keys)
    left, dropped = kept(otlp.cap_attributes(raw, most))
    rest = iter(keys)
    assert all(key in rest for key in left)
    assert len(left) + dropped == len(keys)
    assert len(left) <= max(
        most, sum(key in {"input.value", "output.value"} or key.startswith("ragtrace.") for key in keys)
    )
    before, after = Span.FromString(raw.data), Span.FromString(otlp.cap_attributes(raw, most).data)
    for message in (before, after):
        message.ClearField("attributes")
        message.dropped_attributes_count = 0
    assert before == after


async def test_caps_hold_for_their_destination_alone() -> None:
    """By number and by length; what was changed is counted, the batch itself is not touched."""
    text = "退" * 1_000
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for number in (1, 2):
        made = scope.spans.add(trace_id=bytes([number]) * 16, span_id=bytes([number]) * 8)
        for key in ("input.value", *(f"k{i}" for i in range(200 if number == 1 else 3))):
            made.attributes.add(key=key).value.string_value = text if key == "input.value" else "v"
    body, seen = request.SerializeToString(), list[Seen]()
    async with http_backend(seen) as port:
        url = f"http://127.0.0.1:{port}"
        telemetry = await export(Destination(url, max_attributes=128, max_text=300), body)
        await export(Destination(url), body)
    first, second = (otlp.read_spans(one.body) for one in seen)
    assert [len(one.attributes) for one in first] == [128, 4]
    assert [one.dropped_attributes for one in first] == [73, 0]
    assert all(len(str(one.attributes["input.value"]).encode()) <= 300 for one in first)
    assert str(first[0].attributes["input.value"]).startswith("退" * 50)
    assert telemetry.value(Figure.CUT) == 2
    assert seen[1].body == body
    assert [len(one.attributes) for one in second] == [201, 4]


async def test_a_cap_does_not_change_what_fits() -> None:
    """Not a byte of it."""
    body, seen = encoded_request(4), list[Seen]()
    async with http_backend(seen) as port, delivering(f"http://127.0.0.1:{port}", max_text=5_000) as delivery:
        await delivery.send(body)
    assert seen[0].body == body


@pytest.mark.parametrize("option", ["max_attributes", "max_text", "max_request", "requests_at_once", "queue"])
def test_a_cap_of_nothing_is_an_error(option: str) -> None:
    """Named by its path."""
    with pytest.raises(ConfigError, match=option):
        load(None, {"export": [{"url": "http://h:1", option: 0}]}, {})


def test_the_front_page_of_the_config_is_valid_too(tmp_path: Path) -> None:
    """Every block of settings in the page about the collector can be loaded."""
    page = (DOCS / "collector.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    for number, block in enumerate(block for block in blocks if not block.startswith("groups:")):
        file = tmp_path / f"{number}.yaml"
        file.write_text(re.sub(r"\$\{[^}]*\}", "x", block), encoding="utf-8")
        assert isinstance(yaml.safe_load(block), dict)
        load(file, {}, {})
