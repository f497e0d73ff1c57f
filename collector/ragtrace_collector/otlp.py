"""OTLP in and out: the one border between encoded requests and plain Python.

Spans travel as the bytes that came (:class:`RawSpan`). They are cut out of a request and joined into another
without being decoded; readers get decoded copies (:class:`ragtrace.model.SpanRecord`); attributes are
appended behind the original bytes.
"""

from __future__ import annotations

from ragtrace_collector.otlp_cap import cap_attributes
from ragtrace_collector.otlp_cut import cut_span, cut_texts
from ragtrace_collector.otlp_density import check_logs, check_traces
from ragtrace_collector.otlp_frames import (
    Glance,
    RawSpan,
    append_attributes,
    glance,
    join,
    kind_of_protobuf,
    split,
)
from ragtrace_collector.otlp_json import (
    kind_of_json,
    logs_request_from_json,
    logs_to_json,
    to_json,
    trace_request_from_json,
)
from ragtrace_collector.otlp_read import (
    Survey,
    count_spans,
    read_attributes,
    read_logs,
    read_span,
    read_spans,
    scope_of,
    survey,
)
from ragtrace_collector.otlp_redact import redact_logs, redact_traces
from ragtrace_collector.otlp_sift import Sifted, Wanted, sift
from ragtrace_collector.otlp_write import append_events, encode_log, encode_span

__all__ = [
    "Glance",
    "RawSpan",
    "Sifted",
    "Survey",
    "Wanted",
    "append_attributes",
    "append_events",
    "cap_attributes",
    "check_logs",
    "check_traces",
    "count_spans",
    "cut_span",
    "cut_texts",
    "encode_log",
    "encode_span",
    "glance",
    "join",
    "kind_of_json",
    "kind_of_protobuf",
    "logs_request_from_json",
    "logs_to_json",
    "read_attributes",
    "read_logs",
    "read_span",
    "read_spans",
    "redact_logs",
    "redact_traces",
    "scope_of",
    "sift",
    "split",
    "survey",
    "to_json",
    "trace_request_from_json",
]
