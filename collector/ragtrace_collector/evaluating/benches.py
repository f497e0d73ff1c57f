"""Where rows are judged: in this process for a judge that waits for an endpoint, in worker processes for one
that computes."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from typing import Literal, Protocol

from ragtrace.embedders.embedded import EmbeddedEmbedder
from ragtrace.errors import ConfigError
from ragtrace.evaluation import Evaluator
from ragtrace.judges import create
from ragtrace.metrics import by_name
from ragtrace.model import Evaluation, Interaction, JudgeInfo, Language, Status, Unscored
from ragtrace.records import evaluation_to_dict
from ragtrace.refusals import with_refusal
from ragtrace_collector.commands.judging import Judging


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


@dataclass(frozen=True, slots=True)
class Measuring:
    """What rows are measured by. ``row_timeout`` is in seconds, ``None`` = no limit."""

    metrics: tuple[str, ...]
    language: Language | Literal["auto"] = "auto"
    row_timeout: float | None = 120.0


class LocalBench:
    """Judges on this process's loop: what it waits for is an endpoint."""

    def __init__(self, made: Judging, measuring: Measuring) -> None:
        self._made, self._measuring = made, measuring
        self._evaluator = _evaluator(made, measuring)

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
        return _record(await _judged(self._evaluator, row, self._measuring))

    async def aclose(self) -> None:
        """See :class:`Bench`."""
        await self._made.judge.aclose()


class PoolBench:
    """The embedded judge in as many processes as there are cores.

    They are spawned, so that nothing of this process is copied, and end with it, however it ends.
    """

    def __init__(self, measuring: Measuring, processes: int | None = None) -> None:
        self._processes = processes or _cores()
        self._info = _evaluator(_embedded(), measuring).judge_info
        self._pool = ProcessPoolExecutor(
            self._processes,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start,
            initargs=(measuring,),
        )

    @property
    def width(self) -> int:
        """Twice the processes: each has its next row waiting."""
        return 2 * self._processes

    @property
    def judge(self) -> JudgeInfo:
        """Who judges."""
        return self._info

    async def evaluate(self, row: Interaction) -> str:
        """See :class:`Bench`.

        Raises:
            ConfigError: a worker process died (out of memory?).
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, _work, row)
        except BrokenProcessPool as error:
            raise ConfigError("a worker process died; --processes 1 needs the least memory") from error

    async def aclose(self) -> None:
        """See :class:`Bench`."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _embedded() -> Judging:
    return Judging(create("embedded", {}), EmbeddedEmbedder(), 1)


def _evaluator(made: Judging, measuring: Measuring) -> Evaluator:
    return Evaluator(
        made.judge,
        made.embedder,
        by_name(measuring.metrics),
        language=measuring.language,
        concurrency=made.concurrency,
    )


async def _judged(evaluator: Evaluator, row: Interaction, measuring: Measuring) -> Evaluation:
    limit = measuring.row_timeout
    found = await evaluator.evaluate(row, None if limit is None else time.monotonic() + limit)
    return _without_answer(found) if row.error is not None and row.answer is None else with_refusal(found)


def _without_answer(evaluation: Evaluation) -> Evaluation:
    """Where the app raised, every metric lacks a number that it should have: coverage must say so."""
    outcomes = {name: Unscored(name, Status.SKIPPED, "app_failed") for name in evaluation.outcomes}
    return replace(evaluation, outcomes=outcomes)


def _record(evaluation: Evaluation) -> str:
    return json.dumps(evaluation_to_dict(evaluation), ensure_ascii=False, allow_nan=False)


# --- in a worker process ----------------------------------------------------------------------------------

_seat: list[tuple[asyncio.AbstractEventLoop, Evaluator, Measuring]] = []
"""The worker's own evaluator, made once by its initializer."""


def _start(measuring: Measuring) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the parent decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _seat.append((asyncio.new_event_loop(), _evaluator(_embedded(), measuring), measuring))


def _end_with_parent() -> None:
    """A pool's process waits for work for ever, even where the one that gives it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _work(row: Interaction) -> str:
    loop, evaluator, measuring = _seat[0]
    return _record(loop.run_until_complete(_judged(evaluator, row, measuring)))


def known_metrics(ks: Sequence[int], *, has_gold: bool) -> tuple[str, ...]:
    """The names of what a set is measured by: the default metrics, and with gold documents the retrieval
    measures at each cut-off of ``ks``."""
    from ragtrace.metrics import DEFAULT_METRICS

    names = [metric.name for metric in DEFAULT_METRICS]
    if has_gold:
        measures = ("hit", "mrr", "ndcg", "precision", "recall")
        names += ["mrr", *(f"{measure}@{k}" for measure in measures for k in ks)]
    return tuple(names)
