"""Spans as bytes: cut, joined, looked at, read, appended to."""

from __future__ import annotations

import contextlib

import pytest
from collector.otlp_strategies import requests, spans
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ragtrace.errors import MalformedOtlp
from ragtrace.model import LogRecord, SpanLink, SpanRecord
from ragtrace_collector import otlp
from ragtrace_collector.otlp_wire import delimited, fields

TRACE, SPAN, PARENT = bytes(range(16)), b"\x01" * 8, b"\x02" * 8


def request_of(*spans: Span, scope: str = "app", service: str = "shop") -> bytes:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name", value=AnyValue(string_value=service))
    block = resource.scope_spans.add()
    block.scope.name, block.scope.version = scope, "1.2"
    block.spans.extend(spans)
    return request.SerializeToString()


def one_span(**attributes: AnyValue) -> Span:
    span = Span(trace_id=TRACE, span_id=SPAN, name="n", kind=Span.SPAN_KIND_CLIENT)
    for key, value in attributes.items():
        span.attributes.add(key=key, value=value)
    return span


def raw(span: Span) -> otlp.RawSpan:
    return otlp.split(request_of(span))[0]


@given(requests())
def test_every_span_survives_split_and_join_bit_for_bit(request_and_spans: tuple[bytes, list[bytes]]) -> None:
    """Unknown fields, broken UTF-8 and odd field orders included."""
    body, encoded = request_and_spans
    first = otlp.split(body)
    assert [span.data for span in first] == encoded
    again = otlp.split(otlp.join(first))
    assert sorted(again, key=repr) == sorted(first, key=repr)


@given(requests())
def test_resources_and_scopes_keep_every_field(request_and_spans: tuple[bytes, list[bytes]]) -> None:
    """What lies around the spans is the same set of encoded fields after a join."""
    body, _ = request_and_spans
    for span in otlp.split(otlp.join(otlp.split(body))):
        assert span.resource in body
        parts = [span.scope[start:stop] for _, start, _, stop in fields(span.scope, 0, len(span.scope))]
        assert all(part in body for part in parts)


def test_a_request_of_one_group_is_joined_to_the_same_bytes() -> None:
    """Nothing is added and nothing reordered where the SDK's own order came in."""
    body = request_of(one_span(a=AnyValue(int_value=1)), one_span(b=AnyValue(int_value=2)))
    assert otlp.join(otlp.split(body)) == body


def test_join_groups_spans_of_one_resource_and_scope() -> None:
    """Two requests of one service become one ResourceSpans; another service's stands after it."""
    mine, other = request_of(one_span()), request_of(one_span(), service="other")
    joined = otlp.join([*otlp.split(mine), *otlp.split(other), *otlp.split(mine)])
    request = ExportTraceServiceRequest.FromString(joined)
    assert [len(block.scope_spans[0].spans) for block in request.resource_spans] == [2, 1]


@given(spans(), st.sampled_from(["ragtrace.faithfulness", "new", "k"]))
def test_appending_keeps_all_other_fields_bit_for_bit(data: bytes, key: str) -> None:
    """Only an attribute of the very same key is taken out, and the new one stands at the end."""
    before = otlp.RawSpan(b"", b"", b"", b"", b"", data)
    after = otlp.append_attributes(before, {key: 0.5})

    def kept(encoded: bytes) -> list[bytes]:
        parts = [
            (tag, encoded[start:stop], encoded[at:stop])
            for tag, start, at, stop in fields(encoded, 0, len(encoded))
        ]
        return [
            part
            for tag, part, value in parts
            if not (tag == 74 and KeyValue.FromString(clean(value)).key == key)
        ]

    def clean(value: bytes) -> bytes:
        return b"".join(
            value[start:stop] for tag, start, _, stop in fields(value, 0, len(value)) if tag == 10
        )

    added = KeyValue(key=key, value=AnyValue(double_value=0.5)).SerializeToString()
    assert [*kept(data), delimited(9, added)] == [
        after.data[start:stop] for _, start, _, stop in fields(after.data, 0, len(after.data))
    ]


def test_appending_replaces_what_carries_the_same_key() -> None:
    """A span that passes a second collector shows one score, the new one, and loses what is to be dropped."""
    span = raw(one_span(**{"ragtrace.x": AnyValue(int_value=1), "ragtrace.old": AnyValue(int_value=2)}))
    after = otlp.append_attributes(span, {"ragtrace.x": 3}, drop=["ragtrace.old"])
    assert Span.FromString(after.data).attributes == [KeyValue(key="ragtrace.x", value=AnyValue(int_value=3))]


def test_every_kind_of_value_comes_back_as_it_was_put_in() -> None:
    """Text, numbers, bytes, nothing, lists and maps, nested."""
    values = {
        "s": "退款 3–5 天",
        "b": True,
        "i": -(2**63),
        "f": 0.1,
        "y": b"\xff\x00",
        "n": None,
        "l": [1, "a", None, [True]],
        "m": {"k": {"deep": [1.5]}},
        "e": [],
        "o": {},
    }
    assert otlp.read_span(otlp.append_attributes(raw(one_span()), values)).attributes == values


