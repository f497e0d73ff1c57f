"""The scoring worker as it is: a real process, real pipes, judges of a user's own."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import uvloop

from ragtrace.errors import ConfigError
from ragtrace.model import SpanRecord, Status
from ragtrace_collector.otlp import RawSpan, encode_span
from ragtrace_collector.stages import HeldInteraction, ReleaseReason
from ragtrace_collector.verdict_attributes import outcomes_json
from ragtrace_collector.worker_handle import Worker, WorkerFailure
from ragtrace_collector.worker_messages import Bench, JudgeSetup, Setup


@pytest.fixture
async def started(judges: Path) -> AsyncIterator[list[Worker]]:
    """Workers to be closed at the end."""
    workers: list[Worker] = []
    yield workers
    for worker in workers:
        await worker.close()


def setup(use: str) -> Setup:
    return Setup({Bench.JUDGE: JudgeSetup(f"own_judges:{use}", embedder=None)})


async def start(started: list[Worker], use: str, grace: float = 10.0) -> Worker:
    worker = Worker(setup(use), grace=grace)
    started.append(worker)
    async with asyncio.timeout(30):
        await worker.start()
    return worker


def interaction() -> HeldInteraction:
    """A retriever beneath a chain, in OpenInference's words."""
    root = SpanRecord(
        "ab" * 16,
        "01" * 8,
        None,
        "ask",
        scope="openinference.test",
        start_ns=10**18,
        end_ns=10**18 + 10**9,
        attributes={
            "openinference.span.kind": "CHAIN",
            "input.value": "How long do refunds take?",
            "output.value": "Refunds take 5 days.",
        },
    )
    retriever = SpanRecord(
        "ab" * 16,
        "02" * 8,
        "01" * 8,
        "retrieve",
        scope="openinference.test",
        start_ns=10**18,
        end_ns=10**18 + 10**8,
        attributes={
            "openinference.span.kind": "RETRIEVER",
            "input.value": "How long do refunds take?",
            "retrieval.documents.0.document.content": "Refunds take 5 days.",
            "retrieval.documents.0.document.id": "d1",
        },
    )
    return held(encode_span(root), encode_span(retriever))


def held(*spans: RawSpan) -> HeldInteraction:
    return HeldInteraction("ab" * 16, "01" * 8, spans, ReleaseReason.ENTRY, 0.0, 2.0)


async def test_it_judges_what_the_spans_hold(started: list[Worker]) -> None:
    """Spans go in, evaluations come out; what a library prints does not get between."""
    worker = await start(started, "Supports")
    pending = worker.submit(Bench.JUDGE, interaction(), 20.0, {})
    (evaluation,) = await asyncio.wait_for(pending.result, 20)
    assert evaluation.interaction.question == "How long do refunds take?"
    assert evaluation.interaction.entry_span_id == "01" * 8
    assert evaluation.outcomes["faithfulness"].value == 1.0
    assert evaluation.judge.kind == "test"


async def test_it_says_what_it_found_before_it_judges(started: list[Worker]) -> None:
    """While the judge hangs, the interaction is known, without its texts."""
    worker = await start(started, "Hangs")
    pending = worker.submit(Bench.JUDGE, interaction(), 0.5, {})
    (evaluation,) = await asyncio.wait_for(pending.result, 20)
    assert pending.found is not None
    assert (pending.found[0].entry_span_id, pending.found[0].question) == ("01" * 8, None)
    assert evaluation.outcomes["faithfulness"].status is Status.TIMED_OUT


async def test_a_judge_that_raises_costs_no_more_than_its_scores(started: list[Worker]) -> None:
    """Every metric that needed the judge is an error of the judge; the words of the exception stay inside."""
    worker = await start(started, "Raises")
    (evaluation,) = await asyncio.wait_for(worker.submit(Bench.JUDGE, interaction(), 20.0, {}).result, 20)
    outcome = evaluation.outcomes["faithfulness"]
    assert outcome.status is Status.JUDGE_ERROR
    assert "secret" not in str(outcome.reason)


async def test_what_was_judged_before_is_not_judged_again(started: list[Worker]) -> None:
    """What a former process wrote down comes back as it was, and the judge is not asked."""
    before = await start(started, "Supports")
    (first,) = await asyncio.wait_for(before.submit(Bench.JUDGE, interaction(), 20.0, {}).result, 20)
    worker = await start(started, "Raises")
    known = {"01" * 8: outcomes_json(first)}
    (again,) = await asyncio.wait_for(worker.submit(Bench.JUDGE, interaction(), 20.0, known).result, 20)
    assert again.outcomes["faithfulness"].value == 1.0
    assert (again.judge, again.claims, again.interaction) == (first.judge, first.claims, first.interaction)


