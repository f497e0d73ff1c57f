"""A worker process of ``ragtrace evaluate``: rows come through a pipe, records go back, in any order.

It judges on a loop of its own, so that CPU work (reading replies, embedding) is not one process's, and opens
the journal itself: what a request brought is kept before the row is done.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ragtrace.evaluation import Evaluator
from ragtrace.model import Interaction
from ragtrace_collector.evaluating.journal import Forgetful, Journal
from ragtrace_collector.evaluating.measuring import Measuring
from ragtrace_collector.garbage import collect_seldom
from ragtrace_collector.judging import make_judge


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker judges by: the flags of the judge, the metrics, and the journal of what was paid for
    (``None`` for a judge that costs nothing). ``fresh`` = take nothing out of it."""

    judging: Mapping[str, Any]
    measuring: Measuring
    journal: Path | None = None
    fresh: bool = False


def serve(pipe: Connection, assignment: Assignment) -> None:
    """Judge the (number, row) pairs that come through ``pipe`` and send (number, record) back, until ``None``
    comes or the other end is gone: with it goes what is at work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the parent decides
    opened = nullcontext(None) if assignment.journal is None else Journal(assignment.journal)
    with opened as journal:
        asyncio.run(_serve(pipe, assignment, journal))


async def _serve(pipe: Connection, assignment: Assignment, journal: Journal | None) -> None:
    store = Forgetful(journal) if journal is not None and assignment.fresh else journal
    made = make_judge(**assignment.judging, store=store)
    evaluator = assignment.measuring.evaluator(made)
    collect_seldom()
    rows: asyncio.Queue[tuple[int, Interaction] | None] = asyncio.Queue()
    listener = (pipe, asyncio.get_running_loop(), rows)
    threading.Thread(target=_listen, args=listener, name="ragtrace-rows", daemon=True).start()
    try:
        async with asyncio.TaskGroup() as group:
            running = set[asyncio.Task[None]]()
            while (given := await rows.get()) is not None:
                task = group.create_task(_judge(pipe, assignment.measuring, evaluator, *given))
                running.add(task)
                task.add_done_callback(running.discard)
            for task in tuple(running):
                task.cancel()
    finally:
        await made.aclose()


async def _judge(
    pipe: Connection, measuring: Measuring, evaluator: Evaluator, number: int, row: Interaction
) -> None:
    record = await measuring.record(evaluator, row)
    with suppress(OSError):  # nobody waits for it any more
        pipe.send((number, record))


def _listen(
    pipe: Connection,
    loop: asyncio.AbstractEventLoop,
    rows: asyncio.Queue[tuple[int, Interaction] | None],
) -> None:
    """Hand over what comes, and ``None`` when no more will."""
    given: tuple[int, Interaction] | None = None
    while True:
        try:
            given = pipe.recv()
        except (EOFError, OSError):
            given = None
        try:
            loop.call_soon_threadsafe(rows.put_nowait, given)
        except RuntimeError:
            return  # the loop has ended
        if given is None:
            return
