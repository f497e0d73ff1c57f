"""Delivery over loopback gRPC; the clock is ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from collector.exporter_rig import delivering
from collector.otlp_peers import encoded_request

from ragtrace_collector import otlp
from ragtrace_collector.otlp_replies import encode_retry_info


@asynccontextmanager
async def grpc_backend(
    answer: Callable[[bytes, Any], Awaitable[bytes]], **options: Any
) -> AsyncIterator[str]:
    server = grpc.aio.server(options=list(options.items()))
    for name in ("trace.v1.TraceService", "logs.v1.LogsService"):
        handler = grpc.unary_unary_rpc_method_handler(answer)
        server.add_generic_rpc_handlers(
            [
                grpc.method_handlers_generic_handler(
                    f"opentelemetry.proto.collector.{name}", {"Export": handler}
                )
            ]
        )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"grpc://127.0.0.1:{port}"
    finally:
        await server.stop(0)


@pytest.mark.parametrize("compression", ["none", "gzip"])
async def test_grpc_delivers_with_headers(compression: str) -> None:
    """As metadata, in lower case."""
    seen: list[tuple[bytes, dict[str, str]]] = []

    async def answer(body: bytes, context: Any) -> bytes:
        seen.append((body, dict(context.invocation_metadata())))
        return b""

    async with (
        grpc_backend(answer) as url,
        delivering(url, headers={"X-Key": "k"}, compression=compression) as delivery,
    ):
        await delivery.send(encoded_request(3))
    assert seen[0][0] == encoded_request(3)
    assert seen[0][1]["x-key"] == "k"
    assert delivery.balance() == (3, 0)


async def test_grpc_waits_as_long_as_retry_info_says() -> None:
    """UNAVAILABLE and RESOURCE_EXHAUSTED with RetryInfo are tried again."""
    codes = iter([grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE, None])

    async def answer(body: bytes, context: Any) -> bytes:
        code = next(codes)
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            await context.abort(code, "later", (("google.rpc.retryinfo-bin", encode_retry_info(12.5)),))
        elif code is not None:
            await context.abort(code, "later")
        return b""

    async with grpc_backend(answer) as url, delivering(url) as delivery:
        await delivery.send(encoded_request(3))
    assert delivery.clock.slept == [12.5, 1.0]
    assert delivery.balance() == (3, 0)


async def test_grpc_requests_shrink_to_what_the_server_takes() -> None:
    """A real gRPC server with its default limit of 4 MiB."""
    taken: list[int] = []

    async def answer(body: bytes, context: Any) -> bytes:
        taken.extend(int(span.span_id, 16) for span in otlp.read_spans(body))
        return b""

    async with grpc_backend(answer) as url, delivering(url, max_request=20_000_000) as delivery:
        await delivery.send(encoded_request(159, "x" * 100_000))
    assert Counter(taken) == Counter(range(1, 160))
    assert delivery.balance() == (159, 0)
