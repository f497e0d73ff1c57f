"""A request of mostly plain spans taken apart: the few that are wanted one by one, the rest as one request.

Where few traces are asked for, the spans of all others cost a look at their trace id and nothing more: no
object is made for them, and runs of such spans are copied together, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from ragtrace.errors import MalformedOtlp
from ragtrace_collector import otlp_schema as schema
from ragtrace_collector.otlp_frames import Glance, Place, RawSpan, glanced, keyed, parts
from ragtrace_collector.otlp_read import scope_name
from ragtrace_collector.otlp_schema import parse
from ragtrace_collector.otlp_wire import head

_ID_FIRST = b"\x0a\x10"
"""How nearly every span begins: its trace id, of sixteen bytes, follows."""
_Group = tuple[bytes, list[tuple[bytes, list[Place]]]]
"""A resource with its scopes, and where the spans of each are."""
_Look = tuple[bytes, bytes, Place, str, Any]
"""A span: its resource and scope, where it is, the scope's name, its message of attribute keys."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which spans of a request to pick: all of ``traces``, and all of those ``if_marked`` of which some span
    carries one of ``keys`` or lies in a scope that ``is_scope`` says yes to.

    ``few`` says that all of these are a small part of its traces. Of a span that names its trace twice the
    last name counts, and may be overlooked.
    """

    traces: Set[bytes]
    if_marked: Set[bytes]
    keys: Set[bytes]
    is_scope: Callable[[str], bool]
    few: bool = False


@dataclass(frozen=True, slots=True)
class Sifted:
    """``picked`` are the spans of the wanted traces, in order; ``rest`` is a request with the ``rest_spans``
    others, ``b""`` where there are none."""

    picked: tuple[Glance, ...]
    rest: bytes
    rest_spans: int


def sift(body: bytes, wanted: Wanted) -> Sifted:
    """Take an encoded trace request apart. One of which nothing is picked stays the very same bytes.

    Raises:
        MalformedOtlp: the bytes are no such request.
    """
    groups = [(resource, list(scopes)) for resource, scopes in parts(body)]
    asked = wanted.traces | wanted.if_marked
    looks = list(_looks_at_few(body, groups, asked) if wanted.few else _looks_at_all(body, groups, asked))
    scopes = {name for name in {name for *_, name, _ in looks} if wanted.is_scope(name)}
    picks = wanted.traces | {
        message.trace_id
        for *_, name, message in looks
        if name in scopes or not wanted.keys.isdisjoint(message.attributes.key)
    }
    picked = {look[2]: _glanced(body, look) for look in looks if look[-1].trace_id in picks}
    spans = sum(len(places) for _, scopes in groups for _, places in scopes)
    rest = b"".join(_rest(body, groups, picked.keys())) if picked else body
    return Sifted(tuple(picked.values()), rest, spans - len(picked))


def _looks_at_few(body: bytes, groups: Iterable[_Group], traces: Set[bytes]) -> Iterator[_Look]:
    for resource, scopes in groups:
        for scope, places in scopes:
            for place in places:
                _, at, end = place
                if body.startswith(_ID_FIRST, at, end) and body[at + 2 : at + 18] not in traces:
                    continue
                message = parse(schema.KeyedSpan, body[at:end])
                if message.trace_id in traces:
                    yield resource, scope, place, scope_name(scope), message


def _looks_at_all(body: bytes, groups: Iterable[_Group], traces: Set[bytes]) -> Iterator[_Look]:
    walk = (
        (resource, scope, place)
        for resource, scopes in groups
        for scope, places in scopes
        for place in places
    )
    try:
        for (resource, scope, place), (name, message) in zip(walk, keyed(body), strict=True):
            if message.trace_id in traces:
                yield resource, scope, place, name, message
    except ValueError:
        raise MalformedOtlp("the request is framed in two ways") from None


def _glanced(body: bytes, look: _Look) -> Glance:
    resource, scope, (_, at, end), name, message = look
    ids = message.trace_id, message.span_id, message.parent_span_id
    return glanced(RawSpan(*ids, resource, scope, body[at:end]), name, message)


def _rest(body: bytes, groups: Iterable[_Group], picks: Set[Place]) -> Iterator[bytes | memoryview]:
    """The pieces of a request without ``picks``: what is left of the body is copied when they are joined."""
    view = memoryview(body)
    for resource, scopes in groups:
        pieces: list[bytes | memoryview] = []
        for scope, places in scopes:
            plain = [place for place in places if place not in picks]
            if plain:
                pieces += _message(2, [scope, *_runs(view, plain)])
        if pieces:
            yield from _message(1, [resource, *pieces])


def _message(number: int, pieces: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
    return [head(number, sum(map(len, pieces))), *pieces]


def _runs(view: memoryview, places: Sequence[Place]) -> Iterator[memoryview]:
    """The fields at ``places``, those that lie side by side as one piece."""
    start, _, end = places[0]
    for next_start, _, next_end in places[1:]:
        if next_start != end:
            yield view[start:end]
            start = next_start
        end = next_end
    yield view[start:end]
