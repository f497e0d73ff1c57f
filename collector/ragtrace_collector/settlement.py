"""Which spans of a request on disk are settled while others of it are still held: pure functions.

A request stays in the spool until the last of its spans is settled, but an interaction is held for seconds
while the spans beside it leave at once. Notes on the settled ones keep a restart from sending them again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragtrace_collector import otlp

if TYPE_CHECKING:
    from ragtrace_collector.otlp import RawSpan

Key = tuple[bytes, bytes]
"""Trace id and span id."""


@dataclass(frozen=True, slots=True)
class Note:
    """``keys`` of one request are settled; or, where ``is_rest``, everything but ``keys`` is.

    A key stands there as often as the request holds the span.
    """

    is_rest: bool
    keys: tuple[Key, ...]


def key_of(span: RawSpan) -> Key:
    """The key of a span."""
    return span.trace_id, span.span_id


def to_bytes(keys: Iterable[Key]) -> bytes:
    """Keys → one blob."""
    return b" ".join(trace.hex().encode() + b"/" + span.hex().encode() for trace, span in keys)


def from_bytes(blob: bytes) -> tuple[Key, ...]:
    """The keys that :func:`to_bytes` wrote."""
    pairs = (part.split("/") for part in blob.decode().split())
    return tuple((bytes.fromhex(trace), bytes.fromhex(span)) for trace, span in pairs)


def left_of(spans: Iterable[RawSpan], notes: Sequence[Note]) -> list[RawSpan]:
    """The spans of a request that are not settled by its notes, in order."""
    settled = Counter(key for note in notes if not note.is_rest for key in note.keys)
    held = next((Counter(note.keys) for note in notes if note.is_rest), None)
    left: list[RawSpan] = []
    for span in spans:
        key = key_of(span)
        if held is not None:
            if not held[key]:
                continue
            held[key] -= 1
        if settled[key]:
            settled[key] -= 1
        else:
            left.append(span)
    return left


def body_left(body: bytes, notes: Sequence[Note]) -> tuple[bytes, int]:
    """An encoded request → the request of what is not settled of it, and how many spans that is.

    Raises:
        MalformedOtlp: it is none.
    """
    left = left_of(otlp.split(body), notes)
    return otlp.join(left), len(left)
