"""Traces that belong together: instrumentations that begin a new trace for a step of an interaction.

Two rules. Always: a model call that stands alone in its trace is joined to the one retrieval without an
answer that its prompt shows. On request: all traces of one session or conversation are put together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragtrace.extract.messages import final_reply
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
    return _is_lone_call(trace) or _lacks_answer(trace)


def is_whole(trace: Trace) -> bool:
    """Whether a trace holds an interaction from retrieval to answer, or says so itself."""
    roles = {step.role for step in trace.steps}
    return Role.INTERACTION in roles or (Role.GENERATION in roles and any(map(may_hold, trace.steps)))


def with_lone_calls(traces: Sequence[Trace]) -> list[Trace]:
    """Lone model calls joined to the retrievals that they answer, where each fits one of the other only.

    One trace for each of ``traces``, in their order; an empty one stands for a call that went elsewhere.
    """
    joined = lone_calls(traces)
    gone = set(joined.values())
    return [
        together([trace, traces[joined[place]]]) if place in joined else Trace(()) if place in gone else trace
        for place, trace in enumerate(traces)
    ]


def lone_calls(traces: Sequence[Trace]) -> dict[int, int]:
    """Which lone model call answers which retrieval: places in ``traces``, retrieval → call."""
    calls = sorted((_Call.of(place, t) for place, t in enumerate(traces) if _is_lone_call(t)), key=_began)
    waiting = [place for place, trace in enumerate(traces) if _lacks_answer(trace)] if calls else []
    fits = [(place, call.place) for place in waiting for call in _fitting(traces[place], calls)]
    by_trace, by_call = Counter(place for place, _ in fits), Counter(call for _, call in fits)
    return {place: call for place, call in fits if by_trace[place] == by_call[call] == 1}


@dataclass(frozen=True, slots=True)
class _Call:
    """A trace that holds a model call alone: its place, when it began, all that the model was given."""

    place: int
    began: int
    prompt: str

    @classmethod
    def of(cls, place: int, trace: Trace) -> _Call:
        calls = [step for step in trace.steps if step.role is Role.GENERATION]
        prompt = "\n".join(m.text for step in calls for m in step.prompt if m.text is not None)
        return cls(place, min(step.span.start_ns for step in calls), prompt)


def _began(call: _Call) -> int:
    return call.began


def _is_lone_call(trace: Trace) -> bool:
    calls = [step for step in trace.steps if step.role is Role.GENERATION]
    return any(final_reply(step.reply) for step in calls) and not any(map(may_hold, trace.steps))


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
    return [c for c in calls[first:last] if any(text in c.prompt for text in telling)]
