"""uvicorn's HTTP protocol with bounds that it lacks: on the size of a request's head and on its time."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ragtrace_collector.receivers.endpoint import Limits


def guarded_protocol(limits: Limits) -> type[HttpToolsProtocol]:
    """The protocol class that enforces ``limits.header`` and ``limits.head_time``."""

    class GuardedProtocol(HttpToolsProtocol):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._head: int | None = 0  # bytes of the head so far; None between heads
            self._patience: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
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
            if self._head is not None and self._head > limits.header:
                self.transport.abort()

        def _await_head(self) -> None:
            if self._patience is None:
                self._head = 0
                self._patience = self.loop.call_later(limits.head_time, self.transport.abort)

        def _head_is_done(self) -> None:
            self._head = None
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None

    return GuardedProtocol
