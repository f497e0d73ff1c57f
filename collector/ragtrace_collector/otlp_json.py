"""OTLP/JSON ↔ encoded OTLP.

OTLP/JSON is the protobuf JSON mapping with two differences: ids are hex, and enums are numbers. See
 https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. Read leniently, as the mapping asks:
field names in camelCase or snake_case, 64-bit numbers as strings or numbers, unknown fields ignored.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ragtrace.errors import MalformedOtlp, TooLarge
from ragtrace_collector import otlp_schema as schema
from ragtrace_collector.otlp_frames import RawSpan, join
from ragtrace_collector.otlp_schema import text

_MOST_PARTS = 2**20
"""Objects and lists of a request (braces in texts count too): 16 bytes each in the largest one."""
_IDS = ("traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id")
_NUMBERS: Mapping[str, Callable[[str], object]] = {
    "intValue": int,
    "int_value": int,
    "doubleValue": float,
    "double_value": float,
}
_INT64 = {FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_FIXED64, FieldDescriptor.TYPE_UINT64}
_KINDS: Mapping[str, Literal["spans", "logs"]] = {
    "resourceSpans": "spans",
    "resource_spans": "spans",
    "resourceLogs": "logs",
    "resource_logs": "logs",
}


def kind_of_json(document: object) -> Literal["spans", "logs"]:
    """A parsed OTLP/JSON request → what it holds, told by its content.

    Raises:
        MalformedOtlp: it is no request of either kind.
    """
    if isinstance(document, dict):
        for name, kind in _KINDS.items():
            if name in document:
                return kind
    raise MalformedOtlp("no resourceSpans and no resourceLogs")


def trace_request_from_json(request: bytes | Mapping[str, Any]) -> bytes:
    """An OTLP/JSON trace request, as text or parsed → the same as encoded ExportTraceServiceRequest.

    Raises:
        MalformedOtlp: it is no such request.
        TooLarge: it has more parts than any honest request.
    """
    return _from_json(request, ExportTraceServiceRequest())


def logs_request_from_json(request: bytes | Mapping[str, Any]) -> bytes:
    """An OTLP/JSON logs request, as text or parsed → the same as encoded ExportLogsServiceRequest.

    Raises:
        MalformedOtlp: it is no such request.
        TooLarge: it has more parts than any honest request.
    """
    return _from_json(request, ExportLogsServiceRequest())


def _from_json(request: bytes | Mapping[str, Any], message: Any) -> bytes:
    if isinstance(request, bytes) and request.count(b"{") + request.count(b"[") > _MOST_PARTS:
        raise TooLarge("the request has too many parts")
    try:
        document = json.loads(request) if isinstance(request, bytes) else request
        if not isinstance(document, Mapping):
            raise MalformedOtlp("the JSON text is no object")
        json_format.ParseDict(_readable(document), message, ignore_unknown_fields=True)
    except (ValueError, TypeError, AttributeError, RecursionError, json_format.ParseError) as error:
        # The text of the cause may quote the request, so its kind alone is told.
        raise MalformedOtlp(f"no OTLP/JSON request ({type(error).__name__})") from None
    encoded: bytes = message.SerializeToString()
    return encoded


def _readable(value: Any, name: str = "") -> Any:
    """A JSON value as protobuf's JSON mapping wants it: ids in base64, texts without lone surrogates."""
    if isinstance(value, Mapping):
        return dict(_readable_field(key, item) for key, item in value.items())
    if isinstance(value, list):
        return [_readable(item) for item in value]
    if not isinstance(value, str):
        return value
    if name in _IDS:
        return base64.b64encode(binascii.unhexlify(value)).decode("ascii")
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def _readable_field(name: str, value: Any) -> tuple[str, Any]:
    # Scrubbers overwrite numbers with words. Such a value is kept as text: it must not cost its request.
    if name in _NUMBERS and isinstance(value, str):
        try:
            _NUMBERS[name](value)
        except ValueError:
            return "stringValue", _readable(value)
    return name, _readable(value, name)


def to_json(spans: Iterable[RawSpan]) -> str:
    """Spans → one OTLP/JSON trace request on one line.

    Raises:
        MalformedOtlp: the bytes of a span are no span.
    """
    return _dumps(schema.parse(schema.TraceRequest, join(spans)))


def logs_to_json(body: bytes) -> str:
    """An encoded ExportLogsServiceRequest → the same as OTLP/JSON on one line.

    Raises:
        MalformedOtlp: the bytes are no such request.
    """
    return _dumps(schema.parse(schema.LogsRequest, body))


def _dumps(request: Any) -> str:
    return json.dumps(_json(request), ensure_ascii=False, separators=(",", ":"))


def _json(message: Any) -> dict[str, Any]:
    return {field.json_name: _json_field(field, value) for field, value in message.ListFields()}


def _json_field(field: FieldDescriptor, value: Any) -> Any:
    if field.is_repeated:
        return [_json_value(field, item) for item in value]
    return _json_value(field, value)


def _json_value(field: FieldDescriptor, value: Any) -> Any:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return _json(value)
    if field.json_name in _IDS:
        return value.hex()
    if field.name == "bytes_value":
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, bytes):
        return text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
    return str(value) if field.type in _INT64 else value
