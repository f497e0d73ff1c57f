"""The HTTP receiver, over loopback, with the real SDK and with senders that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import subprocess
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from collector.otlp_peers import Recorder, encoded_request, sdk_spans
from google.rpc.status_pb2 import Status
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExportResult

from ragtrace.errors import ConfigError, MalformedOtlp, TooLarge
from ragtrace_collector import otlp
from ragtrace_collector.receivers import Endpoint, HttpReceiver, Limits
from ragtrace_collector.receivers.content import decode_content
from ragtrace_collector.stages import Refused, Signal
from ragtrace_collector.telemetry import Figure, Telemetry

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
LOOPBACK = Endpoint()
LIMITS = Limits(body=200_000, json=100_000, header=8_192, body_time=0.3, head_time=0.3, in_flight=300_000)


class Station:
    """A receiver, what stands behind it, and a client in front."""

    def __init__(self, endpoint: Endpoint = LOOPBACK, limits: Limits = LIMITS) -> None:
        self.recorder, self.telemetry = Recorder(), Telemetry()
        self.receiver = HttpReceiver(self.recorder, endpoint, self.telemetry, limits)

    async def __aenter__(self) -> Station:
        await self.receiver.start()
        self.url = f"http://127.0.0.1:{self.receiver.port}"
        self.session = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()
        await self.receiver.stop(0)

    async def post(
        self, body: Any, headers: dict[str, str] = PROTOBUF, path: str = "/v1/traces"
    ) -> tuple[int, bytes, Any]:
        async with self.session.post(self.url + path, data=body, headers=headers) as response:
            return response.status, await response.read(), response.headers

    def answers(self, name: str) -> float:
        return self.telemetry.value(Figure.REQUESTS, answer=name)


@pytest_asyncio.fixture
async def station() -> AsyncIterator[Station]:
    async with Station() as running:
        yield running


@pytest.mark.parametrize("compression", list(Compression))
async def test_the_sdk_exporter_delivers_its_spans(station: Station, compression: Compression) -> None:
    """Whatever compression it is set to."""
    exporter = OTLPSpanExporter(f"{station.url}/v1/traces", compression=compression)
    spans = sdk_spans()
    assert await asyncio.to_thread(exporter.export, spans) is SpanExportResult.SUCCESS
    await asyncio.to_thread(exporter.shutdown)
    assert sorted(station.recorder.span_ids()) == sorted(f"{span.context.span_id:016x}" for span in spans)
    assert station.answers("accepted") == 1


async def test_the_bytes_are_handed_on_untouched(station: Station) -> None:
    """Protobuf is not parsed on the way."""
    body = encoded_request(2)
    assert (await station.post(body))[:2] == (200, b"")
    assert station.recorder.batches[0].body == body


async def test_json_is_answered_in_json(station: Station) -> None:
    """And comes out as protobuf."""
    document = otlp.to_json(otlp.split(encoded_request(2)))
    status, answer, headers = await station.post(document.encode(), JSON)
    assert (status, json.loads(answer), headers["content-type"]) == (200, {}, "application/json")
    assert station.recorder.batches[0].body == encoded_request(2)


@pytest.mark.parametrize(
    ("path", "signal"),
    [("/v1/traces", Signal.TRACES), ("/v1/logs", Signal.LOGS), ("/api/public/otel/v1/traces", Signal.TRACES)],
)
async def test_each_path_names_its_signal(station: Station, path: str, signal: Signal) -> None:
    """Langfuse's SDK posts on a path of its own."""
    assert (await station.post(b"", path=path))[0] == 200
    assert station.recorder.batches[0].signal is signal


async def test_packed_bodies_are_unpacked(station: Station) -> None:
    """gzip, deflate with and without zlib's head, small on the loop and large off it."""
    raw = zlib.compressobj(wbits=-15)
    small, large = encoded_request(1), encoded_request(60, text="".join(map(chr, range(0x4E00, 0x5200))))
    for body, encoding in (
        (gzip.compress(small), "gzip"),
        (gzip.compress(small[:50]) + gzip.compress(small[50:]), "gzip"),
        (zlib.compress(small), "deflate"),
        (raw.compress(small) + raw.flush(), "deflate"),
        (gzip.compress(large, 0), "gzip"),
    ):
        assert (await station.post(body, {**PROTOBUF, "content-encoding": encoding}))[0] == 200
    assert [batch.body for batch in station.recorder.batches] == [small] * 4 + [large]


