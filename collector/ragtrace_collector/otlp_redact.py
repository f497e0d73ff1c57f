"""Requests with the texts of content attributes replaced, before anything else sees them.

A request in which nothing is replaced stays the very same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from ragtrace_collector import otlp_schema as schema
from ragtrace_collector.otlp_schema import text

Redact = Callable[[str], str]
IsContent = Callable[[str], bool]

_LEAST_DIGITS = 8
"""A shorter number in JSON is nobody's phone, card or id."""


def redact_traces(body: bytes, redact: Redact, is_content: IsContent) -> bytes:
    """An encoded trace request with ``redact`` applied to span attributes, event attributes and status texts.

    Of the attributes those count whose key ``is_content``.

    Raises:
        MalformedOtlp: it is none.
    """
    request = schema.parse(schema.TraceRequest, body)
    changed = False
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                parts = (span, *span.events, *span.links)
                for part in parts:
                    changed |= _in_attributes(part.attributes, redact, is_content)
                message = text(span.status.message)
                if message and (cleaned := redact(message)) != message:
                    span.status.message = cleaned.encode("utf-8", "replace")
                    changed = True
    return request.SerializeToString() if changed else body


def redact_logs(body: bytes, redact: Redact, is_content: IsContent) -> bytes:
    """An encoded log request with ``redact`` applied to bodies, and to attributes whose key ``is_content``.

    Raises:
        MalformedOtlp: it is none.
    """
    request = schema.parse(schema.LogsRequest, body)
    changed = False
    for resource in request.resource_logs:
        for scope in resource.scope_logs:
            for record in scope.log_records:
                changed |= _in_values([record.body], redact)
                changed |= _in_attributes(record.attributes, redact, is_content)
    return request.SerializeToString() if changed else body


def redact_text(value: str, redact: Redact) -> str:
    """``value`` redacted; where it is JSON, its texts and long numbers are, so that it stays JSON."""
    if value[:1] not in {"{", "["}:
        return redact(value)
    try:
        found = json.loads(value)
        cleaned = _in_json(found, redact)
    except (ValueError, RecursionError):
        return redact(value)
    return value if cleaned == found else json.dumps(cleaned, ensure_ascii=False)


def _in_json(value: Any, redact: Redact) -> Any:
    match value:
        case str():
            return redact_text(value, redact)
        case dict():
            return {key: _in_json(item, redact) for key, item in value.items()}
        case list():
            return [_in_json(item, redact) for item in value]
        case int() if abs(value) >= 10 ** (_LEAST_DIGITS - 1):
            digits = str(value)
            return value if (cleaned := redact(digits)) == digits else cleaned
    return value


def _in_attributes(attributes: Iterable[Any], redact: Redact, is_content: IsContent) -> bool:
    content = [attribute.value for attribute in attributes if is_content(text(attribute.key))]
    return _in_values(content, redact)


def _in_values(values: list[Any], redact: Redact) -> bool:
    """Redact AnyValues in place, those in lists and maps included → whether any changed."""
    changed = False
    while values:
        value = values.pop()
        which = value.WhichOneof("value")
        if which == "array_value":
            values += value.array_value.values
        elif which == "kvlist_value":
            values += [pair.value for pair in value.kvlist_value.values]
        elif which == "string_value":
            before = text(value.string_value)
            if (cleaned := redact_text(before, redact)) != before:
                value.string_value = cleaned.encode("utf-8", "replace")
                changed = True
    return changed
