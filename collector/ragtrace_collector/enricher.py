"""Writes what is known of an interaction on its spans: the only stage that changes spans.

Attributes are appended to the original bytes. Other carriers, each off by default: OpenInference
``evaluations.<i>.evaluation.*``, span events and log records ``gen_ai.evaluation.result``.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ragtrace import semconv
from ragtrace.model import Evaluation, LogRecord, Score, SpanEvent, SpanLink, SpanRecord
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
    span_events: bool = False
    """As events ``gen_ai.evaluation.result`` of the entry span."""
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

    def written(raw: RawSpan) -> RawSpan:
        attributes = added.get(raw.span_id.hex())
        if attributes is None:
            return raw
        mine = [one for one in judged.evaluations if _entry_of(one, judged) == raw.span_id.hex()]
        if carriers.openinference:
            attributes = attributes | _openinference(raw, mine)
        changed = otlp.append_attributes(raw, attributes, stale)
        return otlp.append_events(changed, _events(raw, mine)) if carriers.span_events else changed

    logs = tuple(_logs(judged)) if carriers.log_records else ()
    return Enriched(tuple(map(written, judged.held.spans)), logs)


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


def _entry_of(evaluation: Evaluation, judged: JudgedInteraction) -> str:
    return evaluation.interaction.entry_span_id or judged.held.entry_span_id


def _additions(judged: JudgedInteraction) -> tuple[dict[str, Attributes], frozenset[str]]:
    """Span id → attributes to write; and the keys of earlier judgements to cut out."""
    added: dict[str, Attributes] = {}
    stale = frozenset[str]()
    for evaluation in judged.evaluations:
        added.setdefault(_entry_of(evaluation, judged), {}).update(entry_attributes(evaluation))
        stale |= stale_keys(evaluation)
        for span_id, attributes in retrieval_attributes(evaluation).items():
            added.setdefault(span_id, {}).update(attributes)
    for screen in judged.screens:
        added.setdefault(_entry_of(screen, judged), {}).update(screen_attributes(screen))
        stale |= stale_keys(screen)
    return added, stale


def _scores(evaluations: Iterable[Evaluation]) -> Iterator[tuple[Evaluation, Score]]:
    for evaluation in evaluations:
        for outcome in evaluation.outcomes.values():
            if isinstance(outcome, Score):
                yield evaluation, outcome


def _openinference(raw: RawSpan, evaluations: Iterable[Evaluation]) -> Attributes:
    """Scores as OpenInference evaluations, behind those that the span has."""
    found: Attributes = {}
    for index, (evaluation, score) in enumerate(_scores(evaluations), start=_next_index(raw)):
        prefix = f"{semconv.OI_EVALUATIONS}.{index}.evaluation."
        found[prefix + "name"] = score.metric
        found[prefix + "score"] = score.value
        found[prefix + "annotator_kind"] = "CODE" if evaluation.judge.model is None else "LLM"
        found[prefix + "identifier"] = f"ragtrace:{evaluation.judge.revision}"
        if score.explanation:
            found[prefix + "explanation"] = score.explanation
    return found


def _next_index(raw: RawSpan) -> int:
    keys = otlp.read_span(raw).attributes
    taken = [key.split(".", 2)[1] for key in keys if key.startswith(f"{semconv.OI_EVALUATIONS}.")]
    return max((int(index) + 1 for index in taken if index.isascii() and index.isdigit()), default=0)


def _events(raw: RawSpan, evaluations: Iterable[Evaluation]) -> list[SpanEvent]:
    ended = otlp.read_span(raw).end_ns
    return [
        SpanEvent(semconv.GEN_AI_EVENT_EVALUATION, ended, _result(evaluation, score))
        for evaluation, score in _scores(evaluations)
    ]


def _logs(judged: JudgedInteraction) -> Iterator[bytes]:
    raws = {raw.span_id.hex(): raw for raw in judged.held.spans}
    for evaluation, score in _scores(judged.evaluations):
        entry = _entry_of(evaluation, judged)
        raw = raws.get(entry, judged.held.spans[0])
        record = LogRecord(
            trace_id=evaluation.interaction.trace_id or judged.held.trace_id,
            span_id=entry,
            event_name=semconv.GEN_AI_EVENT_EVALUATION,
            attributes=_result(evaluation, score),
            scope=semconv.EVALUATION_SCOPE,
            time_ns=otlp.read_span(raw).end_ns,
        )
        yield otlp.encode_log(record, raw.resource)


def _result(evaluation: Evaluation, score: Score) -> Attributes:
    """A score in the words of OpenTelemetry's ``gen_ai.evaluation.result``."""
    found: Attributes = {
        semconv.GEN_AI_EVALUATION_NAME: score.metric,
        semconv.GEN_AI_EVALUATION_SCORE: score.value,
        semconv.JUDGE_REVISION: evaluation.judge.revision,
    }
    return found | ({semconv.GEN_AI_EVALUATION_EXPLANATION: score.explanation} if score.explanation else {})


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
