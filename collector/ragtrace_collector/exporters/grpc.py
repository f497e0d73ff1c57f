"""OTLP/gRPC out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import grpc

from ragtrace.errors import ConfigError, ExportError, PermanentExport, RetryableExport
from ragtrace_collector.exporters.sender import Misdirected, Oversize, ServerFault
from ragtrace_collector.exporters.target import Destination
from ragtrace_collector.otlp_replies import decode_retry_info, rejected_by
from ragtrace_collector.stages import Signal

METHODS = {
    Signal.TRACES: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    Signal.LOGS: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}
_Code = grpc.StatusCode
RETRYABLE = {
    _Code.CANCELLED,
    _Code.DEADLINE_EXCEEDED,
    _Code.ABORTED,
    _Code.OUT_OF_RANGE,
    _Code.UNAVAILABLE,
    _Code.DATA_LOSS,
}
"""By the OTLP specification; RESOURCE_EXHAUSTED is told apart by :func:`error_of`."""
MISDIRECTED = {
    _Code.UNAUTHENTICATED: "see whether its headers hold a token that is valid",
    _Code.PERMISSION_DENIED: "see whether the token in its headers may write",
    _Code.UNIMPLEMENTED: "see whether its url is the one for OTLP/gRPC traces",
    _Code.NOT_FOUND: "see whether its url is the one for OTLP/gRPC traces",
}
"""Answers about who asks and where, with what to do about each."""
_TOO_LARGE = re.compile(r"larger than max|too large|exceed.*(size|limit)|message size", re.IGNORECASE)


class GrpcSender:
    """Sends to one OTLP/gRPC backend."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        self._metadata = tuple((name.lower(), value) for name, value in destination.headers.items())
        self._compression = (
            grpc.Compression.Gzip if destination.compression == "gzip" else grpc.Compression.NoCompression
        )
        self._channel: Any = None
        self._calls: dict[Signal, Any] = {}
        self.name = destination.name

    async def open(self) -> None:
        """Make the channel; it connects with the first request."""
        options = [("grpc.max_send_message_length", -1), ("grpc.primary_user_agent", "ragtrace")]
        address = self._destination.address()
        if self._destination.is_secure:
            self._channel = grpc.aio.secure_channel(address, self._credentials(), options, self._compression)
        else:
            self._channel = grpc.aio.insecure_channel(address, options, self._compression)
        self._calls = {signal: self._channel.unary_unary(method) for signal, method in METHODS.items()}

    def _credentials(self) -> Any:
        destination = self._destination
        return grpc.ssl_channel_credentials(
            root_certificates=_read(destination.ca, "export.ca"),
            private_key=_read(destination.key, "export.key"),
            certificate_chain=_read(destination.cert, "export.cert"),
        )

    async def send(self, body: bytes, signal: Signal) -> int:
        """One call. See :class:`~ragtrace_collector.exporters.sender.Sender`."""
        try:
            reply: bytes = await self._calls[signal](
                body, timeout=self._destination.timeout, metadata=self._metadata
            )
        except grpc.aio.AioRpcError as error:
            details, trailing = error.details() or "", error.trailing_metadata()
            raise error_of(error.code(), details, trailing, signal) from None
        return rejected_by(reply)

    async def close(self) -> None:
        """Close the channel."""
        if self._channel is not None:
            await self._channel.close()


def _read(file: Path | None, path: str) -> bytes | None:
    try:
        return None if file is None else file.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}", path) from None


def error_of(
    code: grpc.StatusCode, details: str, trailing: Any, signal: Signal = Signal.TRACES
) -> ExportError:
    """A failed call → what to do about it.

    RESOURCE_EXHAUSTED means two things: too many requests (with a RetryInfo, but not every backend sends one)
    and too large a request, which only its text tells.
    """
    message = f"gRPC {code.name}"
    if code in RETRYABLE or code is _Code.RESOURCE_EXHAUSTED:
        delay = _delay(trailing)
        if code is _Code.RESOURCE_EXHAUSTED and delay is None and _TOO_LARGE.search(details):
            return Oversize(message)
        return RetryableExport(message, delay)
    if code in {_Code.UNKNOWN, _Code.INTERNAL}:
        return ServerFault(message)
    if code in MISDIRECTED and not (code is _Code.UNIMPLEMENTED and signal is Signal.LOGS):
        return Misdirected(message, MISDIRECTED[code])
    return PermanentExport(message, splittable=code is _Code.INVALID_ARGUMENT)


def _delay(trailing: Any) -> float | None:
    for name, value in trailing or ():
        if name == "google.rpc.retryinfo-bin":
            return decode_retry_info(value)
    return None