def test_a_number_beyond_64_bits_and_a_lone_surrogate_cost_only_themselves() -> None:
    """They are written as text, the rest of the span is as it was."""
    span = otlp.append_attributes(raw(one_span()), {"big": 2**70, "broken": "a\ud800b", "fine": 1})
    assert otlp.read_span(span).attributes == {"big": str(2**70), "broken": "a?b", "fine": 1}


def test_a_text_cut_inside_a_character_does_not_cost_the_request() -> None:
    """proto3 runtimes refuse such a request; here the broken character alone is replaced."""
    body = request_of(one_span(a=AnyValue(string_value="WXYZ")))
    body = body.replace(b"WXYZ", "款".encode() + b"\xe6")
    with pytest.raises(DecodeError):
        ExportTraceServiceRequest.FromString(body)
    assert otlp.read_spans(body)[0].attributes == {"a": "款\ufffd"}
    assert otlp.join(otlp.split(body)) == body


def test_a_span_is_read_whole() -> None:
    """Every field of the record comes from the field of the same meaning."""
    span = one_span(list=AnyValue(array_value=ArrayValue(values=[AnyValue(int_value=1)])))
    span.attributes.add(key="map").value.kvlist_value.CopyFrom(
        KeyValueList(values=[KeyValue(key="k", value=AnyValue(string_value="v"))])
    )
    span.parent_span_id = PARENT
    span.start_time_unix_nano, span.end_time_unix_nano, span.dropped_attributes_count = 5, 9, 3
    span.status.code, span.status.message = 2, "bad"
    span.events.add(name="e", time_unix_nano=7).attributes.add(key="x", value=AnyValue(bool_value=True))
    span.links.add(trace_id=TRACE, span_id=PARENT)
    (record,) = otlp.read_spans(request_of(span))
    assert record == SpanRecord(
        trace_id=TRACE.hex(),
        span_id=SPAN.hex(),
        parent_id=PARENT.hex(),
        name="n",
        kind=3,
        scope="app",
        scope_version="1.2",
        resource={"service.name": "shop"},
        attributes={"list": [1], "map": {"k": "v"}},
        events=(record.events[0],),
        links=(SpanLink(TRACE.hex(), PARENT.hex()),),
        status=2,
        status_message="bad",
        start_ns=5,
        end_ns=9,
        dropped_attributes=3,
    )
    assert (record.events[0].name, record.events[0].time_ns, record.events[0].attributes) == (
        "e",
        7,
        {"x": True},
    )


def test_only_the_wanted_attributes_are_read() -> None:
    """The rest of the span may be large."""
    span = raw(one_span(a=AnyValue(string_value="x"), b=AnyValue(int_value=2)))
    assert otlp.read_attributes(span, {"b", "absent"}) == {"b": 2}


def test_a_glance_tells_scope_keys_and_a_parent_in_another_process() -> None:
    """Bits 8 and 9 of the flags: it is known, and it is so."""
    here, there = one_span(a=AnyValue()), one_span()
    here.flags, there.flags = 0x101, 0x301
    first, second = otlp.glance(request_of(here, there, scope="openinference.x"))
    assert (first.scope, first.keys, first.remote_parent, second.remote_parent) == (
        "openinference.x",
        (b"a",),
        False,
        True,
    )


def test_a_survey_counts_spans_and_sees_rag_keys() -> None:
    """One look decides whether a request may be forwarded whole."""
    body = request_of(one_span(k=AnyValue()), one_span(**{"llm.model": AnyValue()}), scope="s")
    assert otlp.survey(body, lambda key: key.startswith(b"llm.")) == otlp.Survey(
        2, frozenset({b"llm.model"}), frozenset({"s"}), frozenset({TRACE})
    )
    assert not otlp.survey(body, lambda key: key == b"llm").rag


def test_an_evaluation_span_stands_under_the_resource_of_the_span_it_speaks_of() -> None:
    """Late scores are a span of the same service with a link to the judged span."""
    judged = raw(one_span())
    record = SpanRecord(
        trace_id=TRACE.hex(),
        span_id="03" * 8,
        parent_id=SPAN.hex(),
        name="ragtrace.evaluation",
        scope="ragtrace.evaluation",
        attributes={"ragtrace.faithfulness": 1.0},
        links=(SpanLink(TRACE.hex(), SPAN.hex()),),
        start_ns=1,
        end_ns=2,
        status=2,
        status_message="late",
    )
    read = otlp.read_spans(otlp.join([otlp.encode_span(record, judged.resource)]))[0]
    assert read == SpanRecord(**{**fields_of(record), "resource": {"service.name": "shop"}})


def fields_of(record: SpanRecord) -> dict[str, object]:
    return {name: getattr(record, name) for name in SpanRecord.__dataclass_fields__}


