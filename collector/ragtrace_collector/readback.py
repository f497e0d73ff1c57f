"""Judged traces read back: enriched spans → evaluations, as the views show them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragtrace import extract, semconv
from ragtrace.model import Evaluation, SpanRecord
from ragtrace.records import evaluation_from_dict
from ragtrace_collector import otlp


@dataclass(frozen=True, slots=True)
class Judged:
    """An evaluation with the spans of its trace."""

    evaluation: Evaluation
    spans: tuple[SpanRecord, ...]


def read_judged(lines: bytes) -> list[Judged]:
    """The judged interactions of OTLP/JSON lines, as the collector's ``--out`` writes them.

    Raises:
        InputError: a line is no OTLP/JSON.
    """
    spans = [
        span
        for line in lines.splitlines()
        if line
        for span in otlp.read_spans(otlp.trace_request_from_json(line))
    ]
    traces: dict[str, list[SpanRecord]] = {}
    for span in spans:
        traces.setdefault(span.trace_id, []).append(span)
    return [one for trace in traces.values() for one in _judged(trace)]


def _judged(spans: list[SpanRecord]) -> list[Judged]:
    by_id = {span.span_id: span for span in spans}
    found = []
    for interaction in extract.interactions(spans):
        entry = by_id.get(interaction.entry_span_id or "")
        record = _outcomes(entry.attributes) if entry else None
        if record is not None:
            found.append(Judged(evaluation_from_dict(interaction, record), tuple(spans)))
    return found


def _outcomes(attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    text = attributes.get(semconv.OUTCOMES)
    if not isinstance(text, str):
        return None
    record = json.loads(text)
    return record if isinstance(record, dict) else None
