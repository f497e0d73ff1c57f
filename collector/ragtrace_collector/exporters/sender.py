"""What a destination is to the rest: one way to send an encoded request, and errors that say what to do."""

from __future__ import annotations

from typing import Protocol

from ragtrace.errors import PermanentExport, RetryableExport
from ragtrace_collector.stages import Signal


class Sender(Protocol):
    """Sends requests to one backend, one attempt a call. Used by several tasks at once."""

    name: str

    async def open(self) -> None:
        """Get ready.

        Raises:
            ConfigError: a setting makes it impossible.
        """

    async def send(self, body: bytes, signal: Signal) -> int:
        """Send one encoded request → how many of its items the backend said it threw away.

        Raises:
            RetryableExport: it may take the request later.
            PermanentExport: it will never take it; ``splittable`` where a part of it may be taken.
        """

    async def close(self) -> None:
        """Give connections and files back."""


class ServerFault(RetryableExport):
    """The backend failed in a way that may be this very request's fault: not to be tried for ever."""


class Misdirected(ServerFault):
    """The backend refuses who asks or where, not what: a token that has expired, a wrong path.

    A fault of the set-up loses nothing: spans wait until it is mended. ``advice`` says how.
    """

    def __init__(self, message: str, advice: str) -> None:
        super().__init__(message)
        self.advice = advice


class Oversize(PermanentExport):
    """The request is larger than the backend takes; a smaller one may be taken."""

    def __init__(self, message: str) -> None:
        super().__init__(message, splittable=True)
