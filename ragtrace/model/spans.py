"""What is recorded: spans, their events and links, log records; decoded, plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

AttributeValue = Any
"""A decoded OTLP AnyValue: str, bool, int, float, bytes, None, list or dict of the same."""


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """One event of a span."""

    name: str
    time_ns: int
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A link from a span to another."""

    trace_id: str
    span_id: str
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """A decoded span, plain Python, no protobuf.

    Ids are lower-case hex; ``parent_id`` is ``None`` for a root. ``status`` is the OTLP code (0 unset, 1 ok,
    2 error). Times are nanoseconds since the epoch.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    kind: int = 1
    scope: str = ""
    scope_version: str = ""
    resource: Mapping[str, AttributeValue] = field(default_factory=dict)
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    status: int = 0
    status_message: str = ""
    start_ns: int = 0
    end_ns: int = 0
    dropped_attributes: int = 0


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A decoded OTLP log record that names a trace; ``span_id`` is ``""`` where it names no span."""

    trace_id: str
    span_id: str
    event_name: str
    body: AttributeValue = None
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    scope: str = ""
    resource: Mapping[str, AttributeValue] = field(default_factory=dict)
    time_ns: int = 0
