"""What OTLP servers answer and clients read: google.rpc.Status, RetryInfo, partial success."""

from __future__ import annotations

import json

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse


def _retry_info(seconds: float) -> RetryInfo:
    whole = int(seconds)
    return RetryInfo(retry_delay=Duration(seconds=whole, nanos=int((seconds - whole) * 1e9)))


def encode_retry_info(seconds: float) -> bytes:
    """An encoded RetryInfo: come again after ``seconds``."""
    encoded: bytes = _retry_info(seconds).SerializeToString()
    return encoded


def decode_retry_info(encoded: bytes) -> float | None:
    """An encoded RetryInfo → seconds; ``None`` where it is none."""
    try:
        delay = RetryInfo.FromString(encoded).retry_delay
    except DecodeError:
        return None
    return float(delay.seconds + delay.nanos / 1e9)


def encode_status(code: int, message: str, retry_after: float | None = None) -> bytes:
    """An encoded google.rpc.Status with a gRPC ``code``, and a RetryInfo where ``retry_after`` is given."""
    status = Status(code=code, message=message)
    if retry_after is not None:
        detail = AnyMessage()
        detail.Pack(_retry_info(retry_after))
        status.details.append(detail)
    encoded: bytes = status.SerializeToString()
    return encoded


def status_to_json(code: int, message: str) -> bytes:
    """The same as JSON."""
    return json.dumps({"code": code, "message": message}).encode()


def rejected_by(response: bytes) -> int:
    """An encoded ExportTraceServiceResponse (or of logs) → how many items the backend threw away.

    0 where the body is none: some backends answer with text of their own.
    """
    try:
        rejected: int = ExportTraceServiceResponse.FromString(response).partial_success.rejected_spans
    except DecodeError:
        return 0
    return max(rejected, 0)