def test_a_log_record_comes_back_as_it_was_encoded() -> None:
    """With its own resource, or with that of the span that it speaks of."""
    record = LogRecord(
        trace_id=TRACE.hex(),
        span_id=SPAN.hex(),
        event_name="gen_ai.evaluation.result",
        body={"a": [1]},
        attributes={"gen_ai.evaluation.name": "faithfulness"},
        scope="ragtrace.evaluation",
        resource={"service.name": "mine"},
        time_ns=11,
    )
    assert otlp.read_logs(otlp.encode_log(record)) == [record]
    assert otlp.read_logs(otlp.encode_log(record, raw(one_span()).resource))[0].resource == {
        "service.name": "shop"
    }
    assert (
        ExportLogsServiceRequest.FromString(otlp.encode_log(record))
        .resource_logs[0]
        .scope_logs[0]
        .log_records[0]
        .flags
        == 1
    )


def test_logs_and_spans_are_told_apart_by_content() -> None:
    """Files do not say which they hold."""
    log = LogRecord(TRACE.hex(), SPAN.hex(), "e", time_ns=3, attributes={"a": 1})
    assert otlp.kind_of_protobuf(otlp.encode_log(log)) == "logs"
    assert otlp.kind_of_protobuf(request_of(one_span(a=AnyValue()))) == "spans"


@pytest.mark.parametrize(
    "body",
    [
        b"\x0a",
        b"\x0a\x05abc",
        b"\x0a\x80",
        b"\x0b\x0c",
        b"\xff" * 40,
        b"not otlp at all",
        b"\x0a\x02\x12\x05",
        b"\x0a\x04\x12\x02\x12\x09",
    ],
)
def test_bytes_that_are_no_request_are_refused(body: bytes) -> None:
    """Cut short, a length beyond the end, groups, endless varints, text."""
    with pytest.raises(MalformedOtlp):
        otlp.split(body)


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_no_bytes_make_a_reader_fail_otherwise(body: bytes) -> None:
    """Any input is either read or refused as malformed."""
    for read in (otlp.read_spans, otlp.read_logs, otlp.glance, otlp.kind_of_protobuf):
        with contextlib.suppress(MalformedOtlp):
            read(body)


@settings(max_examples=200)
@given(requests(), st.data())
def test_a_damaged_request_is_read_or_refused(
    request_and_spans: tuple[bytes, list[bytes]], data: st.DataObject
) -> None:
    """One byte changed or the tail cut off: never another error, and what is accepted can be joined and split."""
    body = bytearray(request_and_spans[0])
    if body:
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(body[: data.draw(st.integers(0, len(body)))])
    try:
        found = otlp.split(damaged)
    except MalformedOtlp:
        return
    assert len(otlp.split(otlp.join(found))) == len(found)


def test_values_nested_beyond_reason_are_refused_not_crashed_on() -> None:
    """A stack of lists 200,000 deep reaches no recursion of ours."""
    value = b""
    for _ in range(2_000):
        value = delimited(5, delimited(1, value))
    span = delimited(1, TRACE) + delimited(9, delimited(1, b"k") + delimited(2, value))
    body = delimited(1, delimited(2, delimited(2, span)))
    with pytest.raises(MalformedOtlp):
        otlp.read_spans(body)


@given(
    requests(), st.sets(st.sampled_from([b"k", b"input.value"])), st.booleans(), st.booleans(), st.booleans()
)
def test_sifting_parts_a_request_without_loss(
    request_and_spans: tuple[bytes, list[bytes]], keys: set[bytes], known: bool, drawn: bool, few: bool
) -> None:
    """Each span is either picked or in the rest, bit for bit, under its own resource and scope."""
    body, _ = request_and_spans
    every = otlp.glance(body)
    traces = {one.raw.trace_id for one in every if known and one.raw.trace_id[:1] < b"\x80"}
    if_marked = {one.raw.trace_id for one in every if drawn or one.raw.trace_id[-1:] < b"\x80"}
    sifted = otlp.sift(body, otlp.Wanted(traces, if_marked, keys, lambda scope: False, few))
    rest = otlp.split(sifted.rest)
    wanted = traces | {one.raw.trace_id for one in every if keys & set(one.keys)} & if_marked
    assert list(sifted.picked) == [one for one in every if one.raw.trace_id in wanted]
    assert rest == [one.raw for one in every if one.raw.trace_id not in wanted]
    assert sifted.rest_spans == len(rest)


def test_sifting_looks_at_scopes_and_keeps_an_untouched_request_as_it_is() -> None:
    """Some instrumentations write no attributes at all."""
    body = request_of(one_span(), scope="llamaindex") + request_of(one_span(a=AnyValue()), scope="shop")
    untouched = otlp.sift(body, otlp.Wanted(set(), {TRACE}, set(), lambda scope: False))
    assert untouched == otlp.Sifted((), body, 2)
    assert untouched.rest is body
    by_scope = otlp.sift(body, otlp.Wanted(set(), {TRACE}, set(), lambda scope: scope == "llamaindex"))
    assert [one.scope for one in by_scope.picked] == ["llamaindex", "shop"]
    assert by_scope.rest == b""