@pytest.mark.parametrize(
    ("case", "status", "code", "name"),
    [
        ({"path": "/v2/traces"}, 404, 5, "unknown_path"),
        ({"headers": {"content-type": "text/plain"}}, 415, 3, "wrong_content_type"),
        ({"headers": {**PROTOBUF, "content-encoding": "br"}}, 415, 3, "wrong_content_encoding"),
        ({"headers": {**PROTOBUF, "content-encoding": "gzip"}}, 400, 3, "malformed"),
        ({"headers": JSON, "body": b"{"}, 400, 3, "malformed"),
        ({"body": b"x" * 200_001}, 413, 3, "too_large"),
        ({"headers": JSON, "body": b" " * 100_001}, 413, 3, "too_large"),
    ],
)
async def test_what_cannot_be_taken_is_answered_with_why(
    station: Station, case: dict[str, Any], status: int, code: int, name: str
) -> None:
    """A google.rpc.Status in the request's encoding, and one more in the counter of its kind."""
    headers = case.get("headers", PROTOBUF)
    found, answer, _ = await station.post(case.get("body", b"abc"), headers, case.get("path", "/v1/traces"))
    assert found == status
    if headers["content-type"] == PROTOBUF["content-type"]:
        assert Status.FromString(answer).code == code
        assert Status.FromString(answer).message
    else:
        assert json.loads(answer)["code"] == code
    assert station.answers(name) == 1
    assert not station.recorder.batches


async def test_only_post_is_taken(station: Station) -> None:
    """405 names what is allowed."""
    async with station.session.get(f"{station.url}/v1/traces") as response:
        assert (response.status, response.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [
        (Refused("memory", 0.2), 429, "1"),
        (Refused("memory", 30.0), 429, "2"),
        (MalformedOtlp("no such thing"), 400, None),
        (TooLarge("a span"), 413, None),
        (RuntimeError("a bug of ours"), 503, "1"),
    ],
)
async def test_what_is_raised_behind_becomes_the_answer(
    station: Station, error: Exception, status: int, retry_after: str | None
) -> None:
    """Never more than two seconds of waiting, for SDKs give up after ten in all; a bug leaves the spans with the sender."""
    station.recorder.error = error
    found, answer, headers = await station.post(encoded_request())
    assert (found, headers.get("retry-after")) == (status, retry_after)
    assert "bug" not in Status.FromString(answer).message


async def test_the_sdk_comes_again_after_a_refusal(station: Station) -> None:
    """429 with Retry-After is what it understands."""
    station.recorder.error = Refused("memory", 1.0)
    exporter = OTLPSpanExporter(f"{station.url}/v1/traces")
    export = asyncio.create_task(asyncio.to_thread(exporter.export, sdk_spans()))
    await asyncio.wait_for(station.recorder.entered.wait(), 5)
    station.recorder.error = None
    assert await asyncio.wait_for(export, 10) is SpanExportResult.SUCCESS
    assert len(station.recorder.span_ids()) == 3
    await asyncio.to_thread(exporter.shutdown)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_decompression_bomb_is_refused(station: Station, encoding: str) -> None:
    """200 KB that unpack to 200 MB: 413."""
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    bomb = pack(b"\0" * 2**27)
    assert len(bomb) < LIMITS.body
    status, _, _ = await station.post(bomb, {**PROTOBUF, "content-encoding": encoding})
    assert status == 413


def test_unpacking_stops_at_the_limit() -> None:
    """And a body of many members is not worth the copies that it would take."""
    with pytest.raises(TooLarge):
        decode_content(gzip.compress(b"\0" * 2**27), "gzip", 1_000)
    with pytest.raises(MalformedOtlp):
        decode_content(gzip.compress(b"") * 100_000, "gzip", 1_000)
    assert decode_content(gzip.compress(b"a" * 1_000), "gzip", 1_000) == b"a" * 1_000


async def test_a_token_opens_the_door() -> None:
    """As bearer, or as the password of Basic; anything else is 401."""
    async with Station(Endpoint(token="sesame")) as station:
        for given, status in (
            ("Bearer sesame", 200),
            (aiohttp.encode_basic_auth("pk-lf-1", "sesame"), 200),
            ("Bearer open", 401),
            ("sesame", 401),
            ("Basic !", 401),
            ("Bearer s\xe9same", 401),
        ):
            assert (await station.post(b"", {**PROTOBUF, "authorization": given}))[0] == status
        assert (await station.post(b"", PROTOBUF))[0] == 401
    assert "sesame" not in repr(Endpoint(token="sesame"))


async def test_an_open_address_needs_a_token() -> None:
    """Or the word of who starts it."""
    for host in ("0.0.0.0", "::", "example.org", "192.0.2.1"):
        with pytest.raises(ConfigError, match="token"):
            Endpoint(host).check()
    Endpoint("0.0.0.0", token="t").check()
    Endpoint("0.0.0.0", insecure=True).check()
    for host in ("localhost", "127.0.0.7", "::1"):
        Endpoint(host).check()


async def test_a_port_in_use_is_one_clear_line(station: Station) -> None:
    """It names the address and the setting."""
    again = HttpReceiver(Recorder(), Endpoint(port=station.receiver.port, name="otlp_http"), Telemetry())
    with pytest.raises(ConfigError, match=f"otlp_http: cannot listen on 127.0.0.1:{station.receiver.port}"):
        await again.start()