async def test_a_worker_that_dies_fails_its_jobs_and_comes_back(judges: Path) -> None:
    """The jobs in work are told so at once; the next process takes new ones."""
    back = asyncio.Event()
    worker = Worker(setup("Dies"), on_restart=back.set)
    try:
        await worker.start()
        with pytest.raises(WorkerFailure, match="worker_lost"):
            await asyncio.wait_for(worker.submit(Bench.JUDGE, interaction(), 20.0, {}).result, 20)
        await asyncio.wait_for(back.wait(), 20)
    finally:
        await worker.close()


def test_a_job_for_a_process_that_has_just_died_fails_and_does_not_raise(judges: Path) -> None:
    """On the loop that the service runs on, whose pipes raise where they are closed: the spans must leave."""

    async def hand_over_until_it_is_back() -> set[str]:
        worker = Worker(setup("Supports"))
        try:
            async with asyncio.timeout(30):
                await worker.start()
                assert worker.pid is not None
                os.kill(worker.pid, signal.SIGKILL)
                reasons = set[str]()
                while True:
                    job = worker.submit(Bench.JUDGE, interaction(), 20.0, {})
                    await asyncio.sleep(0)
                    if job.result.done() and isinstance(failure := job.result.exception(), WorkerFailure):
                        reasons.add(failure.reason)
                        if failure.reason == "worker_down":
                            return reasons
        finally:
            await worker.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(hand_over_until_it_is_back()) <= {"worker_lost", "worker_down"}


async def test_a_first_process_that_is_killed_before_it_is_ready_is_started_again(judges: Path) -> None:
    """A kill at the start, by a machine without memory, is no wrong setting."""
    worker = Worker(setup("Supports"))
    starting = asyncio.create_task(worker.start())
    try:
        async with asyncio.timeout(30):
            while worker.pid is None:  # noqa: ASYNC110  # nobody sets an event
                await asyncio.sleep(0.001)
            os.kill(worker.pid, signal.SIGKILL)
            assert (await starting).metrics
    finally:
        await worker.close()


async def test_a_worker_that_was_killed_is_replaced(started: list[Worker]) -> None:
    """After a kill from outside another process judges."""
    worker = await start(started, "Supports")
    first = worker.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    async with asyncio.timeout(30):
        while True:
            try:
                (evaluation,) = await worker.submit(Bench.JUDGE, interaction(), 20.0, {}).result
                break
            except WorkerFailure:
                await asyncio.sleep(0.02)
    assert evaluation.outcomes["faithfulness"].value == 1.0
    assert worker.pid not in (None, first)


async def test_a_worker_that_hangs_is_killed(started: list[Worker]) -> None:
    """A judge that blocks the whole process is ended after its time and the grace."""
    worker = await start(started, "Blocks", grace=0.2)
    with pytest.raises(WorkerFailure, match="worker_lost"):
        await asyncio.wait_for(worker.submit(Bench.JUDGE, interaction(), 0.2, {}).result, 20)


@pytest.mark.parametrize(
    "use", ["own_judges:Unfinished", "own_judges:Nobody", "no_such_module:X", "nonsense"]
)
async def test_a_judge_that_cannot_be_built_is_an_error_of_the_config(judges: Path, use: str) -> None:
    """The start says so, and no process is left trying."""
    worker = Worker(Setup({Bench.JUDGE: JudgeSetup(use, embedder=None)}))
    try:
        with pytest.raises(ConfigError):
            await asyncio.wait_for(worker.start(), 30)
    finally:
        await worker.close()


async def test_spans_without_an_interaction_give_none(started: list[Worker]) -> None:
    """An embedding alone is no interaction: no evaluation, no error."""
    worker = await start(started, "Supports")
    span = SpanRecord("ab" * 16, "01" * 8, None, "embed", attributes={"openinference.span.kind": "EMBEDDING"})
    assert (
        await asyncio.wait_for(worker.submit(Bench.JUDGE, held(encode_span(span)), 20.0, {}).result, 20) == ()
    )


async def test_a_closed_worker_takes_no_jobs(started: list[Worker]) -> None:
    """After close a job fails at once, and close may be called again."""
    worker = await start(started, "Supports")
    await worker.close()
    with pytest.raises(WorkerFailure, match="worker_down"):
        await worker.submit(Bench.JUDGE, interaction(), 20.0, {}).result
    await worker.close()
