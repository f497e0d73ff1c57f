"""Spans and log records of our own → encoded OTLP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ragtrace.model import AttributeValue, LogRecord, SpanEvent, SpanRecord
from ragtrace_collector import otlp_schema as schema
from ragtrace_collector.otlp_frames import RawSpan, append_attributes
from ragtrace_collector.otlp_values import add_attributes, fill_value, utf8
from ragtrace_collector.otlp_wire import delimited


def _encode_resource(attributes: Mapping[str, AttributeValue]) -> bytes:
    """Attributes → an encoded ResourceSpans (or ResourceLogs) with nothing but its resource."""
    message = schema.ResourceSpans()
    message.resource.SetInParent()
    add_attributes(message.resource.attributes, attributes)
    encoded: bytes = message.SerializeToString()
    return encoded


def _encode_scope(name: str, version: str) -> bytes:
    """A scope → an encoded ScopeSpans (or ScopeLogs) with nothing but its scope."""
    encoded: bytes = schema.ScopeSpans(
        scope={"name": utf8(name), "version": utf8(version)}
    ).SerializeToString()
    return encoded


def encode_span(record: SpanRecord, resource: bytes | None = None) -> RawSpan:
    """A new span, for example of late scores.

    ``resource`` is the encoded resource of the span that it speaks of (:attr:`RawSpan.resource`); without it
    the record's own is written. Events are not written.
    """
    message = schema.Span(
        trace_id=bytes.fromhex(record.trace_id),
        span_id=bytes.fromhex(record.span_id),
        parent_span_id=bytes.fromhex(record.parent_id or ""),
        name=utf8(record.name),
        kind=record.kind,
        start_time_unix_nano=record.start_ns,
        end_time_unix_nano=record.end_ns,
        links=[
            {"trace_id": bytes.fromhex(link.trace_id), "span_id": bytes.fromhex(link.span_id)}
            for link in record.links
        ],
    )
    if record.status or record.status_message:
        message.status.code = record.status
        message.status.message = utf8(record.status_message)
    span = RawSpan(
        message.trace_id,
        message.span_id,
        message.parent_span_id,
        _encode_resource(record.resource) if resource is None else resource,
        _encode_scope(record.scope, record.scope_version),
        message.SerializeToString(),
    )
    return append_attributes(span, record.attributes)


def append_events(span: RawSpan, events: Iterable[SpanEvent]) -> RawSpan:
    """The span with ``events`` appended behind its own bytes."""
    message = schema.Span()
    for event in events:
        added = message.events.add(time_unix_nano=event.time_ns, name=utf8(event.name))
        add_attributes(added.attributes, event.attributes)
    return replace(span, data=span.data + message.SerializeToString())


def encode_log(record: LogRecord, resource: bytes | None = None) -> bytes:
    """A log record → an encoded ExportLogsServiceRequest that holds it alone.

    ``resource`` as in :func:`encode_span`; ResourceSpans and ResourceLogs number their fields alike.
    """
    message = schema.LogRecord(
        trace_id=bytes.fromhex(record.trace_id),
        span_id=bytes.fromhex(record.span_id),
        event_name=utf8(record.event_name),
        time_unix_nano=record.time_ns,
        observed_time_unix_nano=record.time_ns,
        flags=1,
    )
    if record.body is not None:
        fill_value(message.body, record.body)
    add_attributes(message.attributes, record.attributes)
    scope = _encode_scope(record.scope, "") + delimited(2, message.SerializeToString())
    return delimited(
        1, (_encode_resource(record.resource) if resource is None else resource) + delimited(2, scope)
    )
