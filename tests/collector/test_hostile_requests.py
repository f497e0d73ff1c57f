"""Requests made to hurt: each is refused with the right answer, counted, and others are served meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import json
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from collector.collector_rig import backend, eventually, running
from collector.otlp_peers import encoded_request
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector import test_receivers_grpc as over_grpc
from collector import test_receivers_http as over_http
from ragtrace.errors import MalformedOtlp, TooLarge
from ragtrace.extract.classify import is_rag_key
from ragtrace_collector import otlp, otlp_density, otlp_read
from ragtrace_collector.otlp_wire import delimited
from ragtrace_collector.receivers import Endpoint, Limits
from ragtrace_collector.receivers.content import decode_content, decode_message
from ragtrace_collector.telemetry import Figure, unaccounted

MIB = 2**20
LIMITS = Limits(body=16 * MIB, json=16 * MIB, header=8_192, body_time=0.3, head_time=0.3, idle=0.3)
PROTOBUF, JSON = over_http.PROTOBUF, over_http.JSON
EMPTY = b"\x00"


def nested(depth: int, key: str = "input.value") -> bytes:
    """A request with one attribute that is a list in a list in a list …"""
    value = b""
    for _ in range(depth):
        value = delimited(5, delimited(1, value))
    return in_span(delimited(9, delimited(1, key.encode()) + delimited(2, value)))


def in_span(fields: bytes) -> bytes:
    ids = delimited(1, b"\1" * 16) + delimited(2, b"\2" * 8)
    return delimited(1, delimited(2, delimited(2, ids + fields)))


def in_log(fields: bytes) -> bytes:
    return delimited(1, delimited(2, delimited(2, fields)))


@pytest_asyncio.fixture
async def http() -> AsyncIterator[over_http.Station]:
    async with over_http.Station(limits=LIMITS) as running:
        yield running


@pytest_asyncio.fixture
async def rpc() -> AsyncIterator[over_grpc.Station]:
    async with over_grpc.Station(limits=LIMITS) as running:
        yield running


# --- too many parts ---------------------------------------------------------------------------------------

TINY = {
    "resources": lambda: b"\x0a\x00" * (4 * MIB),
    "scopes": lambda: delimited(1, b"\x12\x00" * (4 * MIB)),
    "spans": lambda: delimited(1, delimited(2, b"\x12\x00" * (4 * MIB))),
    "attributes": lambda: in_span(delimited(9, delimited(1, b"")) * (2 * MIB)),
    "different attributes": lambda: in_span(
        b"".join(delimited(9, delimited(1, b"%d" % number)) for number in range(530_000))
    ),
    "events": lambda: in_span(b"\x5a\x00" * (4 * MIB)),
    "links": lambda: in_span(b"\x6a\x00" * (4 * MIB)),
    "attributes of an event": lambda: in_span(delimited(11, b"\x1a\x00" * (4 * MIB))),
    "values of a list": lambda: in_span(delimited(9, delimited(2, delimited(5, b"\x0a\x00" * (4 * MIB))))),
    "unknown fields": lambda: b"\xa2\x06\x00" * (2 * MIB),
}
"""Eight megabytes of parts of two to twelve bytes."""


@pytest.mark.parametrize("kind", TINY)
async def test_a_request_of_countless_tiny_parts_is_refused(kind: str, http: over_http.Station) -> None:
    """413, with nothing made of the parts: packed, such a request is a thousandth of its size."""
    packed = gzip.compress(TINY[kind](), 1)
    status, _, _ = await http.post(packed, {**PROTOBUF, "content-encoding": "gzip"})
    assert status == 413
    assert http.answers("too_large") == 1
    assert not http.recorder.batches
    assert (await http.post(encoded_request()))[0] == 200


@pytest.mark.parametrize("fields", [b"\x32\x00", delimited(6, delimited(1, b"k"))])
async def test_log_requests_are_bounded_alike(fields: bytes, rpc: over_grpc.Station) -> None:
    """Over gRPC: INVALID_ARGUMENT, which senders do not try again."""
    for body in (in_log(fields * MIB), delimited(1, delimited(2, b"\x12\x00" * (4 * MIB)))):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await rpc.call(body, over_grpc.LOGS, compression=grpc.Compression.Gzip)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert not rpc.recorder.batches


def test_small_requests_are_bounded_where_they_are_read() -> None:
    """Under two megabytes nothing is counted beforehand; what would be made of the parts still is bounded."""
    spans = delimited(1, delimited(2, b"\x12\x00" * (otlp_read.MOST_SPANS + 1)))
    otlp.check_traces(spans)
    with pytest.raises(TooLarge):
        otlp.survey(spans, is_rag_key)


def test_an_ordinary_large_request_passes() -> None:
    """Eight thousand spans of two kilobytes, and one attribute of eleven megabytes."""
    for body in (encoded_request(8_192, "x" * 2_000), encoded_request(1, "退" * 4_000_000)):
        otlp.check_traces(body)
        assert otlp.survey(body, is_rag_key).spans


def test_a_glance_is_enough_for_an_ordinary_request_and_ends_early_for_any_other() -> None:
    """What it did not see is left to a thread."""
    assert otlp.check_traces(encoded_request(512, "x" * 2_000), glance=True)
    assert not otlp.check_traces(b"\x0a\x00" * MIB, glance=True)


@given(st.binary(max_size=400))
def test_density_is_told_or_the_bytes_are_no_request(body: bytes) -> None:
    """Whatever the bytes are."""
    for check in (otlp_density.check_traces, otlp_density.check_logs):
        with contextlib.suppress(MalformedOtlp):
            check(body)


@pytest.mark.parametrize(
    "text",
    [
        b'{"resourceSpans":[' + b"{}," * MIB + b"{}]}",
        b'{"resourceSpans":[{"scopeSpans":[' + b"{}," * MIB + b"{}]}]}",
        b'{"x":[' + b"[]," * MIB + b"[]]}",
    ],
    ids=["resources", "scopes", "unknown"],
)
async def test_json_of_countless_parts_is_refused(text: bytes, http: over_http.Station) -> None:
    """413, before it is parsed."""
    assert (await http.post(text, JSON))[0] == 413
    assert http.answers("too_large") == 1


# --- nested, repeated, broken -----------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [10, 200, 10_000])
async def test_depth_costs_nothing(depth: int, http: over_http.Station, rpc: over_grpc.Station) -> None:
    """What is only passed on is not looked into; where it is read, more than protobuf allows is malformed."""
    body = nested(depth)
    assert (await http.post(body))[0] == 200
    assert await rpc.call(body) == b""
    assert http.recorder.batches[0].body == body
    (span,) = otlp.split(body)
    if depth == 10:
        assert "input.value" in otlp.read_span(span).attributes
    else:
        with pytest.raises(MalformedOtlp):
            otlp.read_span(span)


@pytest.mark.usefixtures("judges")
@pytest.mark.parametrize("key", ["input.value", "openinference.span.kind", "gen_ai.operation.name"])
async def test_a_span_that_cannot_be_read_leaves_and_is_accounted_for(key: str, tmp_path: Path) -> None:
    """Wherever the depth is: it is acknowledged, delivered, and neither held nor left in the spool."""
    async with backend() as behind, running(behind, spool=str(tmp_path / "spool")) as rig:
        assert await rig.post(nested(200, key)) == 200
        await behind.until(lambda it: b"\1" * 16 in b"".join(it.bodies))
        telemetry = rig.collector.telemetry
        await eventually(lambda: telemetry.value(Figure.FORWARDED) == 1)
        await eventually(lambda: not telemetry.value(Figure.HELD) + telemetry.value(Figure.SPOOLED))
        assert unaccounted(telemetry) == 0


@pytest.mark.parametrize("depth", [1_000, 10_000, 200_000])
@pytest.mark.parametrize(
    "shape",
    [
        ('{"arrayValue":{"values":[', "]}}"),
        ("[", "]"),
        ('{"a":', "}"),
    ],
    ids=["values", "lists", "objects"],
)
async def test_deep_json_is_malformed(depth: int, shape: tuple[str, str], http: over_http.Station) -> None:
    """400 from any depth that the parser does not go to, in an attribute or in a field that nobody knows."""
    opening, closing = shape
    value = opening * depth + closing * depth
    attribute = f'{{"key":"k","value":{value}}}'
    text = f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"attributes":[{attribute}]}}]}}]}}]}}'
    assert (await http.post(text.encode(), JSON))[0] == 400
    assert http.answers("malformed") == 1


async def test_keys_that_come_twice_keep_both_bytes_and_the_last_value(http: over_http.Station) -> None:
    """On the wire nothing is taken away; readers see what the last one says."""
    body = in_span(
        b"".join(delimited(9, delimited(1, b"k") + delimited(2, delimited(1, text))) for text in (b"a", b"b"))
    )
    assert (await http.post(body))[0] == 200
    assert http.recorder.batches[0].body == body
    assert otlp.read_spans(body)[0].attributes == {"k": "b"}


async def test_broken_utf8_costs_nothing_but_itself(http: over_http.Station) -> None:
    """An app that cuts a text inside a character must not lose its batch."""
    body = in_span(delimited(9, delimited(1, b"k\xff") + delimited(2, delimited(1, b"a\xe9"))))
    assert (await http.post(body))[0] == 200
    assert otlp.read_spans(body)[0].attributes == {"k\ufffd": "a\ufffd"}


async def test_an_enum_that_does_not_exist_is_carried(http: over_http.Station) -> None:
    """A newer OTLP may know it."""
    body = in_span(b"\x30\xe7\x07")  # kind = 999
    assert (await http.post(body))[0] == 200
    assert otlp.read_spans(body)[0].kind == 999


MALFORMED: dict[str, tuple[bytes, dict[str, str]]] = {
    "garbage": (b"\xff" * 100, PROTOBUF),
    "garbage behind": (encoded_request() + b"\xff\xff", PROTOBUF),
    "a field cut short": (encoded_request()[:-3], PROTOBUF),
    "a length beyond the end": (b"\x0a\xff\xff\xff\xff\x0f", PROTOBUF),
    "a varint without end": (b"\x0a" + b"\xff" * 20, PROTOBUF),
    "a group": (b"\x0b\x0c", PROTOBUF),
    "field 0": (b"\x02\x00", PROTOBUF),
    "json as protobuf": (b'{"resourceSpans":[]}', PROTOBUF),
    "protobuf as json": (encoded_request(), JSON),
    "no json": (b"{", JSON),
    "json with a tail": (b'{"resourceSpans":[]} x', JSON),
    "a json list": (b"[]", JSON),
    "json in utf-16": (json.dumps({"resourceSpans": []}).encode("utf-16")[:-1], JSON),
    "an id that is no hex": (b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"xyz"}]}]}]}', JSON),
    "not gzip": (encoded_request(), {**PROTOBUF, "content-encoding": "gzip"}),
    "gzip cut short": (gzip.compress(encoded_request())[:-9], {**PROTOBUF, "content-encoding": "gzip"}),
    "gzip with a wrong sum": (
        gzip.compress(encoded_request())[:-8] + b"\0" * 8,
        {**PROTOBUF, "content-encoding": "gzip"},
    ),
    "gzip and garbage": (
        gzip.compress(encoded_request()) + b"garbage",
        {**PROTOBUF, "content-encoding": "gzip"},
    ),
    "gzip in gzip": (
        gzip.compress(gzip.compress(encoded_request())),
        {**PROTOBUF, "content-encoding": "gzip"},
    ),
}


@pytest.mark.parametrize("kind", MALFORMED)
async def test_what_is_no_request_is_answered_400(kind: str, http: over_http.Station) -> None:
    """And counted as malformed; nothing of it is handed on."""
    body, headers = MALFORMED[kind]
    status, answer, _ = await http.post(body, headers)
    assert status == 400
    assert http.answers("malformed") == 1
    assert not http.recorder.batches
    assert b"resourceSpans" not in answer, "an answer quotes nothing of the request"


@pytest.mark.parametrize("kind", [kind for kind, (_, headers) in MALFORMED.items() if headers is PROTOBUF])
async def test_what_is_no_message_is_an_invalid_argument(kind: str, rpc: over_grpc.Station) -> None:
    """The same over gRPC."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.call(MALFORMED[kind][0])
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert not rpc.recorder.batches


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "application/x-protobuf; charset=utf-8"}, 200),
        ({"content-type": "APPLICATION/X-PROTOBUF"}, 200),
        ({"content-type": "application/grpc"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "multipart/form-data; boundary=x"}, 415),
        ({"content-type": ""}, 415),
        ({**PROTOBUF, "content-encoding": "identity"}, 200),
        ({**PROTOBUF, "content-encoding": "br"}, 415),
        ({**PROTOBUF, "content-encoding": "zstd"}, 415),
        ({**PROTOBUF, "content-encoding": "gzip, gzip"}, 415),
        ({**PROTOBUF, "content-encoding": "x" * 4_000}, 415),
    ],
)
async def test_types_and_encodings(headers: dict[str, str], status: int, http: over_http.Station) -> None:
    """Those of OTLP are taken, with or without parameters; any other is 415."""
    assert (await http.post(encoded_request(), headers))[0] == status


