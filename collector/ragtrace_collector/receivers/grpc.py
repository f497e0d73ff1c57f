"""OTLP over gRPC. Generic handlers take the request's bytes: nothing is parsed by the generated stubs."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from ragtrace_collector.otlp_replies import encode_retry_info, encode_status
from ragtrace_collector.receivers.answers import DRAINING, FAILED, UNAUTHORIZED, Answer, Rejected, answer_to
from ragtrace_collector.receivers.endpoint import DEFAULT_LIMITS, Admission, Endpoint, Limits
from ragtrace_collector.stages import Consumer, Signal, SpanBatch
from ragtrace_collector.telemetry import Figure, Telemetry

SERVICES = {
    "opentelemetry.proto.collector.trace.v1.TraceService": Signal.TRACES,
    "opentelemetry.proto.collector.logs.v1.LogsService": Signal.LOGS,
}

_log = logging.getLogger(__name__)
_CODES = {code.value[0]: code for code in grpc.StatusCode}

_Handler = Callable[[bytes, Any], Awaitable[bytes]]


class GrpcReceiver:
    """Listens from :meth:`start` to :meth:`stop`. Answers when ``next`` has taken the batch."""

    def __init__(
        self,
        next: Consumer[SpanBatch],
        endpoint: Endpoint,
        telemetry: Telemetry,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._next, self._endpoint, self._telemetry, self._limits = next, endpoint, telemetry, limits
        self._admission = Admission(limits.in_flight)
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
            options=[
                ("grpc.max_receive_message_length", self._limits.body),
                ("grpc.max_metadata_size", self._limits.header),
                ("grpc.max_concurrent_streams", self._limits.streams),
                ("grpc.so_reuseport", 0),
            ],
            maximum_concurrent_rpcs=self._limits.connections,
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
        async def export(body: bytes, context: Any) -> bytes:
            try:
                self._look_at_head(context)
                with self._admission.ticket() as ticket:
                    ticket.grow(len(body))
                    await self._next.consume(SpanBatch(body, signal=signal))
            except Exception as error:  # noqa: BLE001  # whatever happens behind us, the sender gets an answer
                answer = answer_to(error)
                if answer is FAILED:
                    _log.error("a request failed: %s", type(error).__name__)
                self._count(signal, answer.name)
                await _say_no(context, answer)
            else:
                self._count(signal, "accepted")
            return b""

        return export

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
        name, {"Export": grpc.unary_unary_rpc_method_handler(handler)}
    )


async def _say_no(context: Any, answer: Answer) -> None:
    metadata = [("grpc-status-details-bin", encode_status(answer.code, answer.message, answer.retry_after))]
    if answer.retry_after is not None:
        # Python's SDK looks for the delay here, the others in the details.
        metadata.append(("google.rpc.retryinfo-bin", encode_retry_info(answer.retry_after)))
    await context.abort(_CODES[answer.code], answer.message, tuple(metadata))
