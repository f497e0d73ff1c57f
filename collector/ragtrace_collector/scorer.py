"""Has interactions judged within a deadline; whatever the judge does, their spans leave on time.

The judging itself runs in a worker process. Here is the clock: what is late is ``timed_out``, what failed is
``judge_error``, what there was no room for is ``skipped``, each with its reason; a score that comes after the
deadline goes its own way.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ragtrace.model import (
    Cause,
    Diagnosis,
    Evaluation,
    Interaction,
    JudgeInfo,
    Status,
    Unscored,
)
from ragtrace_collector.pace import Begun, Pace
from ragtrace_collector.stages import (
    Decision,
    HeldInteraction,
    JudgedInteraction,
    Sampled,
    Verb,
)
from ragtrace_collector.verdict_attributes import outcomes_json
from ragtrace_collector.worker_handle import Pending, WorkerFailure
from ragtrace_collector.worker_messages import Bench, Ready

Deliver = Callable[[JudgedInteraction], Awaitable[None]]
"""Takes a judged interaction: the next stage's ``consume``."""


class Judging(Protocol):
    """Does the judging: :class:`ragtrace_collector.worker_handle.Worker`."""

    def submit(
        self, bench: Bench, held: HeldInteraction, seconds: float, known: Mapping[str, str]
    ) -> Pending:
        """Hand over a job without waiting."""


class Memory(Protocol):
    """Keeps what was judged beyond the end of the process: the spool."""

    async def recall(self, key: str) -> bytes | None:
        """What was kept under ``key``."""

    async def remember(self, key: str, value: bytes) -> None:
        """Keep ``value`` under ``key``."""


@dataclass(frozen=True, slots=True)
class ScorerOptions:
    """Times in seconds."""

    deadline: float = 2.0
    """Until an interaction leaves, judged or not."""
    screen_deadline: float = 2.0
    """Until it goes on without the screening judge."""
    late: float = 40.0
    """How long after the deadline a score may still come, to leave by itself; 0 = not at all."""
    max_pending: int = 512
    """Interactions in judgement at once; beyond, scoring is what is shed first, and so it is where the judge
    would not come to it in time."""


_IN_TIME = 0.75
"""An interaction is judged if those before it are expected to be done within this share of its deadline."""


@dataclass(frozen=True, slots=True)
class _Judgement:
    evaluations: tuple[Evaluation, ...]
    late: Pending | None = None


