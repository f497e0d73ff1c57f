"""How hard a judge leans on its endpoint: limiter, retry budget, circuit."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
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


def opened(now: float = 100.0) -> Circuit:
    """A circuit that ``TRIP`` failures have opened: the first could not connect, the others were refused."""
    circuit = Circuit().after_failure(now, "unreachable")
    for _ in range(TRIP - 1):
        assert circuit.admitting(now) == circuit
        circuit = circuit.after_failure(now, "server_error")
    return circuit


def test_the_circuit_opens_and_pauses() -> None:
    """After a row of failures nothing passes for a while; what the first of them was stays known."""
    circuit = opened()
    assert circuit.admitting(100.0) is None
    assert circuit.admitting(100.0 + PAUSE - 1) is None
    assert circuit.cause == "unreachable"


def test_one_probe_at_a_time_passes_a_circuit_that_was_open() -> None:
    """It fails, or is never heard of again: the next comes a pause later. It is answered: all pass."""
    later = 100.0 + PAUSE
    probing = opened().admitting(later)
    assert probing is not None
    assert probing.admitting(later) is None
    assert probing.admitting(later + PAUSE) is not None
    failed = probing.after_failure(later + 5, "timeout")
    assert (failed.admitting(later + PAUSE), failed.cause) == (None, "unreachable")
    assert failed.admitting(later + 5 + PAUSE) is not None
    answered = probing.after_answer()
    assert (answered.admitting(later), answered.cause) == (answered, "")


def test_a_probe_that_is_pushed_back_lets_the_next_one_probe() -> None:
    """It is no failure, and no proof that the endpoint is well."""
    later = 100.0 + PAUSE
    probing = opened().admitting(later)
    assert probing is not None
    again = probing.after_push_back(later + 1).admitting(later + 1)
    assert again is not None
    assert again.admitting(later + 1) is None


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


async def test_the_first_cause_of_an_open_circuit_is_told_until_it_closes(bench: Any) -> None:
    """Later failures may only follow from it; after an answer it is forgotten."""
    broken = [Http(200, body=b"<html>"), *[Http(500)] * (TRIP - 1)]
    judge = bench(*broken, good_reply, *[Http(500)] * TRIP, attempts=1)

    async def ask(*numbers: int) -> list[str]:
        rows = [make_interaction(answer=f"Refunds take {n} days.") for n in numbers]
        replies = [await judge.ask(row, Want.VERDICTS) for row in rows]
        return [fault.reason for reply in replies for fault in reply.faults]

    await ask(*range(TRIP))
    assert await ask(20) == ["circuit_open(malformed_response)"]
    judge.clock.now += PAUSE
    assert await ask(21) == []
    await ask(*range(30, 30 + TRIP))
    assert await ask(40) == ["circuit_open(server_error)"]


async def test_exactly_one_probe_is_sent_to_an_endpoint_that_was_down(bench: Any) -> None:
    """However many wait for it to come back; its answer lets the others through again."""
    release = threading.Event()
    judge = bench(*[Http(500)] * TRIP, Http(500, hold=release), good_reply, attempts=1)
    for n in range(TRIP):
        await judge.ask(make_interaction(answer=f"Refunds take {n} days."), Want.VERDICTS)
    judge.clock.now += PAUSE
    crowd = [
        asyncio.create_task(judge.ask(make_interaction(answer=f"Refunds cost {n}."), Want.VERDICTS))
        for n in range(5)
    ]
    refused, waiting = await asyncio.wait(crowd, timeout=5, return_when=asyncio.FIRST_COMPLETED)
    while len(waiting) > 1:
        done, waiting = await asyncio.wait(waiting, timeout=5, return_when=asyncio.FIRST_COMPLETED)
        refused |= done
    assert {task.result().faults[0].reason for task in refused} == {"circuit_open(server_error)"}
    release.set()
    await asyncio.gather(*waiting)
    assert len(judge.server.requests) == TRIP + 1
    judge.clock.now += PAUSE
    assert (await judge.ask(make_interaction(answer="Refunds are slow."), Want.VERDICTS)).faults == ()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:05 GMT", "date": "Wed, 21 Oct 2026 07:28:01 GMT"}, 4.0),
    ],
)
async def test_a_pause_is_heeded_in_every_form(bench: Any, headers: dict[str, str], seconds: float) -> None:
    """Milliseconds, and a date."""
    judge = bench(Http(429, headers=tuple(headers.items())), good_reply)
    assert (await judge.ask(make_interaction(), Want.VERDICTS)).faults == ()
    assert judge.clock.slept[0] == pytest.approx(seconds)


async def test_nobody_waits_beyond_the_deadline(bench: Any) -> None:
    """A pause that ends after it is not begun."""
    judge = bench(Http(429, headers=(("retry-after", "20"),)))
    reply = await judge.ask(make_interaction(), Want.VERDICTS, deadline=judge.clock.now + 10)
    assert [fault.reason for fault in reply.faults] == ["rate_limited"]
    assert judge.clock.slept == []
