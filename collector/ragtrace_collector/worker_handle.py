"""The collector's end of the pipe to a scoring worker: start, submit, restart after a crash."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ragtrace.errors import ConfigError, RagtraceError
from ragtrace_collector.worker_messages import (
    Bench,
    Done,
    Failed,
    Found,
    Job,
    Message,
    NotReady,
    Ready,
    Setup,
    read_frame,
    to_frame,
)

if TYPE_CHECKING:
    from ragtrace.model import Evaluation, Interaction
    from ragtrace_collector.stages import HeldInteraction

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_STARTS = 3
"""The first process may be killed before it is ready (memory is short): that is no reason not to serve."""
_STOP_WITHIN = 2.0


class WorkerFailure(RagtraceError):
    """A job was not done. ``reason`` is short: ``worker_lost``, ``worker_down``, or an exception's type."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass
class Pending:
    """A job in work.

    ``found`` are its interactions without their texts, as soon as they are known; ``result`` becomes its
    evaluations, or raises :class:`WorkerFailure`.
    """

    result: asyncio.Future[tuple[Evaluation, ...]]
    found: tuple[Interaction, ...] | None = None
    overdue: asyncio.TimerHandle | None = field(default=None, repr=False)


class Worker:
    """A worker process that is kept alive.

    ``grace`` is how many seconds past a job's time it may stay silent before it counts as hung and is
    replaced. ``on_restart`` is called after each loss.
    """

    def __init__(
        self, setup: Setup, *, grace: float = 10.0, on_restart: Callable[[], None] = lambda: None
    ) -> None:
        self._setup, self._grace, self._on_restart = setup, grace, on_restart
        self._process: asyncio.subprocess.Process | None = None
        self._pending: dict[int, Pending] = {}
        self._ids = itertools.count(1)
        self._ready: asyncio.Future[Ready] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._is_up = False

    async def start(self) -> Ready:
        """Start the process and wait until its judges stand.

        Raises:
            ConfigError: they cannot be built from this setup.
        """
        self._ready = asyncio.get_running_loop().create_future()
        self._keeper = asyncio.create_task(self._keep())
        return await asyncio.shield(self._ready)

    @property
    def pending(self) -> int:
        """Jobs in work."""
        return len(self._pending)

    @property
    def pid(self) -> int | None:
        """Process id, while one runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    def submit(
        self, bench: Bench, held: HeldInteraction, seconds: float, known: Mapping[str, str]
    ) -> Pending:
        """Hand over a job. Never waits; the outcome is in the result. See :class:`Job` for the arguments."""
        loop = asyncio.get_running_loop()
        pending = Pending(loop.create_future())
        pending.result.add_done_callback(_look_at)
        if not self._is_up or self._process is None or self._process.stdin is None:
            pending.result.set_exception(WorkerFailure("worker_down"))
            return pending
        number = next(self._ids)
        job = Job(number, bench, (*held.left, *held.spans), held.logs, seconds, known)
        if not _written(self._process.stdin, job):
            pending.result.set_exception(WorkerFailure("worker_down"))
            return pending
        self._pending[number] = pending
        pending.overdue = loop.call_later(seconds + self._grace, self._kill)
        return pending

    async def close(self) -> None:
        """Stop the process; jobs in work fail. May be called twice."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        self._is_up = False
        self._fail_all("worker_down")
        if self._process is not None and self._process.returncode is None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            try:
                await asyncio.wait_for(self._process.wait(), _STOP_WITHIN)
            except TimeoutError:
                self._kill()
                await self._process.wait()

    # --- the process's life -------------------------------------------------------------------------------

    async def _keep(self) -> None:
        pause, starts = _FIRST_PAUSE, 1
        while True:
            began = asyncio.get_running_loop().time()
            await self._run_once()
            self._is_up = False
            self._fail_all("worker_lost")
            assert self._ready is not None
            if not self._ready.done() and starts >= _STARTS:
                self._ready.set_exception(ConfigError("the scoring worker ended at its start", "judge"))
            if self._ready.done() and self._ready.exception() is not None:
                return
            starts += 1
            self._on_restart()
            if asyncio.get_running_loop().time() - began > _LONGEST_PAUSE:
                pause = _FIRST_PAUSE
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _run_once(self) -> None:
        process = self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "ragtrace_collector.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            # What a judge does must never be traced into the user's pipeline.
            env={**os.environ, "OTEL_SDK_DISABLED": "true"},
            # Ctrl-C in a terminal reaches the whole group: the worker stays until its pipe ends.
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        _written(process.stdin, self._setup)
        while (message := await read_frame(process.stdout)) is not None:
            self._receive(message)
        await process.wait()

    def _receive(self, message: object) -> None:
        assert self._ready is not None
        match message:
            case Ready():
                self._is_up = True
                if not self._ready.done():
                    self._ready.set_result(message)
            case NotReady(words):
                if not self._ready.done():
                    self._ready.set_exception(ConfigError(words, "judge"))
            case Found(number, interactions):
                if number in self._pending:
                    self._pending[number].found = interactions
            case Done(number, evaluations):
                if (pending := self._take(number)) is not None:
                    pending.result.set_result(evaluations)
            case Failed(number, reason):
                if (pending := self._take(number)) is not None:
                    pending.result.set_exception(WorkerFailure(reason))

    def _take(self, number: int) -> Pending | None:
        pending = self._pending.pop(number, None)
        if pending is None:
            return None
        if pending.overdue is not None:
            pending.overdue.cancel()
        return None if pending.result.done() else pending

    def _fail_all(self, reason: str) -> None:
        for number in list(self._pending):
            if (pending := self._take(number)) is not None:
                pending.result.set_exception(WorkerFailure(reason))

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()


def _written(pipe: asyncio.StreamWriter, message: Message) -> bool:
    """Put ``message`` into ``pipe`` → whether that was possible.

    The pipe of a process that has just died takes what is written to it, or raises, uvloop's a RuntimeError.
    """
    frame = to_frame(message)
    try:
        pipe.write(frame)
    except (OSError, RuntimeError):
        return False
    return True


def _look_at(result: asyncio.Future[tuple[Evaluation, ...]]) -> None:
    """Whoever waited for a failure may have been cancelled: asyncio need not complain that nobody saw it."""
    if not result.cancelled():
        result.exception()