class Scorer:
    """The stage. ``resample`` decides anew once the screening judge has spoken."""

    def __init__(
        self,
        judging: Judging,
        ready: Ready,
        *,
        deliver: Deliver,
        deliver_late: Deliver,
        resample: Callable[[HeldInteraction, tuple[Evaluation, ...]], Decision],
        memory: Memory | None = None,
        options: ScorerOptions = ScorerOptions(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._judging, self._ready = judging, ready
        self._deliver, self._deliver_late = deliver, deliver_late
        self._resample, self._memory, self._options = resample, memory, options
        self._late_tasks: set[asyncio.Task[None]] = set()
        self._queue: deque[asyncio.Future[None]] = deque()
        self._clock, self._paces = clock, {bench: Pace() for bench in Bench}
        self.in_work = 0

    async def consume(self, item: Sampled) -> None:
        """Judge one interaction and hand it on, by its deadline."""
        held, decision, screens = item.held, item.decision, tuple[Evaluation, ...]()
        await self._turn(Bench.SCREEN if decision.verb is Verb.SCREEN else Bench.JUDGE, item.patience)
        self.in_work += 1
        try:
            if decision.verb is Verb.SCREEN:
                screen = await self._judge(Bench.SCREEN, held, self._options.screen_deadline, late=0.0)
                screens = screen.evaluations
                decision = self._resample(held, screens)
            judgement = _Judgement(())
            if decision.verb is Verb.JUDGE:
                judgement = await self._judge(
                    Bench.JUDGE, held, self._options.deadline, late=self._options.late
                )
        finally:
            self.in_work -= 1
            self._next_turn()
        await self._remember(held, judgement.evaluations)
        judged = JudgedInteraction(held, decision, _with_sampling(judgement.evaluations, decision), screens)
        await self._deliver(judged)
        if judgement.late is not None:
            self._follow(judgement.late, judged)

    async def close(self) -> None:
        """Wait no longer for late scores."""
        for task in list(self._late_tasks):
            task.cancel()
        await asyncio.gather(*self._late_tasks, return_exceptions=True)

    async def _turn(self, bench: Bench, patience: float) -> None:
        """Wait for room, ``patience`` seconds at most."""
        if not patience:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while self.in_work >= self._options.max_pending or self._is_behind(bench):
                    turn = asyncio.get_running_loop().create_future()
                    self._queue.append(turn)
                    await turn

    def _next_turn(self) -> None:
        while self._queue and self.in_work < self._options.max_pending:
            if not (turn := self._queue.popleft()).done():
                turn.set_result(None)
                return

    async def _judge(
        self, bench: Bench, held: HeldInteraction, deadline: float, *, late: float
    ) -> _Judgement:
        judge, metrics = self._ready.judges[bench], self._ready.metrics
        fallback = (Interaction(trace_id=held.trace_id, entry_span_id=held.entry_span_id),)
        if self.in_work > self._options.max_pending or self._is_behind(bench):
            return _Judgement(without_scores(fallback, metrics, judge, Status.SKIPPED, "overload"))
        known = await self._recall(held) if bench is Bench.JUDGE else {}
        pending = self._judging.submit(bench, held, deadline + late, known)
        begun = self._keep_pace(bench, pending, deadline)
        try:
            return _Judgement(await asyncio.wait_for(asyncio.shield(pending.result), deadline))
        except TimeoutError:
            self._paces[bench].missed(self._clock(), begun)
            found = fallback if pending.found is None else pending.found
            evaluations = without_scores(found, metrics, judge, Status.TIMED_OUT, "deadline")
            return _Judgement(evaluations, pending if late else None)
        except WorkerFailure as failure:
            found = fallback if pending.found is None else pending.found
            return _Judgement(without_scores(found, metrics, judge, Status.JUDGE_ERROR, failure.reason))

    def _is_behind(self, bench: Bench) -> bool:
        """Whether the judge would not come to one more interaction in time."""
        options = self._options
        deadline = options.screen_deadline if bench is Bench.SCREEN else options.deadline
        return self._paces[bench].wait() > _IN_TIME * deadline

    def _keep_pace(self, bench: Bench, pending: Pending, deadline: float) -> Begun:
        """Count ``pending`` from now until it has a result, late ones too: the judge works on them.

        One that took more than its deadline although nothing was before it is a long one, and no measure of
        those behind it.
        """
        pace = self._paces[bench]
        begun = pace.began(self._clock())

        def ended(result: asyncio.Future[tuple[Evaluation, ...]]) -> None:
            now = self._clock()
            long = begun.led and now - begun.at > deadline
            judged = not result.cancelled() and result.exception() is None
            pace.ended(now, begun, judged=judged and not long)
            self._next_turn()

        pending.result.add_done_callback(ended)
        return begun

    async def _recall(self, held: HeldInteraction) -> dict[str, str]:
        """What was judged of the interaction before a restart, by entry span."""
        found = None if self._memory is None else await self._memory.recall(self._key(held))
        known: dict[str, str] = {} if found is None else json.loads(found)
        return known

    async def _remember(self, held: HeldInteraction, evaluations: Iterable[Evaluation]) -> None:
        if self._memory is None:
            return
        scored = {one.interaction.entry_span_id: outcomes_json(one) for one in evaluations if is_scored(one)}
        if scored:
            await self._memory.remember(self._key(held), json.dumps(scored).encode())

    def _key(self, held: HeldInteraction) -> str:
        return f"{held.trace_id}/{held.entry_span_id}/{self._ready.judges[Bench.JUDGE].revision}"

    def _follow(self, pending: Pending, judged: JudgedInteraction) -> None:
        task = asyncio.create_task(self._await_late(pending, judged))
        self._late_tasks.add(task)
        task.add_done_callback(self._late_tasks.discard)

    async def _await_late(self, pending: Pending, judged: JudgedInteraction) -> None:
        try:
            evaluations = await pending.result
        except WorkerFailure:
            return
        scored = tuple(one for one in evaluations if is_scored(one))
        if scored:
            await self._remember(judged.held, scored)
            sampled = _with_sampling(scored, judged.decision)
            await self._deliver_late(replace(judged, evaluations=sampled, screens=()))


def without_scores(
    interactions: Iterable[Interaction],
    metrics: Sequence[str],
    judge: JudgeInfo,
    status: Status,
    reason: str,
) -> tuple[Evaluation, ...]:
    """For each interaction an evaluation in which every metric has ``status`` for ``reason``."""
    return tuple(
        Evaluation(
            interaction,
            {metric: Unscored(metric, status, reason) for metric in metrics},
            Diagnosis(Cause.UNDETERMINED, missing=tuple(metrics)),
            judge,
        )
        for interaction in interactions
    )


def is_scored(evaluation: Evaluation) -> bool:
    """Whether some metric has a number."""
    return any(outcome.status is Status.SCORED for outcome in evaluation.outcomes.values())


def _with_sampling(evaluations: Iterable[Evaluation], decision: Decision) -> tuple[Evaluation, ...]:
    return tuple(
        replace(one, sampling_probability=decision.probability, sampling_rule=decision.rule)
        for one in evaluations
    )
