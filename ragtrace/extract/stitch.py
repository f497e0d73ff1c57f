"""Traces that belong together: instrumentations that begin a new trace for a step of an interaction.

Two rules. Always: a model call that stands alone in its trace is joined to the retrievals without an answer
that its prompt shows. On request: all traces of one session or conversation are put together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from ragtrace.extract.messages import final_reply, last_text
from ragtrace.extract.scopes import may_hold, own_question
from ragtrace.extract.step import Role, Step
from ragtrace.model import SpanRecord

_NEAR_NS = 60_000_000_000
"""A model call that begins more than a minute after the retrieval ended is not joined to it."""
_ERROR = 2
_MAX_CANDIDATES = 50
"""With more lone calls in that minute nothing is joined: which is whose can no longer be told."""
_MIN_EVIDENCE = 12
"""Shorter texts (bytes of UTF-8) may stand in any prompt."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The spans of one trace, and those of them that a dialect read."""

    spans: tuple[SpanRecord, ...]
    steps: tuple[Step, ...] = field(default=())

    @property
    def session(self) -> str | None:
        """The session or conversation that it names, if all its steps name the same or none."""
        named = {step.session for step in self.steps if step.session is not None}
        return named.pop() if len(named) == 1 else None


def together(traces: Sequence[Trace]) -> Trace:
    """Several traces as one."""
    return Trace(tuple(s for t in traces for s in t.spans), tuple(s for t in traces for s in t.steps))


def by_session(traces: Sequence[Trace]) -> list[Trace]:
    """Traces of one session put together where the first of them stands; those without one stay alone."""
    groups: dict[object, list[Trace]] = {}
    for trace in traces:
        groups.setdefault(trace.session or object(), []).append(trace)
    return [together(group) for group in groups.values()]


def may_be_joined(trace: Trace) -> bool:
    """Whether a trace waits for a model call, or is a lone one."""
    return _is_lone_call(trace) or _is_failed_call(trace) or _lacks_answer(trace)


def is_whole(trace: Trace) -> bool:
    """Whether a trace holds an interaction from retrieval to answer, or says so itself."""
    roles = {step.role for step in trace.steps}
    return Role.INTERACTION in roles or (Role.GENERATION in roles and any(map(may_hold, trace.steps)))


def with_lone_calls(traces: Sequence[Trace]) -> list[Trace]:
    """Lone model calls joined to the retrievals that they answer (see :func:`lone_calls`).

    One trace for each of ``traces``, in their order; an empty one stands for what went elsewhere.
    """
    found = list(traces)
    for places in lone_calls(traces):
        for place in places:
            found[place] = Trace(())
        found[min(places)] = together([traces[place] for place in places])
    return found


def lone_calls(traces: Sequence[Trace]) -> list[tuple[int, ...]]:
    """Which traces are one interaction by what a lone model call shows: their places, the call's last.

    A retrieval belongs to the one call that fits it, those that answered before those that failed. Several
    belong to one call if it was shown the documents of each, and no two found the same.
    """
    joined = _by_call(traces, {place for place, t in enumerate(traces) if _is_lone_call(t)})
    failed = {place for place, t in enumerate(traces) if _is_failed_call(t)}
    if failed:
        gone = {place for places in joined for place in places}
        rest = [Trace(()) if place in gone else trace for place, trace in enumerate(traces)]
        joined += _by_call(rest, failed)
    return joined


def _by_call(traces: Sequence[Trace], lone: Set[int]) -> list[tuple[int, ...]]:
    calls = sorted((_Call.of(place, traces[place]) for place in lone), key=_began)
    waiting = [place for place, trace in enumerate(traces) if _lacks_answer(trace)] if calls else []
    answers: dict[int, list[int]] = defaultdict(list)
    for place in waiting:
        fitting = _fitting(traces[place], calls)
        if len(fitting) == 1:
            answers[fitting[0].place].append(place)
    return [
        (*places, call)
        for call, places in answers.items()
        if len(places) == 1 or _are_parts([_found(traces[place]) for place in places])
    ]


def _found(trace: Trace) -> frozenset[str | None]:
    """The texts of the documents that a trace retrieved."""
    listed = (step.documents for step in trace.steps if step.role is Role.RETRIEVAL)
    return frozenset(d.text for documents in listed if documents is not None for d in documents.items)


def _are_parts(found: Sequence[frozenset[str | None]]) -> bool:
    return all(found) and len(set(found)) == len(found)


@dataclass(frozen=True, slots=True)
class _Call:
    """A trace that holds a model call alone: its place, when it began, all that the model was given."""

    place: int
    began: int
    prompt: str
    asked: str
    """What the user said last."""

    @classmethod
    def of(cls, place: int, trace: Trace) -> _Call:
        calls = [step for step in trace.steps if step.role is Role.GENERATION]
        prompt = "\n".join(m.text for step in calls for m in step.prompt if m.text is not None)
        asked = "\n".join(last_text(step.prompt, "user") or "" for step in calls)
        return cls(place, min(step.span.start_ns for step in calls), prompt, asked)


def _began(call: _Call) -> int:
    return call.began


def _is_lone_call(trace: Trace) -> bool:
    calls = [step for step in trace.steps if step.role is Role.GENERATION]
    return any(final_reply(step.reply) for step in calls) and not any(map(may_hold, trace.steps))


def _is_failed_call(trace: Trace) -> bool:
    calls = [step for step in trace.steps if step.role is Role.GENERATION]
    return (
        any(step.span.status == _ERROR for step in calls)
        and not any(final_reply(step.reply) for step in calls)
        and not any(map(may_hold, trace.steps))
    )


def _lacks_answer(trace: Trace) -> bool:
    """It retrieved, and neither a model call nor an error came of it."""
    return any(step.role is Role.RETRIEVAL for step in trace.steps) and not any(
        step.role is Role.GENERATION or step.span.status == _ERROR for step in trace.steps
    )


def _fitting(trace: Trace, calls: Sequence[_Call]) -> list[_Call]:
    """The calls that came soon after the retrieval and were shown all of its documents, or its question."""
    retrievals = [step for step in trace.steps if step.role is Role.RETRIEVAL]
    ended = min(step.span.end_ns for step in retrievals)
    first = bisect_left(calls, ended, key=_began)
    last = bisect_right(calls, ended + _NEAR_NS, key=_began)
    if last - first > _MAX_CANDIDATES:
        return []
    texts = [d.text for step in retrievals if step.documents is not None for d in step.documents.items]
    if texts and None not in texts:
        return [c for c in calls[first:last] if all(text is not None and text in c.prompt for text in texts)]
    asked = {*map(own_question, trace.steps), *(step.query for step in retrievals)}
    telling = [
        text for text in asked if text is not None and len(text.encode(errors="replace")) >= _MIN_EVIDENCE
    ]
    near = calls[first:last]
    return [c for c in near if any(text in c.asked for text in telling)] or [
        c for c in near if any(text in c.prompt for text in telling)
    ]
