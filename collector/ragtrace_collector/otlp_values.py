"""OTLP attribute values ↔ plain Python.

A decoded value is str, bool, int, float, bytes, None (an AnyValue that holds nothing), list or dict of the
same. Texts that are no UTF-8 are read with U+FFFD where they break; lone surrogates are written as ``?``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ragtrace.model import AttributeValue
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


def add_attributes(field: Any, attributes: Mapping[str, AttributeValue]) -> None:
    """Add ``attributes`` to the ``attributes`` field of a message, one KeyValue each, in order."""
    for key, value in attributes.items():
        fill_value(field.add(key=utf8(str(key))).value, value)


def utf8(value: str) -> bytes:
    """A str → the bytes that travel."""
    return value.encode("utf-8", "replace")


def fill_value(message: Any, value: AttributeValue) -> None:
    """Put plain Python into an AnyValue message."""
    if isinstance(value, str):
        message.string_value = utf8(str(value))
    elif value is None:
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
        add_attributes(message.kvlist_value.values, value)
    elif isinstance(value, list | tuple):
        message.array_value.SetInParent()
        for item in value:
            fill_value(message.array_value.values.add(), item)
    else:
        message.string_value = utf8(str(value))
