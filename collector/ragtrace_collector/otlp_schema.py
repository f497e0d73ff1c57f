"""The OTLP messages for the protobuf runtime, with every string read as bytes.

proto3 runtimes refuse a whole message for one invalid UTF-8 byte in any string, and an app that cuts a text
in the middle of a character would lose 512 spans by it. So the official descriptors are loaded once more into
a pool of our own, strings declared as bytes (the two are the same on the wire), and texts are decoded with
replacement where they are read.

A second, shallow pool leaves the values of attributes as the bytes that they are: enough to look at attribute
keys, at a third of the cost. A third looks at nothing but where spans are.
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
_UNREAD = {
    ("KeyValue", "value"),
    ("Span", "events"),
    ("Span", "links"),
    ("Span", "status"),
    ("ResourceSpans", "resource"),
}
"""What the shallow pool leaves as the bytes that it is."""

_Unread = Set[tuple[str, str]]


def _relax(message: DescriptorProto, unread: _Unread) -> None:
    for field in message.field:
        if field.type == FieldDescriptorProto.TYPE_STRING:
            field.type = FieldDescriptorProto.TYPE_BYTES
        if (message.name, field.name) in unread:
            field.type = FieldDescriptorProto.TYPE_BYTES
            field.ClearField("type_name")
    for nested in message.nested_type:
        _relax(nested, unread)


def _relaxed(unread: _Unread) -> Callable[[str], Any]:
    pool = descriptor_pool.DescriptorPool()
    for module in _FILES:
        file = FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        for message in file.message_type:
            _relax(message, unread)
        pool.AddSerializedFile(file.SerializeToString())

    def message_class(name: str) -> Any:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(_PACKAGE + name))

    return message_class


_full, _shallow = _relaxed(frozenset()), _relaxed(_UNREAD)
_framed = _relaxed(
    frozenset({("ScopeSpans", "spans"), ("ScopeSpans", "scope"), ("ResourceSpans", "resource")})
)

AnyValue = _full("common.v1.AnyValue")
KeyValue = _full("common.v1.KeyValue")
Span = _full("trace.v1.Span")
ScopeSpans = _full("trace.v1.ScopeSpans")
ResourceSpans = _full("trace.v1.ResourceSpans")
ScopeLogs = _full("logs.v1.ScopeLogs")
LogRecord = _full("logs.v1.LogRecord")
TraceRequest = _full("collector.trace.v1.ExportTraceServiceRequest")
LogsRequest = _full("collector.logs.v1.ExportLogsServiceRequest")
ShallowTraceRequest = _shallow("collector.trace.v1.ExportTraceServiceRequest")
ShallowSpan = _shallow("trace.v1.Span")
FramedTraceRequest = _framed("collector.trace.v1.ExportTraceServiceRequest")


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
