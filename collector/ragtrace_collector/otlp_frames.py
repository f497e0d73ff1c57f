"""Spans as the bytes that came: cut out of a request, joined into another, attributes appended behind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ragtrace.errors import MalformedOtlp
from ragtrace.model import AttributeValue
from ragtrace_collector import otlp_schema as schema
from ragtrace_collector.otlp_schema import parse, text
from ragtrace_collector.otlp_values import add_attributes
from ragtrace_collector.otlp_wire import FIXED32, FIXED64, VARINT, delimited, fields, tag

_RESOURCE_SPANS, _SCOPE_SPANS, _SPANS = tag(1), tag(2), tag(2)
ATTRIBUTES, _KEY = tag(9), tag(1)
_REMOTE_PARENT = 0x300
"""Bits of Span.flags: whether the parent is remote is known, and it is."""


Place = tuple[int, int, int]
"""Where a field is in a body: its start, the start of its value, its end."""


@dataclass(frozen=True, slots=True)
class RawSpan:
    """One span as received, undecoded.

    ``trace_id``, ``span_id`` and ``parent_id`` (``b""`` for a root) are the raw ids. ``resource`` is the
    encoded ResourceSpans around it without scope_spans, ``scope`` the encoded ScopeSpans without spans,
    ``data`` the Span message, untouched.
    """

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    resource: bytes
    scope: bytes
    data: bytes

    @property
    def size(self) -> int:
        """Bytes that the span takes in a request, its share of resource and scope apart."""
        return len(self.data)


@dataclass(frozen=True, slots=True)
class Glance:
    """A span as received, with what is known of it without reading it.

    ``scope`` is the name of its instrumentation scope, ``keys`` its attribute keys (UTF-8 bytes, in order).
    ``remote_parent`` says that its parent lives in another process (false where the span does not tell).
    """

    raw: RawSpan
    scope: str
    keys: tuple[bytes, ...]
    remote_parent: bool


def split(body: bytes) -> list[RawSpan]:
    """An encoded ExportTraceServiceRequest → its spans, in order.

    Checks the framing down to the fields of each span and the keys of its attributes, not their values, nor
    events and links.

    Raises:
        MalformedOtlp: the bytes are no such request.
    """
    return [raw for raw, _, _ in _spans(body)]


def glance(body: bytes) -> list[Glance]:
    """As :func:`split`, with what can be known of each span at little cost.

    Raises:
        MalformedOtlp: the bytes are no such request.
    """
    return [glanced(raw, scope, message) for raw, scope, message in _spans(body)]


def glanced(raw: RawSpan, scope: str, message: Any) -> Glance:
    """A span with what its keyed message tells."""
    is_remote = message.flags & _REMOTE_PARENT == _REMOTE_PARENT
    return Glance(raw, scope, tuple(message.attributes.key), is_remote)


def _spans(body: bytes) -> Iterator[tuple[RawSpan, str, Any]]:
    """Each span with the name of its scope and its message of attribute keys.

    The walk knows where a span lies, the protobuf runtime what is in it: side by side they cost a third of
    a walk through all the fields.
    """
    try:
        for (resource, scope, at, end), (scope_name, span) in zip(_places(body), keyed(body), strict=True):
            ids = span.trace_id, span.span_id, span.parent_span_id
            yield RawSpan(*ids, resource, scope, body[at:end]), scope_name, span
    except ValueError:
        raise MalformedOtlp("the request is framed in two ways") from None


def keyed(body: bytes) -> Iterator[tuple[str, Any]]:
    """Each span of a request as the name of its scope and its message of attribute keys.

    Raises:
        MalformedOtlp: the bytes are no request.
    """
    for resource in schema.parse(schema.KeyedTraceRequest, body).resource_spans:
        for scope in resource.scope_spans:
            name = text(b"".join(scope.scope.name[-1:]))
            for span in scope.spans:
                yield name, span


def _places(body: bytes) -> Iterator[tuple[bytes, bytes, int, int]]:
    for resource, scopes in parts(body):
        for scope, spans in scopes:
            for _, at, end in spans:
                yield resource, scope, at, end


def parts(body: bytes) -> Iterator[tuple[bytes, Iterator[tuple[bytes, list[Place]]]]]:
    """Each resource without its scopes; each of those, lazily, without its spans, and where they are."""
    for found, _, value, stop in fields(body, 0, len(body)):
        if found == _RESOURCE_SPANS:
            resource, scopes = _without(body, value, stop, _SCOPE_SPANS)
            yield resource, (_without(body, at, end, _SPANS) for _, at, end in scopes)


def _without(body: bytes, at: int, end: int, key: int) -> tuple[bytes, list[Place]]:
    """The message at ``body[at:end]`` → its bytes without the ``key`` fields, and where those are."""
    kept: list[bytes] = []
    cut: list[Place] = []
    while at < end:
        # Nearly all of a request are these fields, with lengths of two bytes: read here, they cost a half.
        if body[at] == key and at + 2 < end and body[at + 1] >= 0x80 > body[at + 2]:
            value = at + 3
            stop = value + (body[at + 1] & 0x7F | body[at + 2] << 7)
        else:
            found, _, value, stop = next(fields(body, at, end))
            if found != key:
                kept.append(body[at:stop])
                at = stop
                continue
        if stop > end:
            raise MalformedOtlp("a field runs past its message")
        cut.append((at, value, stop))
        at = stop
    return b"".join(kept), cut


_SPAN_TAGS = {tag(1), tag(2), tag(7, FIXED64), tag(8, FIXED64), tag(6, VARINT)}
_LOG_TAGS = {tag(1, FIXED64), tag(2, VARINT), tag(11, FIXED64), tag(8, FIXED32), tag(6)}


def kind_of_protobuf(body: bytes) -> Literal["spans", "logs"]:
    """An encoded request → what it holds. Both kinds are framed alike, their innermost messages are not.

    An empty request is of either kind; ``"spans"`` is said.

    Raises:
        MalformedOtlp: the bytes are neither.
    """
    for _, scopes in parts(body):
        for _, records in scopes:
            for _, at, end in records:
                for key, *_ in fields(body, at, end):
                    if key in _SPAN_TAGS:
                        return "spans"
                    if key in _LOG_TAGS:
                        return "logs"
    return "spans"


def join(spans: Iterable[RawSpan]) -> bytes:
    """Spans → an encoded ExportTraceServiceRequest, grouped by resource and scope.

    Groups stand in order of first appearance. Every byte of resource, scope and span is kept.
    """
    groups: dict[bytes, dict[bytes, list[bytes]]] = {}
    for span in spans:
        groups.setdefault(span.resource, {}).setdefault(span.scope, []).append(delimited(2, span.data))
    return b"".join(
        delimited(
            1,
            resource + b"".join(delimited(2, scope + b"".join(data)) for scope, data in scopes.items()),
        )
        for resource, scopes in groups.items()
    )


def append_attributes(
    span: RawSpan, attributes: Mapping[str, AttributeValue], drop: Collection[str] = ()
) -> RawSpan:
    """The span with ``attributes`` appended behind its own bytes.

    Attributes that carry one of the new keys, or one of ``drop``, are cut out; all else keeps its bytes.

    Raises:
        MalformedOtlp: the span's bytes are no message.
    """
    added = schema.Span()
    add_attributes(added.attributes, attributes)
    present = set(map(text, parse(schema.KeyedSpan, span.data).attributes.key))
    is_new = present.isdisjoint(attributes) and present.isdisjoint(drop)
    kept = span.data if is_new else _without_attributes(span.data, {*attributes, *drop})
    return replace(span, data=kept + added.SerializeToString())


def _without_attributes(data: bytes, gone: Collection[str]) -> bytes:
    return b"".join(
        data[start:stop]
        for key, start, value, stop in fields(data, 0, len(data))
        if key != ATTRIBUTES or text(key_of(data, value, stop)) not in gone
    )


def key_of(data: bytes, at: int, end: int) -> bytes:
    """The key of the encoded KeyValue at ``data[at:end]``."""
    name = b""
    for key, _, value, stop in fields(data, at, end):
        if key == _KEY:
            name = data[value:stop]
    return name
