"""Spans with fewer attributes, for a backend that takes no more: the least telling go, and are counted."""

from __future__ import annotations

import re
from dataclasses import replace

from ragtrace import semconv
from ragtrace_collector.otlp_frames import ATTRIBUTES, RawSpan, key_of
from ragtrace_collector.otlp_wire import VARINT, fields, read_varint, tag, varint

_DROPPED = tag(10, VARINT)
_OURS = b"ragtrace."
_TEXTS = frozenset(
    name.encode()
    for name in (
        *(semconv.INPUT_VALUE, semconv.OUTPUT_VALUE),
        *(semconv.GEN_AI_INPUT_MESSAGES, semconv.GEN_AI_OUTPUT_MESSAGES),
        *("traceloop.entity.input", "traceloop.entity.output"),
        *("langfuse.observation.input", "langfuse.observation.output"),
        *("langfuse.trace.input", "langfuse.trace.output"),
        *("mlflow.spanInputs", "mlflow.spanOutputs"),
    )
)
"""What was asked and answered, in the dialects that write it as one attribute."""
_IN_LIST = re.compile(rb"\.\d+(?:\.|$)")
"""A key with a number in it is a piece of a list that was written flat."""


def cap_attributes(span: RawSpan, most: int) -> RawSpan:
    """The span with at most ``most`` attributes; ``dropped_attributes_count`` grows by what went.

    First go pieces of flattened lists, the last of them first, then other attributes, again the last first.
    Scores (``ragtrace.*``), inputs and outputs never go, even where they alone are more than ``most``. What
    stays keeps its bytes and its order.

    Raises:
        MalformedOtlp: the span's bytes are no message.
    """
    parts = list(fields(span.data, 0, len(span.data)))
    worths = {
        start: _worth(key_of(span.data, value, stop))
        for found, start, value, stop in parts
        if found == ATTRIBUTES
    }
    gone = _going(worths, len(worths) - most)
    if not gone:
        return span
    counts = [read_varint(span.data, value, stop)[0] for found, _, value, stop in parts if found == _DROPPED]
    kept = [
        span.data[start:stop] for found, start, _, stop in parts if found != _DROPPED and start not in gone
    ]
    total = min(sum(counts[-1:]) + len(gone), 2**32 - 1)
    return replace(span, data=b"".join((*kept, varint(_DROPPED), varint(total))))


def _worth(key: bytes) -> int:
    if key.startswith(_OURS) or key in _TEXTS:
        return 2
    return 0 if _IN_LIST.search(key) else 1


def _going(worths: dict[int, int], excess: int) -> set[int]:
    """Of attributes by where they start: the ``excess`` that are worth least, the last first."""
    if excess <= 0:
        return set()
    going = sorted((start for start, worth in worths.items() if worth < 2), key=lambda at: (worths[at], -at))
    return set(going[:excess])
