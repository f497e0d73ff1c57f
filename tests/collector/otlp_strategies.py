"""Hypothesis strategies: OTLP requests with unknown fields, odd field orders and broken UTF-8."""

from __future__ import annotations

from hypothesis import strategies as st

from ragtrace_collector.otlp_wire import FIXED32, FIXED64, VARINT, delimited, tag, varint

ids = st.binary(min_size=8, max_size=16)
keys = st.sampled_from(["ragtrace.faithfulness", "input.value", "http.route", "k", "ragtrace.faithfulnes"])


def field(number: int, wire_type: int, value: bytes) -> bytes:
    """One encoded field whose value is encoded already."""
    return varint(tag(number, wire_type)) + value


unknown = st.one_of(
    st.binary(max_size=20).map(lambda value: delimited(1700, value)),
    st.integers(0, 2**64 - 1).map(lambda value: field(1701, VARINT, varint(value))),
    st.binary(min_size=8, max_size=8).map(lambda value: field(1702, FIXED64, value)),
    st.binary(min_size=4, max_size=4).map(lambda value: field(1703, FIXED32, value)),
)
any_values = st.one_of(
    st.just(b""),
    st.binary(max_size=30).map(lambda value: delimited(1, value)),
    st.booleans().map(lambda value: field(2, VARINT, varint(value))),
    st.integers(0, 2**63 - 1).map(lambda value: field(3, VARINT, varint(value))),
    st.binary(min_size=8, max_size=8).map(lambda value: field(4, FIXED64, value)),
)
attributes = st.builds(
    lambda key, value, back: delimited(
        9, b"".join([delimited(1, key.encode()), delimited(2, value)][:: -1 if back else 1])
    ),
    keys,
    any_values,
    st.booleans(),
)


@st.composite
def spans(draw: st.DrawFn) -> bytes:
    """An encoded Span, its fields in any order."""
    parts = [
        delimited(1, draw(ids)),
        delimited(2, draw(ids)),
        delimited(5, draw(st.binary(max_size=12))),
        *draw(st.lists(attributes, max_size=4)),
        *draw(st.lists(unknown, max_size=2)),
    ]
    if draw(st.booleans()):
        parts.append(delimited(4, draw(ids)))
    return b"".join(draw(st.permutations(parts)))


def _message(draw: st.DrawFn, head: bytes, children: list[bytes]) -> bytes:
    parts = [head, *(delimited(2, child) for child in children), *draw(st.lists(unknown, max_size=2))]
    return b"".join(draw(st.permutations(parts)))


@st.composite
def requests(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """An encoded ExportTraceServiceRequest, and the encoded spans in it in order of appearance."""
    body, all_spans = b"", []
    for _ in range(draw(st.integers(0, 3))):
        scopes = []
        for _ in range(draw(st.integers(0, 2))):
            children = draw(st.lists(spans(), max_size=3))
            parts = [
                delimited(1, delimited(1, draw(st.binary(max_size=5)))),
                *draw(st.lists(unknown, max_size=1)),
            ]
            cut = draw(st.integers(0, len(parts)))
            encoded = [delimited(2, child) for child in children]
            scopes.append(b"".join([*parts[:cut], *encoded, *parts[cut:]]))
            all_spans += children
        service = delimited(1, b"service.name") + delimited(2, delimited(1, draw(st.binary(max_size=5))))
        resource = delimited(1, delimited(1, service))
        body += delimited(1, b"".join([resource, *(delimited(2, scope) for scope in scopes)]))
    return body, all_spans
