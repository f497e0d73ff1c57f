"""One chat endpoint: its connections, what is known of it, and how hard to lean on it."""

from __future__ import annotations

import asyncio
import random
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace

from ragtrace.endpoint.address import chat_url, proxy_of
from ragtrace.endpoint.fetching import open_session
from ragtrace.endpoint.retrying import backoff
from ragtrace.errors import JudgeError, JudgeTimeout, JudgeUnavailable
from ragtrace.judges._chat.completion import Completion
from ragtrace.judges._chat.limiter import Limiter, Sleep
from ragtrace.judges._chat.options import MIN_WINDOW, ChatOptions
from ragtrace.judges._chat.pressure import Circuit, RetryBudget
from ragtrace.judges._chat.rendering import Prompt
from ragtrace.judges._chat.traits import CAPS, Traits, learn
from ragtrace.judges._chat.wire import Line, Refused, Transient, send


@dataclass(frozen=True, slots=True)
class _Access:
    """What belongs to one event loop."""

    line: Line
    limiter: Limiter


class Endpoint:
    """Asks one model. What it learns (traits, window, pressure) holds for all requests that follow."""

    def __init__(self, options: ChatOptions, clock: Callable[[], float], sleep: Sleep) -> None:
        self._options, self._clock, self._sleep = options, clock, sleep
        self._url = chat_url(options.base_url)
        native = options.base_url is None or "openai" in options.base_url
        self._traits = Traits(cap=CAPS[0] if native else CAPS[1])
        self._sized_cap, self._keyed = True, options.keyed
        self._window = options.window_tokens
        self._circuit, self._budget = Circuit(), RetryBudget()
        self._accesses: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Access] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def window(self) -> int | None:
        """The model's window in tokens, where configured or learned."""
        return self._window

    @property
    def traits(self) -> Traits:
        """What is known of the endpoint."""
        return self._traits

    def learn_window(self, limit: int | None, attempted: int) -> None:
        """A request of about ``attempted`` tokens was too large; the endpoint named ``limit``, or nothing.

        Our estimate may be low, so that a window that should have been large enough shrinks as well.
        """
        smaller = int(min(attempted, self._window or attempted) * 0.7)
        if limit is not None and (self._window is None or limit < self._window):
            smaller = limit
        self._window = max(MIN_WINDOW, smaller)

    @property
    def keyed(self) -> bool:
        """Whether the model needs a key for each sentence to keep them apart."""
        return self._keyed

    def need_keys(self) -> None:
        """Replies as lists confused the model, keyed ones did not."""
        self._keyed = True

    def lift_cap(self) -> None:
        """A reply was cut at the size that we reserved: the model writes more (it thinks first); let it."""
        self._sized_cap = False

    async def complete(self, prompt: Prompt, deadline: float | None) -> Completion:
        """Ask, and ask again as far as attempts, the shared budget and ``deadline`` allow.

        Raises:
            JudgeTimeout: no reply before the deadline.
            JudgeUnavailable: the endpoint fails or pushes back, or has done so too often just now.
            WindowExceeded: the request is too large.
            JudgeError: it will not be answered.
        """
        remaining = None if deadline is None else deadline - self._clock()
        if remaining is not None and remaining <= 0:
            raise JudgeTimeout("deadline")
        try:
            async with asyncio.timeout(remaining):
                return await self._persist(prompt, deadline)
        except TimeoutError as error:
            raise JudgeTimeout("deadline") from error

    async def aclose(self) -> None:
        """Close the connections of this event loop; those of dead loops are gone already."""
        access = self._accesses.pop(asyncio.get_running_loop(), None)
        if access is not None:
            await access.line.session.close()

    async def _persist(self, prompt: Prompt, deadline: float | None) -> Completion:
        attempt = 0
        while True:
            admitting = self._circuit.admitting(self._clock())
            if admitting is None:
                raise JudgeUnavailable(f"circuit_open({self._circuit.cause})")
            self._circuit = admitting
            try:
                completion = await self._adapt(prompt)
            except Transient as failure:
                attempt += 1
                await self._wait(failure, attempt, deadline)
                continue
            except JudgeError:
                self._circuit = self._circuit.after_answer()
                raise
            self._circuit, self._budget = self._circuit.after_answer(), self._budget.earned()
            return completion

    async def _adapt(self, prompt: Prompt) -> Completion:
        """Ask with fewer parameters until the endpoint takes the request; remember what it took."""
        traits = self._traits
        while True:
            try:
                completion = await self._send(prompt, traits)
            except Refused as refusal:
                less = learn(traits, str(refusal))
                if less is None:
                    raise JudgeError("bad_request") from refusal
                traits = less
                continue
            self._traits = replace(traits, proven=True)
            return completion

    async def _send(self, prompt: Prompt, traits: Traits) -> Completion:
        access = self._access()
        async with access.limiter.place():
            try:
                async with asyncio.timeout(self._options.timeout):
                    completion = await send(access.line, prompt, traits, self._options, self._cap(prompt))
            except TimeoutError as error:
                raise Transient("timeout") from error
            except Transient as failure:
                if failure.pushed_back:
                    access.limiter.overloaded(self._heeded(failure.retry_after))
                raise
            access.limiter.succeeded()
            return completion

    async def _wait(self, failure: Transient, attempt: int, deadline: float | None) -> None:
        """Wait before the next attempt, or give up."""
        now = self._clock()
        if failure.pushed_back:
            self._circuit = self._circuit.after_push_back(now)
        else:
            self._circuit = self._circuit.after_failure(now, failure.reason)
        budget = self._budget.spent()
        pause = backoff(attempt, failure.retry_after, random.random())  # noqa: S311  # spreads load, no secret
        too_late = deadline is not None and now + pause >= deadline
        too_long = too_late or pause > self._options.retry_after_max
        if budget is None or too_long or attempt >= self._options.attempts:
            if failure.reason == "timeout":
                raise JudgeTimeout("timeout") from failure
            raise JudgeUnavailable(failure.reason, retry_after=failure.retry_after) from failure
        self._budget = budget
        await self._sleep(pause)

    def _cap(self, prompt: Prompt) -> int | None:
        return self._options.max_output_tokens or (prompt.output_tokens if self._sized_cap else None)

    def _heeded(self, retry_after: float | None) -> float | None:
        return None if retry_after is None else min(retry_after, self._options.retry_after_max)

    def _access(self) -> _Access:
        loop = asyncio.get_running_loop()
        if (access := self._accesses.get(loop)) is None:
            session = open_session(self._options.key(), self._options.timeout)
            limiter = Limiter(self._options.concurrency, self._clock, self._sleep)
            access = self._accesses[loop] = _Access(Line(session, self._url, proxy_of(self._url)), limiter)
        return access
