"""The gRPC receiver, over loopback, with the real SDK and with senders that misbehave."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from collector.otlp_peers import Recorder, encoded_request, sdk_spans
from collector.test_receivers_http import make_certificate
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExportResult

from ragtrace.errors import ConfigError, MalformedOtlp, TooLarge
from ragtrace_collector.receivers import Endpoint, GrpcReceiver, Limits
from ragtrace_collector.stages import Refused, Signal
from ragtrace_collector.telemetry import Figure, Telemetry

LOOPBACK = Endpoint()
LIMITS = Limits(body=6_000_000, in_flight=8_000_000)
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"


class Station:
    """A receiver, what stands behind it, and a channel in front."""

    def __init__(self, endpoint: Endpoint = LOOPBACK, limits: Limits = LIMITS) -> None:
        self.recorder, self.telemetry, self.endpoint = Recorder(), Telemetry(), endpoint
        self.receiver = GrpcReceiver(self.recorder, endpoint, self.telemetry, limits)

    async def __aenter__(self) -> Station:
        await self.receiver.start()
        self.address = f"127.0.0.1:{self.receiver.port}"
        options = [("grpc.max_send_message_length", -1)]
        self.channel = grpc.aio.insecure_channel(self.address, options=options)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.channel.close()
        await self.receiver.stop(0)

    async def call(self, body: bytes, method: str = TRACES, **options: Any) -> bytes:
        answer: bytes = await self.channel.unary_unary(method)(body, timeout=10, **options)
        return answer


@pytest_asyncio.fixture
async def station() -> AsyncIterator[Station]:
    async with Station() as running:
        yield running


@pytest.mark.parametrize("compression", list(grpc.Compression))
async def test_the_sdk_exporter_delivers_its_spans(station: Station, compression: grpc.Compression) -> None:
    """Packed or not."""
    exporter = OTLPSpanExporter(station.address, insecure=True, compression=compression)
    spans = sdk_spans()
    assert await asyncio.to_thread(exporter.export, spans) is SpanExportResult.SUCCESS
    await asyncio.to_thread(exporter.shutdown)
    assert sorted(station.recorder.span_ids()) == sorted(f"{span.context.span_id:016x}" for span in spans)
    assert station.telemetry.value(Figure.REQUESTS, transport="grpc", answer="accepted") == 1


async def test_each_service_names_its_signal_and_bytes_pass_untouched(station: Station) -> None:
    """A batch beyond gRPC's own default of 4 MiB included."""
    body = encoded_request(1, "x" * 5_000_000)
    assert await station.call(body) == b""
    assert await station.call(b"", LOGS) == b""
    assert [batch.signal for batch in station.recorder.batches] == [Signal.TRACES, Signal.LOGS]
    assert station.recorder.batches[0].body == body


@pytest.mark.parametrize(
    ("error", "code", "delay"),
    [
        (Refused("memory", 0.25), grpc.StatusCode.RESOURCE_EXHAUSTED, 0.25),
        (Refused("memory", 60), grpc.StatusCode.RESOURCE_EXHAUSTED, 2.0),
        (MalformedOtlp("no"), grpc.StatusCode.INVALID_ARGUMENT, None),
        (TooLarge("a span"), grpc.StatusCode.INVALID_ARGUMENT, None),
        (RuntimeError("a bug of ours"), grpc.StatusCode.UNAVAILABLE, 1.0),
    ],
)
async def test_what_is_raised_behind_becomes_the_answer(
    station: Station, error: Exception, code: grpc.StatusCode, delay: float | None
) -> None:
    """With RetryInfo both where Python's SDK reads it and where the others do."""
    station.recorder.error = error
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await station.call(encoded_request())
    assert caught.value.code() is code
    assert "bug" not in (caught.value.details() or "")
    trailing = dict(caught.value.trailing_metadata() or ())
    status = Status.FromString(trailing["grpc-status-details-bin"])
    assert status.code == code.value[0]
    if delay is None:
        assert "google.rpc.retryinfo-bin" not in trailing
    else:
        info = RetryInfo.FromString(trailing["google.rpc.retryinfo-bin"])
        assert info.retry_delay.ToTimedelta().total_seconds() == delay
        assert status.details[0].Is(RetryInfo.DESCRIPTOR)


