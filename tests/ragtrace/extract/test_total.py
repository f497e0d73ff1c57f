"""Extraction is total: it neither raises nor hangs, whatever the spans hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from captures import OWN, load
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ragtrace.extract import DIALECTS, explain, interactions
from ragtrace.extract.build import of_trace
from ragtrace.extract.stitch import Trace
from ragtrace.extract.tree import once
from ragtrace.model import LogRecord, SpanEvent, SpanRecord

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-10, 10**12)
    | st.floats()
    | st.text(max_size=40)
    | st.binary(max_size=8)
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
_CAPTURES = [
    load(path)
    for path in sorted(OWN.glob("*__*.json"))
    if path.name.count(".") < 4 and ".expected" not in path.name
]
_KEYS = sorted({key for spans, _ in _CAPTURES for span in spans for key in span.attributes})
_TEXTS = sorted(
    {v for spans, _ in _CAPTURES for s in spans for v in s.attributes.values() if isinstance(v, str)}, key=len
)
_SLOW = settings(
    max_examples=150,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # shrinking a whole trace takes minutes
    suppress_health_check=[HealthCheck.too_slow],
)


def _extract(spans: list[SpanRecord], logs: list[LogRecord]) -> None:
    """Read with and without the nets that keep one bad span or trace from costing the others."""
    for one in interactions(spans, logs, stitch=True):
        explain(one)
        assert one.kept_ratio == pytest.approx(one.kept_ratio)
    traces: dict[str, list[SpanRecord]] = {}
    for span in spans:
        traces.setdefault(span.trace_id, []).append(span)
    for trace in traces.values():
        steps = [
            dialect.read(span, tuple(log for log in logs if log.span_id == span.span_id))
            for span in once(trace)
            for dialect in [one for one in DIALECTS if one.claims(span)]
        ]
        of_trace(Trace(tuple(trace), tuple(steps)))


_IDS = st.sampled_from(["a", "b", "c", "d", "e"])
_ATTRIBUTES = st.dictionaries(
    st.sampled_from(_KEYS) | st.text(max_size=12), _VALUES | st.sampled_from(_TEXTS), max_size=8
)


@st.composite
def _spans(draw: st.DrawFn) -> SpanRecord:
    return SpanRecord(
        trace_id=draw(st.sampled_from(["1", "2"])),
        span_id=draw(_IDS),
        parent_id=draw(st.none() | _IDS),
        name=draw(st.text(max_size=12)),
        scope=draw(
            st.sampled_from(
                ["", "ragtrace", "langsmith", "haystack", "llamaindex.opentelemetry.tracer", "openlit"]
            )
        ),
        attributes=draw(_ATTRIBUTES),
        events=tuple(
            SpanEvent(draw(st.text(max_size=20)), 0, draw(_ATTRIBUTES))
            for _ in range(draw(st.integers(0, 2)))
        ),
        status=draw(st.integers(0, 2)),
        start_ns=draw(st.integers(0, 100)),
        end_ns=draw(st.integers(0, 100)),
    )


@_SLOW
@given(st.lists(_spans(), max_size=8), st.lists(st.tuples(_IDS, _VALUES, _ATTRIBUTES), max_size=2))
def test_any_spans(spans: list[SpanRecord], logs: list[tuple[str, Any, dict[str, Any]]]) -> None:
    """Spans of random keys and values, with cycles among parents and ids that repeat, are read or left out."""
    _extract(
        spans, [LogRecord("1", span, "gen_ai.choice", body, attributes) for span, body, attributes in logs]
    )


@_SLOW
@given(st.data())
def test_real_spans_with_faults(data: st.DataObject) -> None:
    """Real spans whose values were cut, lost or exchanged, and which lost parents and times, are read or left out."""
    spans, logs = data.draw(st.sampled_from(_CAPTURES))
    damaged = []
    for span in spans:
        attributes = dict(span.attributes)
        for key in data.draw(st.lists(st.sampled_from(sorted(attributes) or [""]), max_size=3)):
            attributes[key] = _damaged(data, attributes.get(key))
        lost = data.draw(st.booleans())
        damaged.append(replace(span, attributes=attributes, parent_id=None if lost else span.parent_id))
    _extract(damaged, logs)


def _damaged(data: st.DataObject, value: Any) -> Any:
    if isinstance(value, str) and value and data.draw(st.booleans()):
        return value[: data.draw(st.integers(0, len(value)))]
    return data.draw(_VALUES)


def _openinference(number: int, parent: int | None, kind: str, **attributes: Any) -> SpanRecord:
    above = None if parent is None else str(parent)
    attributes["openinference.span.kind"] = kind
    return SpanRecord("t", str(number), above, "s", attributes=attributes, start_ns=number, end_ns=10**9)


def test_a_trace_of_many_spans_is_read_to_its_end() -> None:
    """Twenty thousand spans inside each other need no stack, as many side by side no square of work."""
    deep = [_openinference(i, i - 1 if i else None, "CHAIN") for i in range(20_000)]
    assert interactions(deep) == []
    document = {"retrieval.documents.0.document.content": "x"}
    wide = [_openinference(i, 0, "RETRIEVER", **document) for i in range(1, 20_000)]
    (one,) = interactions(
        [_openinference(0, None, "CHAIN", **{"input.value": "q", "output.value": "a"}), *wide]
    )
    assert len(one.hops) == len(wide)
    assert len(one.documents or ()) == 1


def test_parents_in_a_circle_are_read() -> None:
    """Spans that are each other's parents, and one that is its own, are steps all the same."""
    circle = [
        _openinference(1, 2, "CHAIN", **{"input.value": "q", "output.value": "a"}),
        _openinference(2, 1, "CHAIN"),
    ]
    lone = _openinference(3, 3, "RETRIEVER", **{"retrieval.documents.0.document.content": "x"})
    assert [len(one.documents or ()) for one in interactions([*circle, lone])] == [1]
