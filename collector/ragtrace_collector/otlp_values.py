"""OTLP attribute values ↔ plain Python.

A decoded value is str, bool, int, float, bytes, None (an AnyValue that holds nothing), list or dict of the
same. Texts that are no UTF-8 are read with U+FFFD where they break; lone surrogates are written as ``?``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ragtrace.model import AttributeValue
from ragtrace_collector import otlp_schema as schema
from ragtrace_collector.otlp_schema import text

_INT64 = range(-(2**63), 2**63)


def decode_value(value: Any) -> AttributeValue:
    """An AnyValue message → plain Python."""
    which = value.WhichOneof("value")
    if which == "string_value":
        return text(value.string_value)
    if which == "array_value":
        return [decode_value(item) for item in value.array_value.values]
    if which == "kvlist_value":
        return decode_attributes(value.kvlist_value.values)
    return None if which is None else getattr(value, which)


def decode_attributes(attributes: Iterable[Any]) -> dict[str, AttributeValue]:
    """KeyValue messages → dict. Where a key comes twice, its last value stands."""
    return {text(attribute.key): decode_value(attribute.value) for attribute in attributes}


def encode_value(value: AttributeValue) -> bytes:
    """Plain Python → an encoded AnyValue."""
    message = schema.AnyValue()
    _fill(message, value)
    encoded: bytes = message.SerializeToString()
    return encoded


def encode_attributes(attributes: Mapping[str, AttributeValue]) -> Iterator[bytes]:
    """Attributes → one encoded KeyValue each, in order."""
    for key, value in attributes.items():
        message = schema.KeyValue(key=_utf8(key))
        _fill(message.value, value)
        yield message.SerializeToString()


def _utf8(value: str) -> bytes:
    return value.encode("utf-8", "replace")


def _fill(message: Any, value: AttributeValue) -> None:
    if value is None:
        message.SetInParent()
    elif isinstance(value, bool):
        message.bool_value = value
    elif isinstance(value, int) and value in _INT64:
        message.int_value = value
    elif isinstance(value, float):
        message.double_value = value
    elif isinstance(value, bytes):
        message.bytes_value = value
    elif isinstance(value, Mapping):
        message.kvlist_value.SetInParent()
        for key, item in value.items():
            pair = message.kvlist_value.values.add(key=_utf8(str(key)))
            _fill(pair.value, item)
    elif isinstance(value, list | tuple):
        message.array_value.SetInParent()
        for item in value:
            _fill(message.array_value.values.add(), item)
    else:
        message.string_value = _utf8(str(value))
