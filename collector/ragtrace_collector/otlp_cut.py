"""Spans made smaller for a backend that takes no larger ones: long texts are cut, everything else stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ragtrace.semconv import OUTCOMES, TRUNCATION_MARKER
from ragtrace_collector import otlp_schema as schema
from ragtrace_collector.otlp_frames import RawSpan

_MARKER = TRUNCATION_MARKER.encode()
_SHORTEST = 64
"""Bytes. Texts are not cut below: a span that is still too large is so by their number."""
_UNTOUCHED = OUTCOMES.encode()
"""The attribute that says what the texts were judged to be: of no use in half."""


def cut_span(span: RawSpan, max_bytes: int) -> RawSpan:
    """The span with its longest texts cut so that it takes at most ``max_bytes``.

    As little is cut as halving finds: texts keep at least half of the length that would have fitted. A span
    whose size does not come from its texts stays larger than asked.

    Raises:
        MalformedOtlp: the span's bytes are no span.
    """
    longest = max_bytes
    while span.size > max_bytes and longest >= _SHORTEST:
        span = cut_texts(span, longest)
        longest //= 2
    return span


def cut_texts(span: RawSpan, longest: int) -> RawSpan:
    """The span with texts of more than ``longest`` bytes cut to that, marker included, between code points.

    Raises:
        MalformedOtlp: the span's bytes are no span.
    """
    message = schema.parse(schema.Span, span.data)
    cut = False
    for value in _values(message):
        text = value.string_value
        if len(text) > longest:
            value.string_value = _cut(text, longest)
            cut = True
    return replace(span, data=message.SerializeToString()) if cut else span


def _cut(text: bytes, longest: int) -> bytes:
    end = max(longest - len(_MARKER), 0)
    while end and text[end] & 0xC0 == 0x80:  # in the middle of a character
        end -= 1
    return text[:end] + _MARKER


def _values(span: Any) -> Iterator[Any]:
    """The AnyValues of a span, its events and links, those in lists and maps included."""
    attributes = [attribute for attribute in span.attributes if attribute.key != _UNTOUCHED]
    for part in (*span.events, *span.links):
        attributes += part.attributes
    todo = [attribute.value for attribute in attributes]
    while todo:
        value = todo.pop()
        which = value.WhichOneof("value")
        if which == "array_value":
            todo += value.array_value.values
        elif which == "kvlist_value":
            todo += [pair.value for pair in value.kvlist_value.values]
        elif which == "string_value":
            yield value
