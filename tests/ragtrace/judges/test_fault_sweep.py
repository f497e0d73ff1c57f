"""Every fault of servers and models, in both languages, against every metric, over real HTTP.

Either the right number comes out or an honest status: never a silent 0, 1 or NaN, never an exception, and
nothing is left behind on the host's event loop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from servers.case import BY_CODE, BY_JUDGE, LANGUAGES, embedder, interaction
from servers.faults import HANGING, NEVER_RIGHT, RIGHT_IN_THE_END

from ragtrace.evaluation import Evaluator
from ragtrace.model import Evaluation, Language, Outcome, Score, Status

pytestmark = pytest.mark.parametrize("language", LANGUAGES)


async def evaluate(bench: Any, language: Language, deadline: float | None = None, **more: Any) -> Evaluation:
    evaluator = Evaluator(bench.judge, embedder(language), **more)
    async with unharmed_loop():
        return await evaluator.evaluate(interaction(language), deadline)


@asynccontextmanager
async def unharmed_loop() -> AsyncIterator[None]:
    """What else runs on the loop runs on; nothing fails behind its back, and no task is left."""
    loop, complaints = asyncio.get_running_loop(), list[Mapping[str, Any]]()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, complaint: complaints.append(complaint))
    stop = asyncio.Event()
    bystander = asyncio.create_task(stop.wait())
    others = asyncio.all_tasks()
    try:
        yield
        if (
            left := asyncio.all_tasks() - others
        ):  # those that were told to stop need a turn of the loop for it
            await asyncio.wait(left, timeout=5)
        assert asyncio.all_tasks() == others
        stop.set()
        assert await bystander
        assert complaints == []
    finally:
        loop.set_exception_handler(before)


def values(outcomes: Mapping[str, Outcome], names: Mapping[str, float]) -> dict[str, float | None]:
    return {name: outcomes[name].value for name in names}


@pytest.mark.parametrize("name", RIGHT_IN_THE_END)
async def test_what_can_be_mended_ends_in_the_right_numbers(
    bench: Any, language: Language, name: str
) -> None:
    """Of every metric, not only of some."""
    judge = bench(RIGHT_IN_THE_END[name])
    outcomes = (await evaluate(judge, language, clock=judge.clock)).outcomes
    assert outcomes.keys() == BY_JUDGE.keys() | BY_CODE.keys()
    assert values(outcomes, BY_JUDGE | BY_CODE) == pytest.approx(BY_JUDGE | BY_CODE)


def assert_all_say(outcomes: Mapping[str, Outcome], status: Status, reason: str) -> None:
    """Every judged metric has ``status`` and a reason, the verdicts' ``reason``; the others their numbers."""
    assert outcomes.keys() == BY_JUDGE.keys() | BY_CODE.keys()
    assert values(outcomes, BY_CODE) == pytest.approx(BY_CODE)
    for name in BY_JUDGE:
        outcome = outcomes[name]
        assert not isinstance(outcome, Score), name
        assert (outcome.status, outcome.value) == (status, None), name
        assert outcome.reason, name
    assert outcomes["faithfulness"].reason == reason


@pytest.mark.parametrize("name", NEVER_RIGHT)
async def test_what_cannot_be_mended_ends_in_a_status(bench: Any, language: Language, name: str) -> None:
    """Every judged metric says why it has no number; what needs no judge has its own."""
    script, reason = NEVER_RIGHT[name]
    judge = bench(script)
    outcomes = (await evaluate(judge, language, clock=judge.clock)).outcomes
    assert_all_say(outcomes, Status.JUDGE_ERROR, reason)


@pytest.mark.parametrize("name", HANGING)
async def test_what_never_ends_ends_at_the_deadline(bench: Any, language: Language, name: str) -> None:
    """Timed out, not zero, and the request is dropped."""
    never = threading.Event()
    judge = bench(HANGING[name](never), real_clock=True)
    try:
        outcomes = (await evaluate(judge, language, time.monotonic() + 0.15)).outcomes
    finally:
        never.set()
    assert_all_say(outcomes, Status.TIMED_OUT, "deadline")
