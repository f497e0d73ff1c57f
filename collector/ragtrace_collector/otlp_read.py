"""Encoded OTLP → plain Python."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ragtrace.errors import MalformedOtlp, TooLarge
from ragtrace.model import AttributeValue, LogRecord, SpanEvent, SpanLink, SpanRecord
from ragtrace_collector import otlp_schema as schema
from ragtrace_collector.otlp_frames import RawSpan, split
from ragtrace_collector.otlp_schema import parse, text
from ragtrace_collector.otlp_values import decode_attributes, decode_value

MOST_SPANS, MOST_ATTRIBUTES = 262_144, 2_097_152
"""Of one request: 256 bytes a span and 32 an attribute in the largest one."""
_CACHED_BYTES = 16_384
"""Longer resources and scopes are decoded each time, so that what a cache may hold is bounded in bytes."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What a request holds, as far as attribute keys and scope names tell."""

    spans: int
    rag_keys: frozenset[bytes]
    """Those attribute keys that were asked for."""
    scopes: frozenset[str]
    """Names of the instrumentation scopes that have one."""
    traces: frozenset[bytes]
    """Trace ids that its spans name."""

    @property
    def rag(self) -> bool:
        """Whether some span carries one of the keys asked for."""
        return bool(self.rag_keys)


def survey(body: bytes, is_rag_key: Callable[[bytes], bool]) -> Survey:
    """Count the spans of an encoded trace request, and see whether a key of theirs is a RAG key.

    ``is_rag_key`` is called once for each different attribute key of the request, with its UTF-8 bytes.

    Raises:
        MalformedOtlp: the bytes are no such request (attribute values and events are not looked into).
        TooLarge: it has more spans or attributes than any honest request.
    """
    spans = count_spans(body)
    merged = parse(schema.SurveyedTraceRequest, body).resource_spans.scope_spans
    if len(merged.spans.attributes.key) > MOST_ATTRIBUTES:
        raise TooLarge("the request has too many attributes")
    return Survey(
        spans=spans,
        rag_keys=frozenset(filter(is_rag_key, set(merged.spans.attributes.key))),
        scopes=frozenset(map(text, set(merged.scope.name))),
        traces=frozenset(merged.spans.trace_id),
    )


def count_spans(body: bytes) -> int:
    """How many spans an encoded trace request holds.

    Raises:
        MalformedOtlp: the bytes are no such request.
        TooLarge: it has more spans than any honest request.
    """
    request = parse(schema.FramedTraceRequest, body)
    spans = sum(len(scope.spans) for resource in request.resource_spans for scope in resource.scope_spans)
    if spans > MOST_SPANS:
        raise TooLarge("the request has too many spans")
    return spans


def _resource_attributes(encoded: bytes) -> Mapping[str, AttributeValue]:
    return decode_attributes(parse(schema.ResourceSpans, encoded).resource.attributes)


def _scope(encoded: bytes) -> tuple[str, str]:
    scope = parse(schema.ScopeSpans, encoded).scope
    return text(scope.name), text(scope.version)


_cached_resource, _cached_scope = lru_cache(256)(_resource_attributes), lru_cache(256)(_scope)


def scope_of(span: RawSpan) -> tuple[str, str]:
    """Name and version of the span's instrumentation scope, each ``""`` where it has none."""
    read = _cached_scope if len(span.scope) <= _CACHED_BYTES else _scope
    return read(span.scope)


def scope_name(scope: bytes) -> str:
    """The name of an encoded scope (:attr:`RawSpan.scope`), ``""`` where it has none."""
    return (_cached_scope if len(scope) <= _CACHED_BYTES else _scope)(scope)[0]


def read_span(span: RawSpan) -> SpanRecord:
    """A span as received → plain Python.

    Raises:
        MalformedOtlp: its bytes, or its resource's or scope's, are no such message.
    """
    read_resource = _cached_resource if len(span.resource) <= _CACHED_BYTES else _resource_attributes
    scope, version = scope_of(span)
    message = parse(schema.Span, span.data)
    return SpanRecord(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_id.hex() or None,
        name=text(message.name),
        kind=message.kind,
        scope=scope,
        scope_version=version,
        resource=read_resource(span.resource),
        attributes=decode_attributes(message.attributes),
        events=tuple(
            SpanEvent(text(event.name), event.time_unix_nano, decode_attributes(event.attributes))
            for event in message.events
        ),
        links=tuple(
            SpanLink(link.trace_id.hex(), link.span_id.hex(), decode_attributes(link.attributes))
            for link in message.links
        ),
        status=message.status.code,
        status_message=text(message.status.message),
        start_ns=message.start_time_unix_nano,
        end_ns=message.end_time_unix_nano,
        dropped_attributes=message.dropped_attributes_count,
    )


def read_attributes(span: RawSpan, keys: Collection[str]) -> dict[str, AttributeValue]:
    """Those attributes of a span whose key is one of ``keys``; the rest is not decoded.

    One whose value cannot be read is left out: the span that carries it is taken already, and has to leave.

    Raises:
        MalformedOtlp: the span's bytes are no span.
    """
    wanted = {key.encode(): key for key in keys}
    found: dict[str, AttributeValue] = {}
    for attribute in parse(schema.ShallowSpan, span.data).attributes:
        if attribute.key in wanted:
            with suppress(MalformedOtlp):
                found[wanted[attribute.key]] = decode_value(parse(schema.AnyValue, attribute.value))
    return found


def read_spans(body: bytes) -> list[SpanRecord]:
    """An encoded ExportTraceServiceRequest → its spans in plain Python.

    Raises:
        MalformedOtlp: the bytes are no such request.
    """
    return [read_span(span) for span in split(body)]


def read_logs(body: bytes) -> list[LogRecord]:
    """An encoded ExportLogsServiceRequest → those of its records that name a trace.

    Raises:
        MalformedOtlp: the bytes are no such request.
    """
    return [
        _log_record(record, text(scope_logs.scope.name), resource)
        for resource_logs in parse(schema.LogsRequest, body).resource_logs
        for resource in (decode_attributes(resource_logs.resource.attributes),)
        for scope_logs in resource_logs.scope_logs
        for record in scope_logs.log_records
        if record.trace_id
    ]


def _log_record(record: Any, scope: str, resource: Mapping[str, AttributeValue]) -> LogRecord:
    attributes = decode_attributes(record.attributes)
    # Before OTLP 1.5 the name of an event was an attribute.
    name = text(record.event_name) or attributes.get("event.name", "")
    return LogRecord(
        trace_id=record.trace_id.hex(),
        span_id=record.span_id.hex(),
        event_name=name if isinstance(name, str) else str(name),
        body=decode_value(record.body),
        attributes=attributes,
        scope=scope,
        resource=resource,
        time_ns=record.time_unix_nano or record.observed_time_unix_nano,
    )
