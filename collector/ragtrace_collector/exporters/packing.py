"""Requests of a size that a backend takes: pure functions over encoded bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ragtrace_collector.otlp import RawSpan, join, split

_FRAME = 16
"""Bytes that tags and lengths around one span, scope or resource take at most."""


def pack(body: bytes, max_bytes: int) -> list[bytes]:
    """An encoded trace request → requests of at most ``max_bytes`` with the same spans in the same order.

    A request that fits stays the very same bytes. A span that does not fit alone is a request of its own.

    Raises:
        MalformedOtlp: the request has to be split and cannot.
    """
    if len(body) <= max_bytes:
        return [body]
    return [join(group) for group in groups(split(body), max_bytes)]


def groups(spans: Iterable[RawSpan], max_bytes: int) -> Iterator[list[RawSpan]]:
    """Spans → runs of them that take at most ``max_bytes`` when joined (a longer span alone)."""
    group: list[RawSpan] = []
    around: set[bytes | tuple[bytes, bytes]] = set()
    size = 0
    for span in spans:
        weight = _weight(span, around)
        if group and size + weight > max_bytes:
            yield group
            group, around, size = [], set(), 0
            weight = _weight(span, around)
        group.append(span)
        around |= {span.resource, (span.resource, span.scope)}
        size += weight
    if group:
        yield group


def _weight(span: RawSpan, around: set[bytes | tuple[bytes, bytes]]) -> int:
    """What the span adds to a request that holds the resources and scopes ``around`` already."""
    weight = span.size + _FRAME
    if span.resource not in around:
        weight += len(span.resource) + _FRAME
    if (span.resource, span.scope) not in around:
        weight += len(span.scope) + _FRAME
    return weight


def halves(spans: Sequence[RawSpan]) -> tuple[bytes, bytes]:
    """Two or more spans → two requests."""
    middle = len(spans) // 2
    return join(spans[:middle]), join(spans[middle:])
