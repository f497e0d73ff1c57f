"""How hard a judge leans on its endpoint: limiter, retry budget, circuit."""

from __future__ import annotations

import asyncio
from typing import Any

from servers.openai_chat import Http, good_reply

from ragtrace.judges._chat.limiter import Limiter
from ragtrace.judges._chat.pressure import (
    COOLDOWN,
    PAUSE,
    TRIP,
    Circuit,
    Concurrency,
    RetryBudget,
)
from ragtrace.judges.base import Want
from ragtrace.testing import make_interaction


def test_an_overload_halves_and_successes_add_one_a_round() -> None:
    """Additive increase, multiplicative decrease, never below one, never above the maximum."""
    state = Concurrency(8, 8.0).after_overload(10.0, None)
    assert state.limit == 4.0
    for _ in range(4):
        state = state.after_success()
    assert 4.8 < state.limit < 5.1
    for _ in range(200):
        state = state.after_success()
    assert state.limit == 8.0
    for second in range(20, 40, 2):
        state = state.after_overload(float(second), None)
    assert state.limit == 1.0


def test_complaints_of_one_burst_count_once() -> None:
    """The requests that were in flight complain together."""
    state = Concurrency(8, 8.0).after_overload(10.0, None)
    assert state.after_overload(10.0 + COOLDOWN / 2, None).limit == 4.0
    assert state.after_overload(10.0 + COOLDOWN, None).limit == 2.0


def test_the_longest_pause_asked_for_holds() -> None:
    """A later, shorter Retry-After does not open the gate early."""
    state = Concurrency(8, 8.0).after_overload(10.0, 5.0).after_overload(11.0, 1.0)
    assert state.open_at == 15.0


def test_retries_are_paid_for_by_successes() -> None:
    """Twenty to begin with, a tenth earned by each success."""
    budget: RetryBudget | None = RetryBudget()
    for _ in range(20):
        assert budget is not None
        budget = budget.spent()
    assert budget is not None
    assert budget.spent() is None
    for _ in range(9):
        budget = budget.earned()
    assert budget.spent() is None
    assert budget.earned().earned().spent() is not None


def test_the_circuit_opens_pauses_and_closes() -> None:
    """After a row of failures nothing passes for a while; one more failure opens it anew, a success closes it."""
    circuit = Circuit()
    for _ in range(TRIP - 1):
        circuit = circuit.after_failure(100.0)
    assert circuit.lets_through(100.0)
    circuit = circuit.after_failure(100.0)
    assert not circuit.lets_through(100.0 + PAUSE - 1)
    assert circuit.lets_through(100.0 + PAUSE)
    assert not circuit.after_failure(200.0).lets_through(201.0)
    assert circuit.after_success().after_failure(300.0).lets_through(300.0)


async def test_no_more_than_the_limit_are_let_through(bench: Any) -> None:
    """First come, first served; a place that is given back goes to the next."""
    limiter = Limiter(2, lambda: 0.0, asyncio.sleep)
    gates = [asyncio.Event() for _ in range(4)]
    entered: list[int] = []

    async def worker(n: int) -> None:
        async with limiter.place():
            entered.append(n)
            await gates[n].wait()

    tasks = [asyncio.create_task(worker(n)) for n in range(4)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert entered == [0, 1]
    gates[1].set()
    await tasks[1]
    await asyncio.sleep(0)
    assert entered == [0, 1, 2]
    tasks[3].cancel()
    for gate in gates:
        gate.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert limiter.in_flight == 0


async def test_a_cancelled_waiter_costs_no_place() -> None:
    """Nor does one that is cancelled in the moment its turn comes."""
    limiter = Limiter(1, lambda: 0.0, asyncio.sleep)
    hold = asyncio.Event()

    async def worker() -> None:
        async with limiter.place():
            await hold.wait()

    first = asyncio.create_task(worker())
    await asyncio.sleep(0)
    second, third = asyncio.create_task(worker()), asyncio.create_task(worker())
    await asyncio.sleep(0)
    hold.set()
    await first
    second.cancel()
    await asyncio.gather(second, third, return_exceptions=True)
    assert limiter.in_flight == 0
    async with asyncio.timeout(1), limiter.place():
        assert limiter.in_flight == 1


async def test_retry_after_holds_back_every_request(bench: Any) -> None:
    """A 429 with a pause: the other interaction's requests wait it out as well."""
    judge = bench(Http(429, headers=(("retry-after", "7"),)), good_reply, concurrency=1)
    replies = await asyncio.gather(
        judge.ask(make_interaction(answer="Refunds are quick."), Want.VERDICTS),
        judge.ask(make_interaction(answer="Refunds are slow."), Want.VERDICTS),
    )
    assert all(reply.faults == () for reply in replies)
    assert judge.clock.slept.count(7.0) >= 1
    assert len(judge.server.requests) == 3


async def test_an_endpoint_that_is_down_is_left_alone(bench: Any) -> None:
    """When the circuit is open no request is sent, and the reason says why; after the pause the endpoint gets another chance."""
    judge = bench(Http(500), attempts=1)
    for n in range(TRIP):
        await judge.ask(make_interaction(answer=f"Refunds are {n}."), Want.VERDICTS)
    sent = len(judge.server.requests)
    reply = await judge.ask(make_interaction(answer="Refunds are slow."), Want.VERDICTS)
    assert [fault.reason for fault in reply.faults] == ["circuit_open(server_error)"]
    assert len(judge.server.requests) == sent
    judge.clock.now += PAUSE
    await judge.ask(make_interaction(answer="Refunds are fast."), Want.VERDICTS)
    assert len(judge.server.requests) == sent + 1


async def test_a_sick_endpoint_sees_few_retries(bench: Any) -> None:
    """All interactions share one budget: forty of them do not retry forty times."""
    judge = bench(Http(429), attempts=3)
    for n in range(40):
        await judge.ask(make_interaction(answer=f"Refunds take {n} days."), Want.VERDICTS)
    assert len(judge.server.requests) == 40 + 20
