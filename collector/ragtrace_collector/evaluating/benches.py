"""Where rows are judged: on this process's loop, or shared out to worker processes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from ragtrace.errors import ConfigError
from ragtrace.model import Interaction, JudgeInfo
from ragtrace_collector.evaluating.measuring import Measuring
from ragtrace_collector.evaluating.worker import Assignment, serve
from ragtrace_collector.judging import Judging

_SECONDS_TO_END = 5.0
_AT_ONCE_A_PROCESS = 16
"""Judgements at once that one process has the CPU time for, where a request takes a tenth of a second."""


class Bench(Protocol):
    """Judges rows, ``width`` of them at a time."""

    @property
    def width(self) -> int:
        """Rows to hand over at a time."""

    @property
    def judge(self) -> JudgeInfo:
        """Who judges."""

    async def evaluate(self, row: Interaction) -> str:
        """The row's record as JSON. Never raises for what judge, embedder or texts do."""

    async def aclose(self) -> None:
        """Free what it holds; may be called twice."""


class LocalBench:
    """Judges on this process's loop."""

    def __init__(self, made: Judging, measuring: Measuring) -> None:
        self._made, self._measuring = made, measuring
        self._evaluator = measuring.evaluator(made)

    @property
    def width(self) -> int:
        """The judge's concurrency."""
        return self._made.concurrency

    @property
    def judge(self) -> JudgeInfo:
        """Who judges."""
        return self._evaluator.judge_info

    async def evaluate(self, row: Interaction) -> str:
        """See :class:`Bench`."""
        return await self._measuring.record(self._evaluator, row)

    async def aclose(self) -> None:
        """See :class:`Bench`."""
        await self._made.aclose()


class PoolBench:
    """Judges in worker processes, each with a loop of its own and its share of ``at_once`` judgements.

    They are spawned, so that nothing of this process is copied, and end with it, however it ends. Made inside
    a running event loop. ``info`` says who judges.
    """

    def __init__(self, assignment: Assignment, processes: int, at_once: int, info: JudgeInfo) -> None:
        self._info, self._width = info, at_once
        self._workers = [_Worker(_share(assignment, part)) for part in shares(at_once, processes)]

    @property
    def width(self) -> int:
        """Judgements at once in all processes together."""
        return self._width

    @property
    def judge(self) -> JudgeInfo:
        """Who judges."""
        return self._info

    async def evaluate(self, row: Interaction) -> str:
        """See :class:`Bench`; by the worker that has the least to do.

        Raises:
            ConfigError: a worker process died (out of memory?).
        """
        return await min(self._workers, key=lambda worker: worker.load).evaluate(row)

    async def aclose(self) -> None:
        """See :class:`Bench`."""
        await asyncio.gather(*(worker.aclose() for worker in self._workers))


class _Worker:
    """This process's end of one worker."""

    def __init__(self, assignment: Assignment) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawning.Pipe()
        self._process = spawning.Process(target=serve, args=(theirs, assignment), daemon=True)
        self._process.start()
        theirs.close()
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[str]] = {}
        self._handed_over = 0
        self._is_lost = False
        threading.Thread(target=self._listen, name="ragtrace-records", daemon=True).start()

    @property
    def load(self) -> int:
        """Rows that it is at."""
        return len(self._waiting)

    async def evaluate(self, row: Interaction) -> str:
        """The row's record.

        Raises:
            ConfigError: the process died.
        """
        self._handed_over += 1
        number = self._handed_over
        waiting: asyncio.Future[str] = self._loop.create_future()
        self._waiting[number] = waiting
        try:
            # Short: at the other end a thread does nothing but take rows.
            self._pipe.send((number, row))
        except OSError:
            self._lose()
        if self._is_lost:
            self._lose()
        try:
            return await waiting
        finally:
            self._waiting.pop(number, None)

    async def aclose(self) -> None:
        """End the process, and what it is at."""
        with suppress(OSError):
            self._pipe.send(None)
        await asyncio.to_thread(self._process.join, _SECONDS_TO_END)
        if self._process.is_alive():
            self._process.kill()
            await asyncio.to_thread(self._process.join, _SECONDS_TO_END)

    def _listen(self) -> None:
        with suppress(RuntimeError):  # the loop has ended
            while True:
                try:
                    number, record = self._pipe.recv()
                except (EOFError, OSError):
                    break
                self._loop.call_soon_threadsafe(self._settle, number, record)
            self._loop.call_soon_threadsafe(self._lose)

    def _settle(self, number: int, record: str) -> None:
        waiting = self._waiting.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(record)

    def _lose(self) -> None:
        self._is_lost = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(
                    ConfigError("a worker process died; --processes 1 needs the least memory")
                )


def shares(total: int, parts: int) -> list[int]:
    """``total`` in ``parts`` that differ by one at most, none empty: 32 in 3 → [11, 11, 10]."""
    parts = max(1, min(parts, total))
    return [total // parts + (number < total % parts) for number in range(parts)]


def processes_for(at_once: int, rows: int, wanted: int | None) -> int:
    """How many processes judge ``rows`` rows, ``at_once`` at a time, where the judge waits for an endpoint:
    as many as are ``wanted``, else one for every 16 judgements at once, up to one a core."""
    if wanted is not None:
        return min(wanted, at_once, rows)
    return max(1, min(cores(), -(-at_once // _AT_ONCE_A_PROCESS), rows // _AT_ONCE_A_PROCESS))


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _share(assignment: Assignment, at_once: int) -> Assignment:
    return replace(assignment, judging={**assignment.judging, "concurrency": at_once})
