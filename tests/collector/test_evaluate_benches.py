"""Rows are shared out to worker processes, and come back as this process would have judged them."""

import asyncio
import json
import multiprocessing
from typing import Any

import pytest

from ragtrace.errors import ConfigError
from ragtrace.model import Interaction, RetrievedDocument
from ragtrace_collector.evaluating.benches import LocalBench, PoolBench, processes_for, shares
from ragtrace_collector.evaluating.measuring import Measuring, known_metrics
from ragtrace_collector.evaluating.worker import Assignment
from ragtrace_collector.judging import make_judge

FLAGS: dict[str, Any] = {"kind": "embedded"}
MEASURING = Measuring(known_metrics((1,), has_gold=False))


def row(number: int) -> Interaction:
    fact = f"Parcel {number} weighs {number + 2} kilograms."
    documents = (RetrievedDocument("a", 1, fact),)
    return Interaction(question=f"How heavy is parcel {number}?", answer=fact, documents=documents)


def pool(processes: int = 1) -> PoolBench:
    made = LocalBench(make_judge(**FLAGS), MEASURING)
    return PoolBench(Assignment(FLAGS, MEASURING), processes, 2 * processes, made.judge)


async def test_a_pool_gives_each_row_its_own_record() -> None:
    """Many at once: every record is the one that this process makes of that row."""
    rows = [row(number) for number in range(6)]
    local, shared = LocalBench(make_judge(**FLAGS), MEASURING), pool()
    try:
        found = await asyncio.gather(*map(shared.evaluate, rows))
    finally:
        await shared.aclose()
    assert [json.loads(one) for one in found] == [json.loads(await local.evaluate(one)) for one in rows]


async def test_a_worker_that_dies_ends_the_run() -> None:
    """Killed from outside, by whatever runs out of memory: no row waits for ever, before or after."""
    before = set(multiprocessing.active_children())
    shared = pool()
    try:
        await shared.evaluate(row(1))
        (worker,) = set(multiprocessing.active_children()) - before
        worker.kill()
        with pytest.raises(ConfigError, match="worker process died"):
            await asyncio.wait_for(shared.evaluate(row(2)), 30)
        with pytest.raises(ConfigError, match="worker process died"):
            await asyncio.wait_for(shared.evaluate(row(3)), 30)
    finally:
        await shared.aclose()


async def test_closing_ends_what_is_at_work() -> None:
    """A run that is interrupted twice leaves no process behind."""
    before = set(multiprocessing.active_children())
    shared = pool()
    waiting = asyncio.create_task(shared.evaluate(row(1)))
    await asyncio.sleep(0)
    waiting.cancel()
    await shared.aclose()
    assert set(multiprocessing.active_children()) == before


@pytest.mark.parametrize(("total", "parts"), [(32, 3), (2, 5), (1, 1), (7, 7)])
def test_shares_are_even_and_complete(total: int, parts: int) -> None:
    """They add up, differ by one at most, and none is empty."""
    found = shares(total, parts)
    assert sum(found) == total
    assert max(found) - min(found) <= 1
    assert min(found) >= 1


def test_few_rows_or_few_requests_at_once_need_one_process() -> None:
    """A process takes seconds to start: it must have work to do."""
    assert processes_for(at_once=8, rows=1000, wanted=None) == 1
    assert processes_for(at_once=512, rows=10, wanted=None) == 1
    assert processes_for(at_once=8, rows=1000, wanted=3) == 3
    assert processes_for(at_once=2, rows=1000, wanted=3) == 2
