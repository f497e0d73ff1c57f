"""The OTLP messages for the protobuf runtime, with every string read as bytes.

proto3 runtimes refuse a whole message for one invalid UTF-8 byte in any string, and an app that cuts a text
in the middle of a character would lose 512 spans by it. So the official descriptors are loaded once more into
a pool of our own, strings declared as bytes (the two are the same on the wire), and texts are decoded with
replacement where they are read.

Other pools look at less, for a Python object for each attribute of each span is what a look at a request
costs:

* *shallow* leaves the values of attributes as bytes, *framed* the spans.
* *keyed* and *surveyed* declare repeated messages as single ones. By protobuf's rules a single message that
  comes several times is merged, and lists in it are joined; so one list collects the attribute keys of a
  span, or of a whole request, without an object for anything between.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from ragtrace.errors import MalformedOtlp

_FILES = (common_pb2, resource_pb2, trace_pb2, logs_pb2, trace_service_pb2, logs_service_pb2)
_PACKAGE = "opentelemetry.proto."
_Field = tuple[str, str]

_UNREAD = {
    ("KeyValue", "value"),
    ("Span", "events"),
    ("Span", "links"),
    ("Span", "status"),
    ("ResourceSpans", "resource"),
}
"""What a look at attribute keys leaves as the bytes that it is."""
_AROUND = {
    ("ExportTraceServiceRequest", "resource_spans"),
    ("ResourceSpans", "scope_spans"),
    ("ScopeSpans", "spans"),
}
_ATTRIBUTES = ("Span", "attributes")
_ASIDE = {("Span", "events"), ("Span", "links")}
"""What nobody asks a look at keys for: as single bytes, each takes the place of the one before."""
_LISTED = {("KeyValue", "key"), ("InstrumentationScope", "name")}
"""What is collected where the messages around it are merged."""


def _relax(message: DescriptorProto, unread: Set[_Field], merged: Set[_Field], listed: Set[_Field]) -> None:
    for field in message.field:
        name = (message.name, field.name)
        if field.type == FieldDescriptorProto.TYPE_STRING:
            field.type = FieldDescriptorProto.TYPE_BYTES
        if name in unread:
            field.type = FieldDescriptorProto.TYPE_BYTES
            field.ClearField("type_name")
        if name in merged:
            field.label = FieldDescriptorProto.LABEL_OPTIONAL
        if merged and name in listed:
            field.label = FieldDescriptorProto.LABEL_REPEATED
    for nested in message.nested_type:
        _relax(nested, unread, merged, listed)


def _relaxed(
    unread: Set[_Field] = frozenset(), merged: Set[_Field] = frozenset(), listed: Set[_Field] = _LISTED
) -> Callable[[str], Any]:
    """The OTLP messages with strings as bytes; messages ``unread`` as bytes too, repeated ones ``merged``
    and what they have one of ``listed``."""
    pool = descriptor_pool.DescriptorPool()
    for module in _FILES:
        file = FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        for message in file.message_type:
            _relax(message, unread, merged, listed)
        pool.AddSerializedFile(file.SerializeToString())

    def message_class(name: str) -> Any:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(_PACKAGE + name))

    return message_class


_full, _shallow = _relaxed(), _relaxed(_UNREAD)
_framed = _relaxed({("ScopeSpans", "spans"), ("ScopeSpans", "scope"), ("ResourceSpans", "resource")})
_keyed = _relaxed(_UNREAD, merged={_ATTRIBUTES, *_ASIDE})
_surveyed = _relaxed(
    _UNREAD, merged={*_AROUND, _ATTRIBUTES, *_ASIDE}, listed={*_LISTED, ("Span", "trace_id")}
)
_TRACE_REQUEST = "collector.trace.v1.ExportTraceServiceRequest"

AnyValue = _full("common.v1.AnyValue")
KeyValue = _full("common.v1.KeyValue")
Span = _full("trace.v1.Span")
SpanEvent = _full("trace.v1.Span.Event")
ScopeSpans = _full("trace.v1.ScopeSpans")
ResourceSpans = _full("trace.v1.ResourceSpans")
ScopeLogs = _full("logs.v1.ScopeLogs")
LogRecord = _full("logs.v1.LogRecord")
TraceRequest = _full(_TRACE_REQUEST)
LogsRequest = _full("collector.logs.v1.ExportLogsServiceRequest")
ShallowSpan = _shallow("trace.v1.Span")
"""Attribute values are bytes."""
FramedTraceRequest = _framed(_TRACE_REQUEST)
"""Spans are bytes."""
KeyedTraceRequest = _keyed(_TRACE_REQUEST)
"""``span.attributes.key`` lists the span's keys."""
KeyedSpan = _keyed("trace.v1.Span")
SurveyedTraceRequest = _surveyed(_TRACE_REQUEST)
"""``resource_spans.scope_spans.spans.attributes.key`` lists the keys of all spans of the request, and
``.spans.trace_id`` their trace ids."""


def parse(message: Any, data: bytes) -> Any:
    """Encoded bytes → a message of the class ``message``.

    Raises:
        MalformedOtlp: they are none, or are nested deeper than the protobuf runtime allows (100).
    """
    try:
        return message.FromString(data)
    except DecodeError as error:
        raise MalformedOtlp(f"no {message.DESCRIPTOR.name}: {error}") from None


def text(value: bytes) -> str:
    """A string as it travelled → str; bytes that are no UTF-8 become U+FFFD."""
    return value.decode("utf-8", "replace")
