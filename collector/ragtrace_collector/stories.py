"""What became of each RAG trace, kept for a while: the answer to "why was this trace not scored?".

No content: names, statuses, numbers and reasons only.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from ragtrace import extract
from ragtrace.model import Evaluation, Interaction, Outcome
from ragtrace_collector.stages import Decision, HeldInteraction, JudgedInteraction

FIELDS = ("question", "documents", "answer")
"""What an interaction is judged by, in the order of telling."""


@dataclass
class Story:
    """One trace: how many RAG spans were seen (``None`` = none was looked at), and what was done with its
    interactions."""

    trace_id: str
    spans_seen: int | None = 0
    early: Decision | None = None
    interactions: list[Mapping[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The story as the admin endpoint tells it."""
        return {
            "trace_id": self.trace_id,
            "seen": True,
            "rag_spans": self.spans_seen,
            "state": self._state(),
            "interactions": list(self.interactions),
        } | ({"decision": _decision(self.early)} if self.early else {})

    def _state(self) -> str:
        if self.interactions:
            return "released"
        return "forwarded" if self.early else "held"


class Stories:
    """The last ``limit`` traces of which RAG spans were seen, and as many that were passed by. One loop
    writes and reads."""

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._stories: OrderedDict[str, Story] = OrderedDict()
        self._passed: deque[tuple[Set[bytes], Decision]] = deque()
        self._passed_traces = 0

    def seen(self, trace_id: str, spans: int = 1, early: Decision | None = None) -> None:
        """RAG spans of the trace came in; ``early`` where that alone decided."""
        story = self._of(trace_id)
        story.spans_seen = (story.spans_seen or 0) + spans
        story.early = early or story.early

    def passed(self, traces: Set[bytes], decision: Decision) -> None:
        """Spans of ``traces`` (their ids), some of them RAG, went by unread: their ids alone decided."""
        self._passed.append((traces, decision))
        self._passed_traces += len(traces)
        while self._passed_traces > self._limit:
            self._passed_traces -= len(self._passed.popleft()[0])

    def told(self, trace_id: str, interactions: list[dict[str, Any]]) -> None:
        """Interactions of the trace are on their way out."""
        self._of(trace_id).interactions += interactions

    def told_of(self, held: HeldInteraction, interactions: list[dict[str, Any]]) -> None:
        """They are on their way out, in each trace that ``held`` was put together from."""
        for trace_id in held.trace_ids:
            self.told(trace_id, interactions)

    def find(self, trace_id: str) -> Story | None:
        """The story of a trace (hex id), if it is among the last."""
        story = self._stories.get(trace_id)
        if story is not None:
            return story
        raw = bytes.fromhex(trace_id)
        passed = (decision for traces, decision in self._passed if raw in traces)
        early = next(passed, None)
        return None if early is None else Story(trace_id, spans_seen=None, early=early)

    def _of(self, trace_id: str) -> Story:
        story = self._stories.get(trace_id)
        if story is None:
            story = self._stories[trace_id] = Story(trace_id)
            if len(self._stories) > self._limit:
                self._stories.popitem(last=False)
        return story


def tell_forwarded(held: HeldInteraction, decision: Decision) -> dict[str, Any]:
    """An interaction that was not judged."""
    return _release(held) | {"decision": _decision(decision)}


def tell_judged(judged: JudgedInteraction) -> list[dict[str, Any]]:
    """What was judged, one entry an interaction; one that says so where the spans hold none."""
    start = _release(judged.held) | {"decision": _decision(judged.decision)}
    found = judged.evaluations or judged.screens
    if not found:
        return [start | {"skipped": "no_interaction"}]
    return [start | _evaluation(evaluation) for evaluation in found]


def _release(held: HeldInteraction) -> dict[str, Any]:
    return {
        "entry_span_id": held.entry_span_id,
        "spans": len(held.spans),
        "complete_after_seconds": round(held.held_for, 3),
        "release_reason": held.reason.value,
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {"verb": decision.verb.value, "probability": decision.probability, "rule": decision.rule}


def _evaluation(evaluation: Evaluation) -> dict[str, Any]:
    interaction, judge = evaluation.interaction, evaluation.judge
    return {
        "entry_span_id": interaction.entry_span_id,
        **(_reading(interaction) if interaction.sources or interaction.missing else {"unread": True}),
        "outcomes": {name: _outcome(outcome) for name, outcome in evaluation.outcomes.items()},
        "diagnosis": evaluation.diagnosis.cause.value,
        "thresholds": dict(evaluation.diagnosis.thresholds),
        "judge": {"kind": judge.kind, "model": judge.model, "revision": judge.revision},
    }


def _reading(interaction: Interaction) -> dict[str, Any]:
    """What was found in the spans, once the scoring worker has come to read them."""
    return {
        "dialect": interaction.dialect,
        "fields": {name: name in interaction.sources for name in FIELDS},
        "missing": list(interaction.missing),
        "explained": extract.explain(interaction),
        "explained_zh": extract.explain(interaction, "zh"),
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    told = {"status": outcome.status.value, "value": outcome.value, "reason": outcome.reason}
    return {key: value for key, value in told.items() if value is not None}
