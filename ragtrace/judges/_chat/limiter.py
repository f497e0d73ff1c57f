"""One adaptive concurrency limiter over all requests of a judge."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from ragtrace.judges._chat.pressure import Concurrency

Sleep = Callable[[float], Awaitable[object]]


class Limiter:
    """Lets requests through, first come first served, as many at a time as the endpoint bears.

    Belongs to one event loop. Cancelling a waiter gives its place to the next.
    """

    def __init__(self, maximum: int, clock: Callable[[], float], sleep: Sleep) -> None:
        self._state = Concurrency(maximum, float(maximum))
        self._clock, self._sleep = clock, sleep
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def state(self) -> Concurrency:
        """The present limit."""
        return self._state

    @property
    def in_flight(self) -> int:
        """Requests that hold a place."""
        return self._in_flight

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold a place for one request; waits for it, and for the pause that the endpoint asked for."""
        await self._enter()
        try:
            while (pause := self._state.open_at - self._clock()) > 0:
                await self._sleep(pause)
            yield
        finally:
            self._in_flight -= 1
            self._wake()

    def succeeded(self) -> None:
        """A reply came."""
        self._state = self._state.after_success()
        self._wake()

    def overloaded(self, retry_after: float | None) -> None:
        """The endpoint pushed back."""
        self._state = self._state.after_overload(self._clock(), retry_after)

    async def _enter(self) -> None:
        if self._in_flight < int(self._state.limit) and not self._waiting:
            self._in_flight += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._in_flight -= 1
                self._wake()
            elif turn in self._waiting:
                self._waiting.remove(turn)
            raise

    def _wake(self) -> None:
        """Hand out the free places; a place is taken for a waiter before it runs, so that none is lost."""
        while self._waiting and self._in_flight < int(self._state.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self._in_flight += 1
                turn.set_result(None)
