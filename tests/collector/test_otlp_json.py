"""OTLP/JSON: read leniently, written by the book."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtrace.errors import MalformedOtlp
from ragtrace_collector import otlp

SHARED = Path(os.environ.get("RAGTRACE_SHARED", Path(__file__).parents[2] / ".." / "shared"))
TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"


def trace_document(**span: Any) -> dict[str, Any]:
    return {
        "resourceSpans": [
            {"scopeSpans": [{"scope": {"name": "s"}, "spans": [{"traceId": TRACE, "spanId": SPAN, **span}]}]}
        ]
    }


def read(document: dict[str, Any]) -> Any:
    return otlp.read_spans(otlp.trace_request_from_json(json.dumps(document).encode()))[0]


def test_ids_are_hex() -> None:
    """In either case of letters."""
    record = read(trace_document(parentSpanId=SPAN.upper()))
    assert (record.trace_id, record.span_id, record.parent_id) == (TRACE, SPAN, SPAN)


@pytest.mark.parametrize("number", [1700000000000000001, "1700000000000000001"])
def test_64_bit_numbers_come_as_strings_or_numbers(number: int | str) -> None:
    """Without loss of the last digits."""
    document = trace_document(
        startTimeUnixNano=number, attributes=[{"key": "i", "value": {"intValue": number}}]
    )
    record = read(document)
    assert record.start_ns == record.attributes["i"] == 1700000000000000001


def test_snake_case_unknown_fields_and_named_enums_are_read() -> None:
    """Some exporters write protobuf's own names; future fields must not hurt."""
    document = {
        "resource_spans": [
            {
                "scope_spans": [
                    {
                        "spans": [
                            {
                                "trace_id": TRACE,
                                "span_id": SPAN,
                                "kind": "SPAN_KIND_CLIENT",
                                "future": {"x": [1]},
                            }
                        ]
                    }
                ]
            }
        ]
    }
    assert (read(document).kind, otlp.kind_of_json(document)) == (3, "spans")


def test_a_number_that_was_scrubbed_into_a_word_costs_only_itself() -> None:
    """It is kept as text."""
    document = trace_document(
        attributes=[{"key": "n", "value": {"intValue": "scrubbed"}}, {"key": "m", "value": {"intValue": "4"}}]
    )
    assert read(document).attributes == {"n": "scrubbed", "m": 4}


def test_a_lone_surrogate_is_replaced() -> None:
    """JSON can carry half a character, UTF-8 cannot."""
    body = json.dumps(
        trace_document(name="a\ud83dz", attributes=[{"key": "k", "value": {"stringValue": "退款\ude00"}}])
    )
    record = otlp.read_spans(otlp.trace_request_from_json(body.encode()))[0]
    assert (record.name, record.attributes) == ("a?z", {"k": "退款?"})


def test_logs_are_read() -> None:
    """The body may be any value, and the name of an older event is an attribute."""
    document = {
        "resourceLogs": [
            {
                "scopeLogs": [
                    {
                        "logRecords": [
                            {
                                "traceId": TRACE,
                                "spanId": SPAN,
                                "body": {
                                    "kvlistValue": {"values": [{"key": "a", "value": {"boolValue": True}}]}
                                },
                                "attributes": [{"key": "event.name", "value": {"stringValue": "e"}}],
                            },
                            {"body": {"stringValue": "names no trace"}},
                        ]
                    }
                ]
            }
        ]
    }
    (record,) = otlp.read_logs(otlp.logs_request_from_json(document))
    assert (record.event_name, record.body, otlp.kind_of_json(document)) == ("e", {"a": True}, "logs")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b'{"resourceSpans": 3}',
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"zz"}]}]}]}',
        b"[" * 100_000,
    ],
)
def test_text_that_is_no_request_is_refused(body: bytes) -> None:
    """With one error of ours, whatever the parser below it raises."""
    with pytest.raises(MalformedOtlp):
        otlp.trace_request_from_json(body)


def test_a_refusal_does_not_quote_the_request() -> None:
    """Its text goes to logs, and content must not."""
    with pytest.raises(MalformedOtlp) as caught:
        otlp.trace_request_from_json(b'{"resourceSpans": "the patient said"}')
    assert "patient" not in str(caught.value)


def test_json_that_is_no_otlp_is_of_no_kind() -> None:
    """An interaction of JSONL, for one."""
    with pytest.raises(MalformedOtlp):
        otlp.kind_of_json({"question": "?"})


json_values = st.recursive(
    st.one_of(
        st.text(max_size=8).map(lambda text: {"stringValue": text}),
        st.integers(-(2**63), 2**63 - 1).map(lambda number: {"intValue": str(number)}),
        st.floats(allow_nan=False).map(
            lambda number: {"doubleValue": number if abs(number) < 1e308 else "Infinity"}
        ),
        st.booleans().map(lambda truth: {"boolValue": truth}),
        st.just({}),
        st.just({"bytesValue": "AP8="}),
    ),
    lambda inner: st.lists(inner, max_size=3).map(lambda items: {"arrayValue": {"values": items}}),
    max_leaves=6,
)


@given(json_values, st.text(max_size=8))
def test_what_is_written_reads_the_same(value: dict[str, Any], name: str) -> None:
    """Spans that go through OTLP/JSON on one line and back are equal."""
    document = trace_document(name=name, endTimeUnixNano="7", attributes=[{"key": "k", "value": value}])
    body = otlp.trace_request_from_json(json.dumps(document).encode())
    text = otlp.to_json(otlp.split(body))
    assert "\n" not in text
    assert otlp.trace_request_from_json(text.encode()) == body


def test_ids_and_64_bit_numbers_are_written_by_the_book() -> None:
    """Hex ids, numbers of 64 bits as strings, enums as numbers."""
    body = otlp.trace_request_from_json(trace_document(kind=2, startTimeUnixNano="5"))
    span = json.loads(otlp.to_json(otlp.split(body)))["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert span == {"traceId": TRACE, "spanId": SPAN, "kind": 2, "startTimeUnixNano": "5"}


@pytest.mark.skipif(not (SHARED / "traces").is_dir(), reason="the shared traces are not here")
def test_recorded_traces_survive_the_way_through_protobuf_and_back() -> None:
    """Every recorded request of 25 instrumentations reads the same before and after."""
    lines = [
        json.loads(line)
        for path in sorted((SHARED / "traces").glob("*.json"))
        if not path.name.endswith(".expected.json")
        for line in path.read_text().splitlines()
    ]
    requests = [line for line in lines if otlp.kind_of_json(line) == "spans"]
    assert len(requests) > 100
    for document in requests:
        body = otlp.trace_request_from_json(document)
        spans = otlp.split(body)
        assert otlp.read_spans(otlp.trace_request_from_json(otlp.to_json(spans).encode())) == otlp.read_spans(
            body
        )
