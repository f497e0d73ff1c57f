"""Writes what is known of an interaction on its spans: the only stage that changes spans.

Attributes are appended to the original bytes. Other carriers, each off by default: OpenInference
``evaluations.<i>.evaluation.*``, and log records ``gen_ai.evaluation.result`` parented to the judged span.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragtrace import semconv
from ragtrace.model import Evaluation, LogRecord, Score, SpanLink, SpanRecord
from ragtrace_collector import otlp
from ragtrace_collector.otlp import RawSpan
from ragtrace_collector.stages import JudgedInteraction
from ragtrace_collector.verdict_attributes import (
    Attributes,
    entry_attributes,
    retrieval_attributes,
    screen_attributes,
    stale_keys,
)


@dataclass(frozen=True, slots=True)
class Carriers:
    """Where else scores are written."""

    openinference: bool = False
    """As OpenInference ``evaluations.<i>.evaluation.*`` on the entry span."""
    log_records: bool = False
    """As log records ``gen_ai.evaluation.result`` with the ids of the entry span."""


@dataclass(frozen=True, slots=True)
class Enriched:
    """The spans to export, and the log records that speak of them, each an encoded request."""

    spans: tuple[RawSpan, ...]
    logs: tuple[bytes, ...] = ()


def enrich(judged: JudgedInteraction, carriers: Carriers = Carriers()) -> Enriched:
    """The interaction's spans with their scores.

    Every span keeps its bytes; attributes of an earlier judgement are replaced.
    """
    added, stale = _additions(judged)
    spans = []
    for raw in judged.held.spans:
        attributes = added.get(raw.span_id.hex())
        if attributes is None:
            spans.append(raw)
            continue
        if carriers.openinference:
            attributes = attributes | _openinference(raw, judged.evaluations)
        spans.append(otlp.append_attributes(raw, attributes, stale))
    logs = tuple(_logs(judged)) if carriers.log_records else ()
    return Enriched(tuple(spans), logs)


def late_carriers(judged: JudgedInteraction, now_ns: int) -> Enriched:
    """Scores that came after their spans had left: for each interaction a span that links to the judged one
    and a log record with its ids.
    """
    resources = {raw.span_id.hex(): raw.resource for raw in judged.held.spans}
    fallback = judged.held.spans[0].resource
    spans = [
        otlp.encode_span(
            _late_span(one, now_ns), resources.get(one.interaction.entry_span_id or "", fallback)
        )
        for one in judged.evaluations
    ]
    return Enriched(tuple(spans), tuple(_logs(judged)))


def _additions(judged: JudgedInteraction) -> tuple[dict[str, Attributes], list[str]]:
    """Span id → attributes to write; and the keys of earlier judgements to cut out."""
    added: dict[str, Attributes] = {}
    stale: list[str] = []
    for evaluation in judged.evaluations:
        entry = evaluation.interaction.entry_span_id or judged.held.entry_span_id
        added.setdefault(entry, {}).update(entry_attributes(evaluation))
        stale += stale_keys(evaluation)
        for span_id, attributes in retrieval_attributes(evaluation).items():
            added.setdefault(span_id, {}).update(attributes)
    for screen in judged.screens:
        entry = screen.interaction.entry_span_id or judged.held.entry_span_id
        added.setdefault(entry, {}).update(screen_attributes(screen))
        stale += stale_keys(screen)
    return added, stale


def _openinference(raw: RawSpan, evaluations: Iterable[Evaluation]) -> Attributes:
    """Scores as OpenInference evaluations, behind those that the span has."""
    mine = [one for one in evaluations if one.interaction.entry_span_id == raw.span_id.hex()]
    scores = [
        (one, outcome) for one in mine for outcome in one.outcomes.values() if isinstance(outcome, Score)
    ]
    first = _next_index(otlp.read_span(raw)) if scores else 0
    found: Attributes = {}
    for index, (evaluation, score) in enumerate(scores, start=first):
        prefix = f"{semconv.OI_EVALUATIONS}.{index}.evaluation."
        found[prefix + "name"] = score.metric
        found[prefix + "score"] = score.value
        found[prefix + "annotator_kind"] = "CODE" if evaluation.judge.model is None else "LLM"
        found[prefix + "identifier"] = f"ragtrace:{evaluation.judge.revision}"
        if score.explanation:
            found[prefix + "explanation"] = score.explanation
    return found


def _next_index(span: SpanRecord) -> int:
    taken = [key.split(".", 2)[1] for key in span.attributes if key.startswith(f"{semconv.OI_EVALUATIONS}.")]
    return max((int(index) + 1 for index in taken if index.isascii() and index.isdigit()), default=0)


def _logs(judged: JudgedInteraction) -> Iterable[bytes]:
    resources = {raw.span_id.hex(): raw.resource for raw in judged.held.spans}
    for evaluation in judged.evaluations:
        entry = evaluation.interaction.entry_span_id or judged.held.entry_span_id
        resource = resources.get(entry, judged.held.spans[0].resource)
        for record in evaluation_logs(evaluation, judged.held.trace_id, entry, judged.held.spans):
            yield otlp.encode_log(record, resource)


def evaluation_logs(
    evaluation: Evaluation, trace_id: str, span_id: str, spans: Sequence[RawSpan]
) -> list[LogRecord]:
    """One ``gen_ai.evaluation.result`` for each scored metric, with the ids of the judged span."""
    ended = [otlp.read_span(raw).end_ns for raw in spans if raw.span_id.hex() == span_id]
    return [
        LogRecord(
            trace_id=trace_id,
            span_id=span_id,
            event_name=semconv.GEN_AI_EVENT_EVALUATION,
            attributes={
                semconv.GEN_AI_EVALUATION_NAME: score.metric,
                semconv.GEN_AI_EVALUATION_SCORE: score.value,
                semconv.JUDGE_REVISION: evaluation.judge.revision,
            }
            | ({semconv.GEN_AI_EVALUATION_EXPLANATION: score.explanation} if score.explanation else {}),
            scope=semconv.EVALUATION_SCOPE,
            time_ns=ended[0] if ended else 0,
        )
        for score in evaluation.outcomes.values()
        if isinstance(score, Score)
    ]


def _late_span(evaluation: Evaluation, now_ns: int) -> SpanRecord:
    interaction = evaluation.interaction
    trace_id, entry = interaction.trace_id or "", interaction.entry_span_id or ""
    return SpanRecord(
        trace_id=trace_id,
        span_id=secrets.token_hex(8),
        parent_id=entry or None,
        name="ragtrace evaluation",
        scope=semconv.EVALUATION_SCOPE,
        attributes=entry_attributes(evaluation),
        links=(SpanLink(trace_id, entry),),
        start_ns=now_ns,
        end_ns=now_ns,
    )
