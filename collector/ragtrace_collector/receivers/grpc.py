"""OTLP over gRPC. Generic handlers take the request's bytes: nothing is parsed by the generated stubs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc

from ragtrace_collector.otlp_replies import encode_retry_info, encode_status
from ragtrace_collector.receivers.answers import (
    DRAINING,
    NO_MESSAGE,
    TOO_SLOW,
    UNAUTHORIZED,
    Answer,
    Rejected,
    answer_to,
)
from ragtrace_collector.receivers.aside import Aside
from ragtrace_collector.receivers.content import check, decode_message
from ragtrace_collector.receivers.endpoint import DEFAULT_LIMITS, Admission, Endpoint, Limits, Ticket
from ragtrace_collector.stages import Consumer, Signal, SpanBatch
from ragtrace_collector.telemetry import Figure, Telemetry

SERVICES = {
    "opentelemetry.proto.collector.trace.v1.TraceService": Signal.TRACES,
    "opentelemetry.proto.collector.logs.v1.LogsService": Signal.LOGS,
}

_CODES = {code.value[0]: code for code in grpc.StatusCode}

_Handler = Callable[[AsyncIterator[bytes], Any], Awaitable[bytes]]


class GrpcReceiver:
    """Listens from :meth:`start` to :meth:`stop`. Answers when ``next`` has taken the batch."""

    def __init__(
        self,
        next: Consumer[SpanBatch],
        endpoint: Endpoint,
        telemetry: Telemetry,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._next, self._endpoint, self._telemetry = next, endpoint, telemetry
        self._limits = limits.affordable()
        self._admission = Admission(limits.in_flight)
        self._aside = Aside()
        self._draining = False
        self._server: Any = None
        self.port = endpoint.port

    async def start(self) -> None:
        """Listen.

        Raises:
            ConfigError: the address cannot be listened on, or is not safe to.
        """
        # gRPC binds by itself, and says no more than "failed"; a socket of ours finds out why.
        self._endpoint.bind().close()
        server = grpc.aio.server(
            options=_options(self._limits), maximum_concurrent_rpcs=self._limits.connections
        )
        server.add_generic_rpc_handlers(
            [_service(name, self._handler(signal)) for name, signal in SERVICES.items()]
        )
        try:
            self.port = self._listen(server)
        except RuntimeError as error:
            raise self._endpoint.unusable("gRPC cannot bind to it") from error
        await server.start()
        self._server = server

    def _listen(self, server: Any) -> int:
        host = f"[{self._endpoint.host}]" if ":" in self._endpoint.host else self._endpoint.host
        address = f"{host}:{self._endpoint.port}"
        if self._endpoint.cert is None or self._endpoint.key is None:
            port: int = server.add_insecure_port(address)
            return port
        pair = (self._endpoint.key.read_bytes(), self._endpoint.cert.read_bytes())
        client_ca = self._endpoint.client_ca
        credentials = grpc.ssl_server_credentials(
            [pair],
            root_certificates=None if client_ca is None else client_ca.read_bytes(),
            require_client_auth=client_ca is not None,
        )
        secure_port: int = server.add_secure_port(address, credentials)
        return secure_port

    async def stop(self, grace: float = 5.0) -> None:
        """Refuse what comes now, give the requests in work ``grace`` seconds to be answered, close."""
        self._draining = True
        if self._server is not None:
            await self._server.stop(grace)
            self._server = None

    def _handler(self, signal: Signal) -> _Handler:
        async def export(requests: AsyncIterator[bytes], context: Any) -> bytes:
            answer = await self._take(signal, requests, context)
            self._count(signal, "accepted" if answer is None else answer.name)
            if answer is not None:
                await _say_no(context, answer)
            return b""

        return export

    async def _take(self, signal: Signal, requests: AsyncIterator[bytes], context: Any) -> Answer | None:
        """One request → the answer where it is not yes. Of what was raised nothing is kept."""
        try:
            self._look_at_head(context)
            with self._admission.ticket() as ticket:
                body = await self._read(requests, ticket)
                await check(body, signal, self._aside)
                await self._next.consume(SpanBatch(body, signal=signal))
        except Exception as error:  # noqa: BLE001  # whatever happens behind us, the sender gets an answer
            return answer_to(error)
        return None

    async def _read(self, requests: AsyncIterator[bytes], ticket: Ticket) -> bytes:
        """The one message of a call. As a stream's first: only so can it be waited for with patience."""
        try:
            async with asyncio.timeout(self._limits.body_time):
                message = await anext(requests)
        except TimeoutError:
            raise Rejected(TOO_SLOW) from None
        except StopAsyncIteration:
            raise Rejected(NO_MESSAGE) from None
        ticket.grow(len(message))
        body = await self._aside.run(decode_message, message, self._limits.body)
        ticket.grow(max(len(body) - len(message), 0))
        return body

    def _look_at_head(self, context: Any) -> None:
        if self._draining:
            raise Rejected(DRAINING)
        if self._endpoint.token is not None:
            metadata = dict(context.invocation_metadata())
            if not self._endpoint.admits(metadata.get("authorization")):
                raise Rejected(UNAUTHORIZED)

    def _count(self, signal: Signal, answer: str) -> None:
        self._telemetry.count(Figure.REQUESTS, transport="grpc", signal=signal, answer=answer)


def _service(name: str, handler: _Handler) -> Any:
    return grpc.method_handlers_generic_handler(
        name, {"Export": grpc.stream_unary_rpc_method_handler(handler)}
    )


def _options(limits: Limits) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", limits.body),
        # gRPC's own unpacking is bounded for one message, but not in how many are unpacked at once.
        ("grpc.per_message_decompression", 0),
        ("grpc.max_metadata_size", limits.header),
        ("grpc.max_concurrent_streams", limits.streams),
        ("grpc.max_allowed_incoming_connections", limits.connections),
        ("grpc.max_connection_idle_ms", int(1_000 * limits.idle)),
        ("grpc.server_handshake_timeout_ms", int(1_000 * limits.head_time)),
        ("grpc.so_reuseport", 0),
    ]


async def _say_no(context: Any, answer: Answer) -> None:
    metadata = [("grpc-status-details-bin", encode_status(answer.code, answer.message, answer.retry_after))]
    if answer.retry_after is not None:
        # Python's SDK looks for the delay here, the others in the details.
        metadata.append(("google.rpc.retryinfo-bin", encode_retry_info(answer.retry_after)))
    await context.abort(_CODES[answer.code], answer.message, tuple(metadata))
