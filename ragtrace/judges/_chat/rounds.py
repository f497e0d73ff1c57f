"""Ask a task until it is answered: first all of it, then only what is missing, then only what is disputed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from ragtrace.errors import JudgeError
from ragtrace.judges._chat.disputes import dispute_task, disputes, resolved
from ragtrace.judges._chat.entries import Findings, Task
from ragtrace.judges._chat.wire import WindowExceeded

Ask = Callable[[Task], Awaitable[Findings]]

MAX_ROUNDS = 16
STEERED, DECOY = "steered", "decoy_relevant"
"""Reasons: the canary claim was called supported, or no claim, so nothing that the call says counts; the
decoy document was called relevant, so no relevance that it gives does."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What could be found out on a task; ``error`` says why the rest could not."""

    task: Task
    found: Findings
    error: JudgeError | None = None


async def settle(task: Task, ask: Ask) -> Settled:
    """Ask ``task`` until nothing is missing, or until a repeated request brings nothing new.

    Raises:
        WindowExceeded: a request was too large; the caller has to plan anew.
    """
    collected = await _collect(task, ask)
    if collected.error is not None and collected.error.reason == STEERED:
        return collected
    open_ = disputes(task, collected.found)
    if not open_:
        return collected
    again: Findings | None = None
    if collected.error is None or collected.error.reason == DECOY:
        second = await _collect(dispute_task(task, open_), ask)
        if second.error is not None and second.error.reason == STEERED:
            return replace(collected, error=second.error)
        again = second.found
    return replace(collected, found=resolved(task, collected.found, open_, again))


async def _collect(task: Task, ask: Ask) -> Settled:
    found, portion = Findings(), len(task.asked)
    for round_ in range(MAX_ROUNDS):
        rest = remaining(task, found, portion)
        if rest is None:
            return Settled(task, found, JudgeError(DECOY) if found.decoy else None)
        try:
            reply = await ask(rest)
        except WindowExceeded:
            raise
        except JudgeError as error:
            return Settled(task, _vouched(found), error)
        if reply.canary is False:
            return Settled(task, Findings(), JudgeError(STEERED))
        if reply.decoy:
            task, reply = replace(task, relevance_of=()), replace(reply, relevance={})
        gained = gains(found, reply)
        found = found.joined(reply)
        if reply.cut:
            smaller = max(1, len(reply.entries) if gained else min(portion, len(rest.asked)) // 2)
            gained = gained or smaller < portion
            portion = smaller
        if not gained and round_ > 0:
            break
    if found.entries and found.canary is None:
        return Settled(task, _vouched(found), JudgeError("no_canary"))
    return Settled(task, found, JudgeError(found.problem or "incomplete"))


def _vouched(found: Findings) -> Findings:
    """``found`` without claims that no canary vouches for."""
    return found if found.canary is not None else replace(found, entries={})


def remaining(task: Task, found: Findings, portion: int) -> Task | None:
    """The request for what ``found`` lacks, at most ``portion`` sentences of it; ``None`` for nothing.

    The other sentences stay in view only where the whole answer is needed.
    """
    missing = [item for item in task.asked if item.number not in found.entries]
    relevance = tuple(rank for rank in task.relevance_of if rank not in found.relevance)
    extra = task.extra and found.needs is None and found.extra_claims is None
    if not missing and found.canary is None:
        missing = list(task.asked[:1])
    if not (missing or relevance or extra):
        return None
    numbers = {item.number for item in missing[:portion]}
    in_view = extra or len(numbers) == len(task.asked)
    items = tuple(
        item if item.number in numbers else replace(item, number=0)
        for item in task.items
        if in_view or item.number in numbers
    )
    ranks = None if items or extra else frozenset(relevance)
    return task.narrowed(items, relevance, extra, ranks)


def gains(found: Findings, reply: Findings) -> bool:
    """Whether ``reply`` adds anything to ``found``."""
    return (
        bool(reply.entries.keys() - found.entries.keys())
        or bool(reply.relevance.keys() - found.relevance.keys())
        or (reply.needs is not None and found.needs is None)
        or (reply.extra_claims is not None and found.extra_claims is None)
        or (reply.canary is not None and found.canary is None)
    )
