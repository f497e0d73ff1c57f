"""The read side: spans of any dialect → interactions.

Each span is translated into one vocabulary (:mod:`~ragtrace.extract.step`) by the first dialect that claims
it. What an interaction is, is then decided once for all dialects: where it begins and ends
(:mod:`~ragtrace.extract.scopes`), which documents reached the prompt (:mod:`~ragtrace.extract.ranking`,
:mod:`~ragtrace.extract.prompt`), what was asked and answered (:mod:`~ragtrace.extract.asked`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ragtrace.extract.build import of_trace
from ragtrace.extract.classify import is_entry_candidate, is_rag_key, is_rag_scope, is_rag_span
from ragtrace.extract.dialects.haystack import Haystack
from ragtrace.extract.dialects.langfuse import Langfuse
from ragtrace.extract.dialects.langsmith import LangSmith
from ragtrace.extract.dialects.llama_index import LlamaIndexEvents
from ragtrace.extract.dialects.mapped import AttributeMapping
from ragtrace.extract.dialects.mlflow import MLflow
from ragtrace.extract.dialects.native import Native
from ragtrace.extract.dialects.openinference import OpenInference
from ragtrace.extract.dialects.openlit import OpenLIT
from ragtrace.extract.dialects.otel_genai import OTelGenAI
from ragtrace.extract.dialects.plain_names import Logfire, PlainNames
from ragtrace.extract.dialects.traceloop import Traceloop
from ragtrace.extract.dialects.trulens import TruLens
from ragtrace.extract.dialects.vector_store import VectorStore
from ragtrace.extract.explain import explain
from ragtrace.extract.step import Dialect, Step
from ragtrace.extract.stitch import Trace, by_session, may_be_joined, with_lone_calls
from ragtrace.extract.tree import once
from ragtrace.model import Interaction, LogRecord, SpanRecord
from ragtrace.semconv import GEN_AI_EVENT_DETAILS

__all__ = [
    "DIALECTS",
    "AttributeMapping",
    "explain",
    "interactions",
    "is_entry_candidate",
    "is_rag_key",
    "is_rag_scope",
    "is_rag_span",
    "read_trace",
]

DIALECTS: tuple[Dialect, ...] = (
    Native(),
    OpenInference(),
    Langfuse(),
    MLflow(),
    LangSmith(),
    TruLens(),
    VectorStore(),
    Traceloop(),
    Logfire(),
    OpenLIT(),
    Haystack(),
    LlamaIndexEvents(),
    OTelGenAI(),
    PlainNames(),
)
"""In order of trust: a span that several could read is read by the first."""


def interactions(
    spans: Sequence[SpanRecord],
    logs: Sequence[LogRecord] = (),
    *,
    mapping: AttributeMapping | None = None,
    stitch: bool = False,
) -> list[Interaction]:
    """The interactions in ``spans``, by trace in the order in which the traces first appear.

    ``mapping`` reads spans by attribute paths of the user's own, before any dialect. ``stitch`` puts traces
    of one session or conversation together, for instrumentations that start a trace for every step.
    ``logs`` are joined to spans by trace and span id. Total: a span that cannot be read is left out, a trace
    that holds no interaction (an evaluation, an index being built, an agent being made) gives none.
    """
    dialects, by_span = _dialects(mapping), _by_span(logs)
    by_trace: dict[str, list[SpanRecord]] = defaultdict(list)
    for span in (*spans, *_lost(spans, logs)):
        by_trace[span.trace_id].append(span)
    traces: Iterable[Trace] = (_translate(once(trace), by_span, dialects) for trace in by_trace.values())
    if stitch:
        traces = by_session(list(traces))
    read = [trace if may_be_joined(trace) else _of_trace(trace) for trace in traces]
    whole = iter(with_lone_calls([trace for trace in read if isinstance(trace, Trace)]))
    return [one for found in read for one in (_of_trace(next(whole)) if isinstance(found, Trace) else found)]


def read_trace(
    spans: Sequence[SpanRecord], logs: Sequence[LogRecord] = (), *, mapping: AttributeMapping | None = None
) -> Trace:
    """The spans of one trace in the words that all dialects share, before it is asked what they amount to."""
    return _translate(once(spans), _by_span(logs), _dialects(mapping))


def _dialects(mapping: AttributeMapping | None) -> tuple[Dialect, ...]:
    return DIALECTS if mapping is None else (mapping, *DIALECTS)


def _lost(spans: Sequence[SpanRecord], logs: Sequence[LogRecord]) -> list[SpanRecord]:
    """Spans of model calls that never came, as far as their log records tell of them."""
    told = [log for log in logs if log.event_name == GEN_AI_EVENT_DETAILS and log.span_id]
    known = {(span.trace_id, span.span_id) for span in spans} if told else set()
    return [
        SpanRecord(
            log.trace_id,
            log.span_id,
            None,
            log.event_name,
            scope=log.scope,
            resource=log.resource,
            attributes=log.attributes,
            start_ns=log.time_ns,
            end_ns=log.time_ns,
        )
        for log in told
        if (log.trace_id, log.span_id) not in known
    ]


def _by_span(logs: Sequence[LogRecord]) -> dict[tuple[str, str], list[LogRecord]]:
    found: dict[tuple[str, str], list[LogRecord]] = defaultdict(list)
    for log in logs:
        found[log.trace_id, log.span_id].append(log)
    return found


def _translate(
    spans: Sequence[SpanRecord],
    logs: Mapping[tuple[str, str], Sequence[LogRecord]],
    dialects: Sequence[Dialect],
) -> Trace:
    read = (_read(span, tuple(logs.get((span.trace_id, span.span_id), ())), dialects) for span in spans)
    return Trace(tuple(spans), tuple(step for step in read if step is not None))


def _read(span: SpanRecord, logs: tuple[LogRecord, ...], dialects: Sequence[Dialect]) -> Step | None:
    try:
        for dialect in dialects:
            if dialect.claims(span):
                return dialect.read(span, logs)
    except Exception:  # noqa: BLE001  # nonsense in one span must not cost the others
        return None
    return None


def _of_trace(trace: Trace) -> list[Interaction]:
    try:
        return of_trace(trace)
    except Exception:  # noqa: BLE001  # what no reader foresaw in one trace must not cost the others
        return []
