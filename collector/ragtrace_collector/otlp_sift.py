"""A request of mostly plain spans taken apart: the few that are wanted one by one, the rest as one request.

What is not wanted costs a look at its keys and nothing more: no object is made for it, and runs of such spans
are copied together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from ragtrace.errors import MalformedOtlp
from ragtrace_collector.otlp_frames import Glance, Place, RawSpan, glanced, keyed, parts
from ragtrace_collector.otlp_wire import delimited


@dataclass(frozen=True, slots=True)
class Sifted:
    """``picked`` are the spans of the wanted traces, in order; ``rest`` is a request with the ``rest_spans``
    others, ``b""`` where there are none."""

    picked: tuple[Glance, ...]
    rest: bytes
    rest_spans: int


def sift(
    body: bytes, keys: Set[bytes], is_scope: Callable[[str], bool], is_wanted: Callable[[bytes, int], bool]
) -> Sifted:
    """Pick from an encoded trace request all spans of the traces that are wanted.

    ``is_wanted`` is asked once for each trace of the request: with its id, and how many of its spans here
    carry one of ``keys`` or lie in a scope that ``is_scope`` says yes to.

    Raises:
        MalformedOtlp: the bytes are no such request.
    """
    spans = list(keyed(body))
    scopes = {name for name in {name for name, _ in spans} if is_scope(name)}
    ids = [span.trace_id for _, span in spans]
    marked = Counter(
        trace_id
        for trace_id, (name, span) in zip(ids, spans, strict=True)
        if name in scopes or not keys.isdisjoint(span.attributes.key)
    )
    wanted = {trace_id for trace_id in set(ids) if is_wanted(trace_id, marked[trace_id])}
    if not wanted:
        return Sifted((), body, len(spans))
    try:
        return _taken_apart(body, spans, [trace_id in wanted for trace_id in ids])
    except StopIteration:
        raise MalformedOtlp("the request is framed in two ways") from None


def _taken_apart(body: bytes, spans: Sequence[tuple[str, Any]], picks: Sequence[bool]) -> Sifted:
    picked: list[Glance] = []
    rest: list[bytes] = []
    following = iter(zip(spans, picks, strict=True))
    for resource, scopes in parts(body):
        kept = []
        for scope, places in scopes:
            plain = []
            for place in places:
                (name, span), is_picked = next(following)
                if is_picked:
                    ids = span.trace_id, span.span_id, span.parent_span_id
                    picked.append(
                        glanced(RawSpan(*ids, resource, scope, body[place[1] : place[2]]), name, span)
                    )
                else:
                    plain.append(place)
            if plain:
                kept.append(delimited(2, scope + b"".join(_runs(body, plain))))
        if kept:
            rest.append(delimited(1, resource + b"".join(kept)))
    return Sifted(tuple(picked), b"".join(rest), len(spans) - len(picked))


def _runs(body: bytes, places: Sequence[Place]) -> Iterator[bytes]:
    """The fields at ``places``, those that lie side by side as one piece."""
    start, _, end = places[0]
    for next_start, _, next_end in places[1:]:
        if next_start != end:
            yield body[start:end]
            start = next_start
        end = next_end
    yield body[start:end]