async def test_a_body_in_chunks_without_length_is_taken(http: over_http.Station) -> None:
    """Some senders stream."""
    body = encoded_request(3)

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(body), 7):
            yield body[at : at + 7]

    assert (await http.post(pieces()))[0] == 200
    assert http.recorder.batches[0].body == body


# --- bombs ------------------------------------------------------------------------------------------------


def zeros(machine: Any, size: int) -> bytes:
    """``size`` zeros, packed piece by piece."""
    piece = b"\0" * MIB
    return b"".join([*(machine.compress(piece) for _ in range(size // MIB)), machine.flush()])


FAR_MORE = 8 * LIMITS.body


def members(count: int, content: bytes) -> bytes:
    out = io.BytesIO()
    for _ in range(count):
        out.write(gzip.compress(content))
    return out.getvalue()


BOMBS: dict[str, tuple[str, Callable[[], bytes], type[Exception]]] = {
    "gzip": ("gzip", lambda: zeros(zlib.compressobj(1, wbits=31), FAR_MORE), TooLarge),
    "deflate": ("deflate", lambda: zeros(zlib.compressobj(1), FAR_MORE), TooLarge),
    "raw deflate": ("deflate", lambda: zeros(zlib.compressobj(1, wbits=-15), FAR_MORE), TooLarge),
    "many members": ("gzip", lambda: members(1_000, b"\0" * 10_000), MalformedOtlp),
    "members of nothing": ("gzip", lambda: members(100_000, b""), MalformedOtlp),
    "a bomb behind a good member": (
        "gzip",
        lambda: gzip.compress(encoded_request()) + zeros(zlib.compressobj(1, wbits=31), FAR_MORE),
        TooLarge,
    ),
}


@pytest.fixture(scope="module", params=BOMBS)
def bomb(request: pytest.FixtureRequest) -> tuple[str, bytes, type[Exception]]:
    encoding, make, error = BOMBS[request.param]
    return encoding, make(), error


async def test_a_bomb_is_refused_and_others_are_served(
    bomb: tuple[str, bytes, type[Exception]], http: over_http.Station
) -> None:
    """A thousandth of what comes out: no more than the limit is unpacked, off the loop."""
    encoding, body, error = bomb
    exploding = asyncio.create_task(http.post(body, {**PROTOBUF, "content-encoding": encoding}))
    assert (await http.post(encoded_request()))[0] == 200
    assert (await exploding)[0] == (413 if error is TooLarge else 400)
    assert len(http.recorder.batches) == 1


def test_no_more_is_unpacked_than_the_limit(bomb: tuple[str, bytes, type[Exception]]) -> None:
    """The same by itself, for HTTP bodies and for gRPC messages."""
    encoding, body, error = bomb
    with pytest.raises(error):
        decode_content(body, encoding, LIMITS.body)
    with pytest.raises((TooLarge, MalformedOtlp)):
        otlp.check_traces(decode_message(body, LIMITS.body))


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize("size", [0, 1, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1, 16 * MIB])
def test_what_fits_comes_out_whole(encoding: str, size: int) -> None:
    """Up to the limit itself, in one piece or in several, in one member or in two."""
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    body = bytes(size)
    assert decode_content(pack(body, 1), encoding, LIMITS.body) == body
    if encoding == "gzip":
        assert (
            decode_content(pack(body[:1], 1) + pack(b"") + pack(body[1:], 1), encoding, LIMITS.body) == body
        )
    assert decode_content(b"", encoding, LIMITS.body) == b""


def test_a_grpc_message_is_told_by_how_it_begins() -> None:
    """Packed either way or not at all."""
    body = encoded_request(3)
    for packed in (body, gzip.compress(body), zlib.compress(body)):
        assert decode_message(packed, LIMITS.body) == body


# --- connections ------------------------------------------------------------------------------------------

HEAD = b"host: x\r\ncontent-type: application/x-protobuf\r\n"
POST = b"POST /v1/traces HTTP/1.1\r\n" + HEAD
INNER = POST + b"content-length: 0\r\n\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n"

SMUGGLED = {
    "length and chunks": POST + b"content-length: 5\r\n" + CHUNKED + b"\r\n0\r\n\r\n" + INNER,
    "chunks and length": POST + CHUNKED + b"content-length: 5\r\n\r\n0\r\n\r\n" + INNER,
    "two lengths": POST + b"content-length: 0\r\ncontent-length: 9\r\n\r\n" + INNER,
    "a list of lengths": POST + b"content-length: 0, 5\r\n\r\n" + INNER,
    "a negative length": POST + b"content-length: -1\r\n\r\n" + INNER,
    "a signed length": POST + b"content-length: +0\r\n\r\n" + INNER,
    "a hexadecimal length": POST + b"content-length: 0x10\r\n\r\n" + INNER,
    "a length of many digits": POST + b"content-length: " + b"9" * 40 + b"\r\n\r\n",
    "an unknown transfer": POST + b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n" + INNER,
    "chunks that are not last": POST + b"transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n" + INNER,
    "a control character": POST + b"transfer-encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + INNER,
    "a space before the colon": POST + b"content-length : 5\r\n\r\nabcde" + INNER,
    "a folded field": POST + b"x: a\r\n content-length: 5\r\n\r\n" + INNER,
    "bare line feeds": POST.replace(b"\r\n", b"\n") + b"content-length: 0\n\n" + INNER,
    "a bare carriage return": POST + b"x: a\rcontent-length: 5\r\n\r\n" + INNER,
    "a zero byte": POST + b"x: a\0b\r\ncontent-length: 0\r\n\r\n" + INNER,
    "a chunk too large to count": POST + CHUNKED + b"\r\n" + b"f" * 18 + b"\r\nx",
    "a chunk of no size": POST + CHUNKED + b"\r\nzz\r\nx",
    "a length in the trailer": POST + CHUNKED + b"\r\n0\r\ncontent-length: 5\r\n\r\n",
    "another protocol": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a tunnel": b"CONNECT other:80 HTTP/1.1\r\n" + HEAD + b"\r\n",
}
"""What a proxy in front may read in one way and we in another: a second request hides in the first."""


@pytest.mark.parametrize("kind", SMUGGLED)
async def test_a_head_of_two_meanings_is_refused(kind: str, http: over_http.Station) -> None:
    """400, the connection ends, and what is hidden behind is not taken."""
    answer = await over_http.raw_exchange(http, SMUGGLED[kind])
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert not http.recorder.batches
    assert http.answers("broken_http") == 1


async def test_connections_are_bounded_and_counted() -> None:
    """One too many is cut off; when one has gone, the next comes in."""
    async with over_http.Station(limits=Limits(connections=2, head_time=30.0)) as station:
        first, second = [await asyncio.open_connection("127.0.0.1", station.receiver.port) for _ in range(2)]
        for _, writer in (first, second):
            writer.write(INNER)
        for reader, _ in (first, second):
            assert b" 200 " in await asyncio.wait_for(reader.readuntil(b"\r\n"), 5)
        assert await over_http.raw_exchange(station, INNER) == b""
        assert station.answers("too_many_connections") == 1
        first[1].close()
        await first[1].wait_closed()
        assert (await station.post(encoded_request()))[0] == 200
        second[1].close()


@pytest.mark.parametrize(
    ("sent", "reason"),
    [(b"", "head_too_slow"), (POST, "head_too_slow"), (POST + b"x: " + b"a" * 20_000, "head_too_large")],
)
async def test_what_is_cut_off_is_counted_by_reason(
    sent: bytes, reason: str, http: over_http.Station
) -> None:
    """Though it never became a request."""
    assert await over_http.raw_exchange(http, sent) == b""
    assert http.answers(reason) == 1


async def test_a_connection_without_requests_is_closed(http: over_http.Station) -> None:
    """After the idle time, as the one that was served is."""
    answer = await over_http.raw_exchange(http, INNER)
    assert answer.startswith(b"HTTP/1.1 200 ")


async def test_a_grpc_connection_that_says_nothing_is_closed(rpc: over_grpc.Station) -> None:
    """No preface within the time for a head."""
    reader, writer = await asyncio.open_connection("127.0.0.1", rpc.receiver.port)
    with contextlib.suppress(ConnectionError):
        while await asyncio.wait_for(reader.read(65_536), 10):
            pass
    writer.close()
    assert await rpc.call(encoded_request()) == b""


async def test_a_grpc_call_whose_message_does_not_come_is_given_up(rpc: over_grpc.Station) -> None:
    """DEADLINE_EXCEEDED after the time for a body; one without any message is an invalid argument."""

    async def nothing() -> AsyncIterator[bytes]:
        for message in ():
            yield message

    with pytest.raises(grpc.aio.AioRpcError) as slow:
        await rpc.channel.stream_unary(over_grpc.TRACES)()
    assert slow.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    with pytest.raises(grpc.aio.AioRpcError) as empty:
        await rpc.channel.stream_unary(over_grpc.TRACES)(nothing())
    assert empty.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert await rpc.call(encoded_request()) == b""


async def test_grpc_connections_are_bounded() -> None:
    """One too many is closed before it says anything."""
    async with over_grpc.Station(limits=Limits(connections=1, head_time=30.0)) as station:
        assert await station.call(encoded_request()) == b""
        reader, writer = await asyncio.open_connection("127.0.0.1", station.receiver.port)
        with contextlib.suppress(ConnectionError):
            assert not await asyncio.wait_for(reader.read(), 10)
        writer.close()
        assert await station.call(encoded_request()) == b""


def test_no_receiver_takes_the_files_that_the_rest_needs() -> None:
    """However many connections are asked for."""
    assert Limits(connections=10**9).affordable().connections < 10**9
    assert Limits(connections=16).affordable().connections == 16


def test_official_classes_read_what_the_bombs_are_made_of() -> None:
    """So that they test what they say: the parts are where OTLP has them."""
    request = ExportTraceServiceRequest.FromString(in_span(delimited(9, delimited(1, b"k"))))
    assert request.resource_spans[0].scope_spans[0].spans[0].attributes[0].key == "k"
    assert Endpoint().port == 0