async def test_the_sdk_comes_again_after_a_refusal(station: Station) -> None:
    """It honours RetryInfo."""
    station.recorder.error = Refused("memory", 0.1)
    exporter = OTLPSpanExporter(station.address, insecure=True)
    export = asyncio.create_task(asyncio.to_thread(exporter.export, sdk_spans()))
    await asyncio.wait_for(station.recorder.entered.wait(), 5)
    station.recorder.error = None
    assert await asyncio.wait_for(export, 10) is SpanExportResult.SUCCESS
    await asyncio.to_thread(exporter.shutdown)


async def test_requests_over_the_limit_and_bombs_are_refused(station: Station) -> None:
    """By gRPC itself, and where they were packed to a thousandth by us, for good; both are counted."""
    for options, code, counted in (
        ({}, grpc.StatusCode.RESOURCE_EXHAUSTED, "no_message"),
        ({"compression": grpc.Compression.Gzip}, grpc.StatusCode.INVALID_ARGUMENT, "too_large"),
        ({"compression": grpc.Compression.Deflate}, grpc.StatusCode.INVALID_ARGUMENT, "too_large"),
    ):
        before = station.telemetry.value(Figure.REQUESTS, answer=counted)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await station.call(b"\0" * 50_000_000, **options)
        assert caught.value.code() is code
        assert station.telemetry.value(Figure.REQUESTS, answer=counted) == before + 1
    assert len(gzip.compress(b"\0" * 50_000_000)) < LIMITS.body
    assert not station.recorder.batches


async def test_a_token_opens_the_door() -> None:
    """It travels as metadata."""
    async with Station(Endpoint(token="sesame")) as station:
        assert await station.call(b"", metadata=(("authorization", "Bearer sesame"),)) == b""
        for metadata in ((), (("authorization", "Bearer open"),)):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await station.call(b"", metadata=metadata)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_a_port_in_use_is_one_clear_line(station: Station) -> None:
    """It names the address and the setting."""
    again = GrpcReceiver(Recorder(), Endpoint(port=station.receiver.port, name="otlp_grpc"), Telemetry())
    with pytest.raises(ConfigError, match="otlp_grpc: cannot listen on"):
        await again.start()


async def test_tls_is_spoken_where_a_certificate_is_given(tmp_path: Path) -> None:
    """The client trusts the certificate that the server shows."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make_certificate(cert, key)
    async with Station(Endpoint(cert=cert, key=key)) as station:
        credentials = grpc.ssl_channel_credentials(cert.read_bytes())
        async with grpc.aio.secure_channel(station.address, credentials) as channel:
            assert await channel.unary_unary(TRACES)(b"", timeout=10) == b""


async def test_requests_beyond_what_may_be_in_work_are_refused(station: Station) -> None:
    """Bytes are bounded over all connections."""
    station.recorder.gate = asyncio.Event()
    body = encoded_request(1, "x" * 5_000_000)
    first = asyncio.create_task(station.call(body))
    await asyncio.wait_for(station.recorder.entered.wait(), 5)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await station.call(body)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    station.recorder.gate.set()
    assert await first == b""


async def test_stopping_answers_what_is_in_work(station: Station) -> None:
    """And refuses what comes meanwhile."""
    station.recorder.gate = asyncio.Event()
    call = asyncio.create_task(station.call(encoded_request()))
    await asyncio.wait_for(station.recorder.entered.wait(), 5)
    stop = asyncio.create_task(station.receiver.stop(5))
    station.recorder.gate.set()
    assert await call == b""
    await stop
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await station.call(b"")
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
