"""The scorer against judges that answer, hang, fail and die, in the test's own loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from ragtrace.model import (
    Cause,
    Diagnosis,
    Evaluation,
    Interaction,
    JudgeInfo,
    Score,
    Status,
    Unscored,
)
from ragtrace_collector.scorer import Memory, Scorer, ScorerOptions, is_scored, without_scores
from ragtrace_collector.stages import (
    Decision,
    HeldInteraction,
    JudgedInteraction,
    ReleaseReason,
    Sampled,
    Verb,
)
from ragtrace_collector.worker_handle import Pending, WorkerFailure
from ragtrace_collector.worker_messages import Bench, Ready

JUDGE = JudgeInfo("llm", "r1", "m")
SCREEN = JudgeInfo("embedded", "r2")
READY = Ready({Bench.JUDGE: JUDGE, Bench.SCREEN: SCREEN}, ("faithfulness", "context_recall"))
HELD = HeldInteraction("ab" * 16, "01" * 8, (), ReleaseReason.ENTRY, 0.0, 2.0)
DRAWN = Decision(Verb.JUDGE, 0.25, "share")


def scored(value: float = 0.5) -> Evaluation:
    interaction = Interaction(trace_id="ab" * 16, entry_span_id="01" * 8)
    return Evaluation(interaction, {"faithfulness": Score("faithfulness", value)}, Diagnosis(Cause.OK), JUDGE)


class Judging:
    """Stands for the worker: keeps what was submitted, and lets the test answer."""

    def __init__(self, *, found: tuple[Interaction, ...] | None = None) -> None:
        self.known: Mapping[str, str] = {}
        self.jobs: list[tuple[Bench, float, Pending]] = []
        self.submitted = asyncio.Event()
        self._found = found

    def submit(
        self, bench: Bench, held: HeldInteraction, seconds: float, known: Mapping[str, str]
    ) -> Pending:
        self.known = known
        pending = Pending(asyncio.get_running_loop().create_future(), self._found)
        self.jobs.append((bench, seconds, pending))
        self.submitted.set()
        return pending


class Notebook:
    """A memory that outlives its scorer."""

    def __init__(self) -> None:
        self.notes: dict[str, bytes] = {}

    async def recall(self, key: str) -> bytes | None:
        return self.notes.get(key)

    async def remember(self, key: str, value: bytes) -> None:
        self.notes[key] = value


class Desk:
    """A scorer with the places where its results end."""

    def __init__(
        self,
        judging: Judging,
        options: ScorerOptions,
        resampled: Decision = DRAWN,
        memory: Memory | None = None,
    ) -> None:
        self.now = 0.0
        self.out: list[JudgedInteraction] = []
        self.late: list[JudgedInteraction] = []
        self.late_came = asyncio.Event()
        self.scorer = Scorer(
            judging,
            READY,
            deliver=self._deliver,
            deliver_late=self._deliver_late,
            resample=lambda held, screens: resampled,
            options=options,
            memory=memory,
            clock=lambda: self.now,
        )

    async def _deliver(self, item: JudgedInteraction) -> None:
        self.out.append(item)

    async def _deliver_late(self, item: JudgedInteraction) -> None:
        self.late.append(item)
        self.late_came.set()


QUICK = ScorerOptions(deadline=0.02, screen_deadline=0.02, late=5.0)
PATIENT = ScorerOptions(deadline=20.0, screen_deadline=20.0, late=0.0)


async def run(desk: Desk, judging: Judging, decision: Decision = DRAWN) -> asyncio.Task[None]:
    task = asyncio.create_task(desk.scorer.consume(Sampled(HELD, decision)))
    await asyncio.wait_for(judging.submitted.wait(), 5)
    return task


async def test_a_score_in_time_leaves_with_its_sampling() -> None:
    """The evaluation carries the probability in force and the rule."""
    judging = Judging()
    desk = Desk(judging, PATIENT)
    task = await run(desk, judging)
    judging.jobs[0][2].result.set_result((scored(),))
    await task
    (evaluation,) = desk.out[0].evaluations
    assert (evaluation.sampling_probability, evaluation.sampling_rule) == (0.25, "share")
    assert evaluation.outcomes["faithfulness"].value == 0.5


async def test_a_judge_that_falls_behind_is_given_no_more_than_it_can_do_in_time() -> None:
    """At one judgement in eight seconds and a deadline of twenty, the third in line is not begun: it would be late,
    and so would all behind it."""
    judging = Judging()
    desk = Desk(judging, PATIENT)
    first = await run(desk, judging)
    desk.now = 8.0
    judging.jobs[0][2].result.set_result((scored(),))
    await first
    begun = [asyncio.create_task(desk.scorer.consume(Sampled(HELD, DRAWN))) for _ in range(2)]
    while len(judging.jobs) < 3:
        judging.submitted.clear()
        await asyncio.wait_for(judging.submitted.wait(), 5)
    await asyncio.wait_for(desk.scorer.consume(Sampled(HELD, DRAWN)), 5)
    assert {outcome.reason for outcome in desk.out[1].evaluations[0].outcomes.values()} == {"overload"}
    for _, _, pending in judging.jobs[1:]:
        pending.result.set_result((scored(),))
    await asyncio.gather(*begun)
    assert len(judging.jobs) == 3


async def test_what_waited_on_disk_waits_for_its_turn_and_what_is_fresh_does_not() -> None:
    """A replay must not be shed as overload; fresh spans must not wait for room."""
    judging = Judging()
    desk = Desk(judging, replace(PATIENT, max_pending=1))
    first = await run(desk, judging)
    waiting = asyncio.create_task(desk.scorer.consume(Sampled(HELD, DRAWN, patience=30.0)))
    await asyncio.wait_for(desk.scorer.consume(Sampled(HELD, DRAWN)), 5)
    assert {outcome.reason for outcome in desk.out[0].evaluations[0].outcomes.values()} == {"overload"}
    assert (len(judging.jobs), waiting.done()) == (1, False)
    judging.submitted.clear()
    judging.jobs[0][2].result.set_result((scored(),))
    await first
    await asyncio.wait_for(judging.submitted.wait(), 5)
    judging.jobs[1][2].result.set_result((scored(),))
    await waiting
    assert [is_scored(item.evaluations[0]) for item in desk.out] == [False, True, True]


async def test_patience_ends() -> None:
    """Whatever the judge does, spans from disk leave as well."""
    judging = Judging()
    desk = Desk(judging, replace(PATIENT, max_pending=1))
    first = await run(desk, judging)
    await asyncio.wait_for(desk.scorer.consume(Sampled(HELD, DRAWN, patience=0.01)), 5)
    assert desk.out
    first.cancel()


async def test_a_judge_that_hangs_costs_the_scores_and_not_the_time() -> None:
    """At the deadline the spans leave, every metric timed out on the interactions that were found."""
    judging = Judging(found=(Interaction(entry_span_id="07" * 8), Interaction(entry_span_id="08" * 8)))
    desk = Desk(judging, QUICK)
    await (await run(desk, judging))
    assert [one.interaction.entry_span_id for one in desk.out[0].evaluations] == ["07" * 8, "08" * 8]
    assert {outcome.status for one in desk.out[0].evaluations for outcome in one.outcomes.values()} == {
        Status.TIMED_OUT
    }
    assert set(desk.out[0].evaluations[0].outcomes) == {"faithfulness", "context_recall"}
    await desk.scorer.close()


async def test_a_late_score_leaves_by_itself() -> None:
    """The original went without; the score follows, once."""
    judging = Judging()
    desk = Desk(judging, QUICK)
    await (await run(desk, judging))
    assert desk.late == []
    judging.jobs[0][2].result.set_result((scored(0.9),))
    await asyncio.wait_for(desk.late_came.wait(), 5)
    assert desk.late[0].evaluations[0].outcomes["faithfulness"].value == 0.9
    assert desk.late[0].evaluations[0].sampling_probability == 0.25
    assert len(desk.out) == 1


async def test_what_was_scored_is_known_after_a_restart() -> None:
    """The next scorer hands the worker what the last one paid for; what had no number is asked again."""
    notebook = Notebook()
    for value in (
        scored(0.7),
        without_scores(
            (Interaction(entry_span_id="09" * 8),), ("faithfulness",), JUDGE, Status.JUDGE_ERROR, "x"
        )[0],
    ):
        judging = Judging()
        desk = Desk(judging, PATIENT, memory=notebook)
        task = await run(desk, judging)
        judging.jobs[0][2].result.set_result((value,))
        await task
    assert list(judging.known) == ["01" * 8]
    assert '"value":0.7' in judging.known["01" * 8]


async def test_the_judge_is_given_the_late_time_too() -> None:
    """Otherwise no score could ever come late."""
    judging = Judging()
    desk = Desk(judging, QUICK)
    await (await run(desk, judging))
    assert judging.jobs[0][1] == pytest.approx(QUICK.deadline + QUICK.late)
    await desk.scorer.close()


async def test_a_late_answer_without_a_score_is_not_sent() -> None:
    """A second timed_out says nothing new."""
    judging = Judging()
    desk = Desk(judging, QUICK)
    await (await run(desk, judging))
    judging.jobs[0][2].result.set_result(
        without_scores((Interaction(),), ("faithfulness",), JUDGE, Status.TIMED_OUT, "deadline")
    )
    await desk.scorer.close()
    assert desk.late == []


@pytest.mark.parametrize("reason", ["worker_lost", "worker_down", "RuntimeError"])
async def test_a_lost_worker_costs_the_scores_and_not_the_spans(reason: str) -> None:
    """Every metric is an error of the judge, with the reason."""
    judging = Judging()
    desk = Desk(judging, PATIENT)
    task = await run(desk, judging)
    judging.jobs[0][2].result.set_exception(WorkerFailure(reason))
    await task
    (evaluation,) = desk.out[0].evaluations
    assert evaluation.interaction.entry_span_id == HELD.entry_span_id
    assert {(o.status, o.reason) for o in evaluation.outcomes.values()} == {(Status.JUDGE_ERROR, reason)}


async def test_scoring_is_shed_first() -> None:
    """More interactions than there is room for: they leave at once, skipped for overload."""
    judging = Judging()
    desk = Desk(judging, ScorerOptions(deadline=20.0, max_pending=1))
    first = await run(desk, judging)
    await asyncio.wait_for(desk.scorer.consume(Sampled(HELD, DRAWN)), 5)
    assert {(o.status, o.reason) for o in desk.out[0].evaluations[0].outcomes.values()} == {
        (Status.SKIPPED, "overload")
    }
    judging.jobs[0][2].result.set_result((scored(),))
    await first
    assert len(judging.jobs) == 1


async def test_spans_without_an_interaction_leave_without_scores() -> None:
    """The judge found nothing to judge: no outcome is made up."""
    judging = Judging()
    desk = Desk(judging, PATIENT)
    task = await run(desk, judging)
    judging.jobs[0][2].result.set_result(())
    await task
    assert desk.out[0].evaluations == ()


async def test_what_the_screen_passes_is_not_judged() -> None:
    """The screen's evaluation leaves with the spans, under no name of the judge."""
    judging = Judging()
    desk = Desk(judging, PATIENT, resampled=Decision(Verb.SCREEN, 0.75, "share"))
    task = await run(desk, judging, Decision(Verb.SCREEN, 1.0, "share"))
    judging.jobs[0][2].result.set_result((scored(),))
    await task
    assert [bench for bench, *_ in judging.jobs] == [Bench.SCREEN]
    assert (desk.out[0].evaluations, len(desk.out[0].screens)) == ((), 1)


async def test_what_the_screen_finds_poor_is_judged() -> None:
    """A rule on the screen's word calls the judge, with certainty."""
    judging = Judging()
    desk = Desk(judging, PATIENT, resampled=Decision(Verb.JUDGE, 1.0, "low_score"))
    task = await run(desk, judging, Decision(Verb.SCREEN, 1.0, "share"))
    judging.submitted.clear()
    judging.jobs[0][2].result.set_result((scored(0.1),))
    await asyncio.wait_for(judging.submitted.wait(), 5)
    judging.jobs[1][2].result.set_result((scored(0.2),))
    await task
    item = desk.out[0]
    assert (
        item.screens[0].outcomes["faithfulness"].value,
        item.evaluations[0].outcomes["faithfulness"].value,
    ) == (
        0.1,
        0.2,
    )
    assert item.evaluations[0].sampling_rule == "low_score"


def test_an_evaluation_is_scored_when_one_metric_has_a_number() -> None:
    """Zero is a number."""
    empty = without_scores((Interaction(),), ("faithfulness",), JUDGE, Status.SKIPPED, "x")[0]
    assert not is_scored(empty)
    assert is_scored(scored(0.0))
    assert isinstance(empty.outcomes["faithfulness"], Unscored)
