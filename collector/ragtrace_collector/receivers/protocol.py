"""uvicorn's HTTP protocol with bounds that it lacks: on connections, on a head's size and on its time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ragtrace_collector.receivers.endpoint import Limits


def guarded_protocol(limits: Limits, refused: Callable[[str], None]) -> type[HttpToolsProtocol]:
    """The protocol class that enforces ``connections``, ``header`` and ``head_time`` of ``limits``.

    ``refused`` is told why a connection was cut off, or answered 400, before there was a request.
    """

    class GuardedProtocol(HttpToolsProtocol):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._head: int | None = 0  # bytes of the head so far; None between heads
            self._patience: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                self._cut_off("too_many_connections")
            else:
                self._await_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_is_done()
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            self._await_head()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._head_is_done()
            super().on_headers_complete()

        def data_received(self, data: bytes) -> None:
            if self._head is not None:
                self._head += len(data)
            super().data_received(data)
            # Still in the head behind this piece: all of the piece was head.
            if self._head is not None and self._head > limits.header and not self.transport.is_closing():
                self._cut_off("head_too_large")

        def send_400_response(self, msg: str) -> None:
            refused("broken_http")
            super().send_400_response(msg)

        def _cut_off(self, reason: str) -> None:
            refused(reason)
            self.transport.abort()

        def _await_head(self) -> None:
            if self._patience is None:
                self._head = 0
                self._patience = self.loop.call_later(limits.head_time, self._cut_off, "head_too_slow")

        def _head_is_done(self) -> None:
            self._head = None
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None

    return GuardedProtocol