async def test_tls_is_spoken_where_a_certificate_is_given(tmp_path: Path) -> None:
    """And half a pair is refused at start."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make_certificate(cert, key)
    async with Station(Endpoint(cert=cert, key=key)) as station:
        url = station.url.replace("http:", "https:")
        async with station.session.post(
            f"{url}/v1/traces", data=b"", headers=PROTOBUF, ssl=False
        ) as response:
            assert response.status == 200
    with pytest.raises(ConfigError):
        Endpoint(cert=cert).check()


def make_certificate(cert: Path, key: Path) -> None:
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*command.split(), "-keyout", key, "-out", cert], check=True, capture_output=True)


async def test_an_answer_waits_for_who_stands_behind(station: Station) -> None:
    """Acknowledged means safe."""
    station.recorder.gate = asyncio.Event()
    post = asyncio.create_task(station.post(encoded_request()))
    await asyncio.wait_for(station.recorder.entered.wait(), 5)
    assert not post.done()
    station.recorder.gate.set()
    assert (await asyncio.wait_for(post, 5))[0] == 200


async def test_stopping_answers_what_is_in_work_and_refuses_the_rest(station: Station) -> None:
    """A request under way ends with its 200; on an open connection the next gets 503 or is cut off."""
    station.recorder.gate = asyncio.Event()
    post = asyncio.create_task(station.post(encoded_request()))
    await asyncio.wait_for(station.recorder.entered.wait(), 5)
    stop = asyncio.create_task(station.receiver.stop(5))
    await asyncio.sleep(0)
    with contextlib.suppress(aiohttp.ClientError):
        assert (await station.post(b""))[0] == 503
    assert len(station.recorder.batches) == 0
    station.recorder.gate.set()
    assert (await asyncio.wait_for(post, 5))[0] == 200
    await asyncio.wait_for(stop, 10)


async def test_requests_beyond_what_may_be_in_work_are_refused(station: Station) -> None:
    """Bytes are bounded over all connections, and a request alone always fits."""
    station.recorder.gate = asyncio.Event()
    body = encoded_request(1, "x" * 180_000)
    first = asyncio.create_task(station.post(body))
    await asyncio.wait_for(station.recorder.entered.wait(), 5)
    status, _, headers = await station.post(body)
    assert (status, headers["retry-after"]) == (429, "1")
    station.recorder.gate.set()
    assert (await asyncio.wait_for(first, 5))[0] == 200
    assert (await station.post(body))[0] == 200


async def raw_exchange(station: Station, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", station.receiver.port)
    writer.write(data)
    try:
        return await asyncio.wait_for(reader.read(), 5)
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"POST /v1/traces HTTP/1.1\r\nhost: x\r\n",
        b"POST /v1/traces HTTP/1.1\r\nx: " + b"a" * 70_000,
        b"POST /v1/traces HTTP/1.1\r\n" + b"x: a\r\n" * 20_000,
        b"\x16\x03\x01 not http",
    ],
)
async def test_a_head_that_is_endless_or_never_ends_loses_its_connection(
    station: Station, data: bytes
) -> None:
    """Whether its sender is slow, greedy or confused; others are served meanwhile."""
    exchange = asyncio.create_task(raw_exchange(station, data))
    assert (await station.post(encoded_request()))[0] == 200
    answer = await exchange
    assert not answer or b" 400 " in answer.partition(b"\r\n")[0]


async def test_a_body_that_does_not_arrive_is_given_up(station: Station) -> None:
    """408, and the bytes it held are given back."""
    head = b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\ncontent-length: 90000\r\n\r\n"
    assert b" 408 " in (await raw_exchange(station, head + b"x" * 1_000)).partition(b"\r\n")[0]
    assert (await station.post(encoded_request()))[0] == 200


async def test_an_endless_chunked_body_is_cut_off(station: Station) -> None:
    """No length was declared, so the bytes are counted as they come."""

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(1_000):
            yield b"x" * 10_000

    try:
        status, _, _ = await station.post(endless())
        assert status == 413
    except aiohttp.ClientError:
        pass  # the answer may be lost where the sender is still sending
    assert station.answers("too_large") == 1


async def test_a_sender_that_hangs_up_does_no_harm(station: Station) -> None:
    """Nothing of half a body is handed on."""
    _, writer = await asyncio.open_connection("127.0.0.1", station.receiver.port)
    writer.write(
        b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\ncontent-length: 9\r\n\r\nab"
    )
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await station.post(encoded_request()))[0] == 200
    assert len(station.recorder.batches) == 1


encodings = st.sampled_from(["", "identity", "gzip", "deflate", "zstd", "gzip, gzip", "\x7f"])


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), encodings, st.booleans())
def test_no_body_and_encoding_fail_otherwise(body: bytes, encoding: str, packed: bool) -> None:
    """Unpacked within the limit, or refused in one of three ways."""
    from ragtrace_collector.receivers.answers import Rejected

    with contextlib.suppress(Rejected, MalformedOtlp, TooLarge):
        assert len(decode_content(gzip.compress(body)[:-1] if packed else body, encoding, 200)) <= 300
