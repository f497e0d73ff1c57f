"""The exporters' thinking: URLs, waiting, packing, answers; no loop, no network."""

from __future__ import annotations

import gzip
from email.utils import formatdate

import grpc
import pytest
from collector.otlp_peers import encoded_request
from collector.otlp_strategies import requests
from hypothesis import given
from hypothesis import strategies as st

from ragtrace.errors import ConfigError, PermanentExport, RetryableExport
from ragtrace.semconv import TRUNCATION_MARKER
from ragtrace_collector import otlp
from ragtrace_collector.exporters.backoff import backoff
from ragtrace_collector.exporters.grpc import error_of
from ragtrace_collector.exporters.http import gzipped, retry_after
from ragtrace_collector.exporters.packing import groups, pack
from ragtrace_collector.exporters.sender import Misdirected, Oversize, ServerFault
from ragtrace_collector.exporters.target import Destination
from ragtrace_collector.otlp_replies import encode_retry_info
from ragtrace_collector.stages import Signal


@pytest.mark.parametrize(
    ("url", "traces", "logs"),
    [
        ("http://h:4318", "http://h:4318/v1/traces", "http://h:4318/v1/logs"),
        ("http://h:4318/", "http://h:4318/v1/traces", "http://h:4318/v1/logs"),
        ("https://h/v1/traces", "https://h/v1/traces", "https://h/v1/logs"),
        ("https://h/otlp/v1/traces?x=1", "https://h/otlp/v1/traces?x=1", "https://h/otlp/v1/logs?x=1"),
        (
            "https://h/api/public/otel/v1/traces",
            "https://h/api/public/otel/v1/traces",
            "https://h/api/public/otel/v1/logs",
        ),
        ("http://[::1]:4318", "http://[::1]:4318/v1/traces", "http://[::1]:4318/v1/logs"),
        ("grpc://h:4317", "h:4317", "h:4317"),
        ("grpcs://h:443/", "h:443", "h:443"),
    ],
)
def test_a_url_says_where_traces_and_logs_go(url: str, traces: str, logs: str) -> None:
    """The path is added where there is none, and left alone where there is one."""
    assert (Destination(url).address(), Destination(url).logs_address()) == (traces, logs)


@pytest.mark.parametrize(
    "url", ["", "h:4318", "ftp://h", "http://", "grpc://h", "grpc://h:1/x", "http://h:port", "http://[::1"]
)
def test_a_url_of_no_known_form_is_refused(url: str) -> None:
    """At start, not with the first span."""
    with pytest.raises(ConfigError):
        Destination(url)


def test_a_destination_shows_no_secrets() -> None:
    """Neither headers nor credentials in the URL."""
    destination = Destination(
        "https://user:hunter2@h:1/v1/traces", headers={"authorization": "Bearer hunter2"}
    )
    assert destination.name == "https://h:1"
    assert "Bearer" not in repr(destination)


