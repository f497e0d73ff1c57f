"""Requests of very many tiny parts, refused before anything is made of them.

Two bytes of a request can cost a hundred in memory, and a microsecond of the loop, for each resource, scope,
span, event or attribute that they encode: 16 MiB of empty resources keep a core busy for 26 seconds. So the
fields of the outer messages are counted first, and those of inner ones where they are large enough to matter.
An ordinary request is passed after a look at its resources and scopes.
"""

from __future__ import annotations

from collections.abc import Mapping

from ragtrace.errors import TooLarge
from ragtrace_collector.otlp_wire import fields, tag

MOST_GROUPS = 32_768
"""Resources and scopes of a request (and unknown fields beside them)."""
MOST_FIELDS = 524_288
"""Fields of all messages that are looked into: 128 bytes each in the largest request."""
_AT_A_GLANCE = 2_048
"""Fields that are looked at in a millisecond or two."""
_LARGE_BODY = 2 * 2**20
"""Bytes. Of a smaller request the spans are not counted here: all of them together do no harm."""
_LARGE_PART = 64 * 2**10
"""Bytes. Smaller spans, events and attributes are not looked into."""

_Grammar = Mapping[str, Mapping[int, str]]

_VALUES: dict[str, Mapping[int, str]] = {
    "resource": {tag(1): "attribute"},
    "instrumentation": {tag(3): "attribute"},
    "attribute": {tag(2): "value"},
    "value": {tag(5): "list", tag(6): "map"},
    "list": {tag(1): "value"},
    "map": {tag(1): "attribute"},
}
_TRACES: _Grammar = {
    "request": {tag(1): "group"},
    "group": {tag(1): "resource", tag(2): "scope"},
    "scope": {tag(1): "instrumentation", tag(2): "record"},
    "record": {tag(9): "attribute", tag(11): "event", tag(13): "link"},
    "event": {tag(3): "attribute"},
    "link": {tag(4): "attribute"},
    **_VALUES,
}
_LOGS: _Grammar = {**_TRACES, "record": {tag(5): "value", tag(6): "attribute"}}
_OUTER = frozenset({"request", "group"})
"""Messages that are always looked into."""


def check_traces(body: bytes, *, glance: bool = False) -> bool:
    """See that an encoded trace request is of ordinary density → whether all of it was seen.

    A ``glance`` ends after a millisecond or two, whatever the request: nearly all need no more.

    Raises:
        TooLarge: it has more parts than any honest request of its size.
        MalformedOtlp: a message that was looked into is none.
    """
    return _check(body, _TRACES, _AT_A_GLANCE if glance else None)


def check_logs(body: bytes, *, glance: bool = False) -> bool:
    """The same for an encoded log request."""
    return _check(body, _LOGS, _AT_A_GLANCE if glance else None)


def _check(body: bytes, grammar: _Grammar, stop_at: int | None) -> bool:
    groups = parts = 0
    is_large = len(body) > _LARGE_BODY
    todo = [("request", 0, len(body))]
    while todo:
        kind, at, end = todo.pop()
        inner, is_outer = grammar[kind], kind in _OUTER
        for key, _, start, stop in fields(body, at, end):
            parts += 1
            groups += is_outer
            if parts == stop_at:
                return False
            if groups > MOST_GROUPS or parts > MOST_FIELDS:
                raise TooLarge("the request has too many parts")
            found = inner.get(key)
            if found and _matters(found, stop - start, is_large):
                todo.append((found, start, stop))
    return True


def _matters(kind: str, size: int, is_large: bool) -> bool:
    if kind == "scope":
        return is_large
    return kind in _OUTER or size > _LARGE_PART