def test_waiting_doubles_up_to_a_bound() -> None:
    """Between half and all of it, by draw."""
    assert [backoff(n, None, 1.0) for n in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert [backoff(n, None, 0.0) for n in range(3)] == [0.25, 0.5, 1.0]
    assert backoff(10_000, None, 1.0) == 30


@given(st.integers(0, 50), st.floats(0, 1e9), st.floats(0, 1))
def test_no_one_comes_back_before_asked_nor_waits_for_ever(attempt: int, asked: float, draw: float) -> None:
    """A backend that asks for a year is asked again after five minutes."""
    assert min(asked, 300.0) <= backoff(attempt, asked, draw) <= 300.0


def test_retry_after_is_seconds_or_a_date() -> None:
    """Anything else says nothing."""
    assert retry_after("7", 0) == 7
    assert retry_after(formatdate(1_000, usegmt=True), 990) == 10
    assert retry_after(formatdate(1_000, usegmt=True), 2_000) == 0
    assert retry_after("soon", 0) is retry_after(None, 0) is None


def test_grpc_codes_say_what_to_do() -> None:
    """RESOURCE_EXHAUSTED means two things, and only its text or a RetryInfo tells which."""
    code = grpc.StatusCode
    size = "grpc: received message larger than max (5000000 vs. 4194304)"
    assert isinstance(error_of(code.RESOURCE_EXHAUSTED, size, ()), Oversize)
    assert type(error_of(code.RESOURCE_EXHAUSTED, "quota", ())) is RetryableExport
    asked = error_of(code.RESOURCE_EXHAUSTED, size, [("google.rpc.retryinfo-bin", encode_retry_info(1.5))])
    assert isinstance(asked, RetryableExport)
    assert asked.retry_after == 1.5
    assert type(error_of(code.UNAVAILABLE, "", None)) is RetryableExport
    assert type(error_of(code.INTERNAL, "", None)) is ServerFault
    for permanent, splittable in (
        (code.INVALID_ARGUMENT, True),
        (code.FAILED_PRECONDITION, False),
        (code.ALREADY_EXISTS, False),
    ):
        error = error_of(permanent, "", None)
        assert isinstance(error, PermanentExport)
        assert error.splittable is splittable


def test_grpc_refusals_of_who_asks_or_where_lose_nothing() -> None:
    """They are to be tried again; but a backend that has no logs service never will have one."""
    code = grpc.StatusCode
    for refusal in (code.UNAUTHENTICATED, code.PERMISSION_DENIED, code.UNIMPLEMENTED, code.NOT_FOUND):
        assert isinstance(error_of(refusal, "", None), Misdirected)
    assert isinstance(error_of(code.UNIMPLEMENTED, "", None, Signal.LOGS), PermanentExport)


@given(requests(), st.integers(1, 400))
def test_packing_keeps_every_span_in_order_and_within_the_limit(
    request_and_spans: tuple[bytes, list[bytes]], limit: int
) -> None:
    """Only a span that is too large by itself makes a larger request."""
    body, encoded = request_and_spans
    pieces = pack(body, limit)
    assert [span.data for piece in pieces for span in otlp.split(piece)] == encoded or len(body) <= limit
    assert all(len(piece) <= limit or len(otlp.split(piece)) == 1 for piece in pieces)


def test_a_request_that_fits_stays_the_same_bytes() -> None:
    """Nothing is taken apart without need."""
    body = encoded_request(3)
    assert pack(body, len(body)) == [body]
    assert pack(body, len(body))[0] is body


def test_groups_are_as_large_as_they_may_be() -> None:
    """159 spans of 100 KB for a backend that takes 4 MiB: four requests, not 159."""
    spans = otlp.split(encoded_request(159, "x" * 100_000))
    assert [len(group) for group in groups(spans, 4 * 2**20)] == [41, 41, 41, 36]


@given(st.text(alphabet="a退é😀", min_size=1, max_size=400), st.integers(64, 500))
def test_a_text_is_cut_between_characters(text: str, longest: int) -> None:
    """What is left is a beginning of the text and says that it was cut."""
    (span,) = otlp.split(encoded_request(1, text))
    after = otlp.read_span(otlp.cut_texts(span, longest)).attributes["text"]
    if len(text.encode()) <= longest:
        assert after == text
    else:
        assert after.endswith(TRUNCATION_MARKER)
        assert len(after.encode()) <= longest
        kept = after.removesuffix(TRUNCATION_MARKER)
        assert text.startswith(kept)
        # Not one character more would have fitted.
        assert len((kept + text[len(kept)] + TRUNCATION_MARKER).encode()) > longest


def test_a_span_is_cut_to_size_and_keeps_its_short_texts_and_its_outcomes() -> None:
    """11 MB in one attribute, for a backend that takes 4 MiB."""
    (span,) = otlp.split(encoded_request(1, "款" * 3_700_000))
    outcomes = '{"claims": []}' + " " * 100_000
    span = otlp.append_attributes(
        span, {"short": "kept", "ragtrace.outcomes": outcomes, "deep": {"list": ["y" * 5_000_000]}}
    )
    after = otlp.cut_span(span, 4 * 2**20)
    record = otlp.read_span(after)
    assert after.size <= 4 * 2**20
    assert (record.attributes["short"], record.attributes["ragtrace.outcomes"]) == ("kept", outcomes)
    assert len(record.attributes["text"].encode()) > 2**19
    assert record.attributes["deep"]["list"][0].endswith(TRUNCATION_MARKER)
    assert (record.trace_id, record.span_id) == (span.trace_id.hex(), span.span_id.hex())


def test_a_span_that_is_large_by_number_of_attributes_is_left_alone() -> None:
    """Cutting would take content without making it fit."""
    (span,) = otlp.split(encoded_request(1, "x"))
    span = otlp.append_attributes(span, {f"key {number}": "short" for number in range(1_000)})
    assert otlp.cut_span(span, 1_000) == span


def test_gzip_members_of_a_request_are_one() -> None:
    """What the sender packs, any gzip reader unpacks."""
    assert gzip.decompress(gzipped(b"abc" * 1_000)) == b"abc" * 1_000
