"""Traces that are steps of one interaction, put together: the state machine, with the time given."""

from __future__ import annotations

import pytest

from ragtrace.extract import read_trace
from ragtrace.model import SpanRecord
from ragtrace_collector import otlp
from ragtrace_collector.stages import HeldInteraction, ReleaseReason
from ragtrace_collector.stitcher import Stitcher, StitchOptions

SECOND = 10**9
TEXTS = {"a": "Books may be kept for three weeks.", "b": "A late book costs twenty cents a day."}


def search(number: int, *names: str, at: int = 0, session: str | None = None) -> SpanRecord:
    """A retrieval in a trace of its own that found those texts."""
    found: dict[str, object] = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": "How long and how much?",
    }
    for index, name in enumerate(names):
        found[f"retrieval.documents.{index}.document.id"] = name
        found[f"retrieval.documents.{index}.document.content"] = TEXTS[name]
    return span(number, "search", found, at, session)


def call(number: int, *names: str, at: int = 1, session: str | None = None) -> SpanRecord:
    """A model call in a trace of its own that was shown those texts."""
    prompt = "\n".join(TEXTS[name] for name in names)
    found = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": prompt + "\n\nHow long and how much?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Three weeks.",
    }
    return span(number, "llm", found, at, session)


def span(number: int, name: str, attributes: dict[str, object], at: int, session: str | None) -> SpanRecord:
    named = {} if session is None else {"session.id": session}
    begins = 1_700_000_000 * SECOND + at * SECOND
    return SpanRecord(
        f"{number:032x}",
        f"{number:016x}",
        None,
        name,
        attributes={**attributes, **named},
        start_ns=begins,
        end_ns=begins + 1000,
    )


def held(*spans: SpanRecord, at: float = 0.0) -> HeldInteraction:
    raw = tuple(otlp.encode_span(span) for span in spans)
    return HeldInteraction(spans[0].trace_id, spans[0].span_id, raw, ReleaseReason.ENTRY, at, at)


def stitcher(by: str = "calls", **options: float) -> Stitcher:
    def read(one: HeldInteraction):  # type: ignore[no-untyped-def]
        return read_trace([otlp.read_span(raw) for raw in one.spans], one.logs)

    return Stitcher(StitchOptions(by=by, **options), read)  # type: ignore[arg-type]


def names(released: list[HeldInteraction]) -> list[list[str]]:
    return [[otlp.read_span(raw).trace_id[-1] for raw in one.spans] for one in released]


def test_a_retrieval_and_the_call_that_shows_its_documents_leave_as_one() -> None:
    """Not before the wait is over, since a second call might fit; then by the retrieval's ids."""
    found = stitcher(wait=30)
    assert found.add(held(search(1, "a")), 0.0) == []
    assert found.add(held(call(2, "a")), 5.0) == []
    assert found.next_deadline() == 30
    assert found.tick(29.9) == []
    (one,) = found.tick(30.0)
    assert names([one]) == [["1", "2"]]
    assert (one.trace_id[-1], one.reason, one.first_at, one.released_at) == ("1", "stitched", 0.0, 30.0)
    assert one.trace_ids == (f"{1:032x}", f"{2:032x}")
    assert found.next_deadline() is None


def test_two_calls_that_fit_leave_the_retrieval_alone() -> None:
    """Which is whose cannot be told: nothing is put together, nothing is lost."""
    found = stitcher(wait=30)
    for number, one in ((1, search(1, "a")), (2, call(2, "a")), (3, call(3, "a"))):
        found.add(held(one), float(number))
    assert names(found.tick(40.0)) == [["1"], ["2"], ["3"]]


def test_what_is_whole_passes_at_once() -> None:
    """A retrieval and a model call in one trace wait for nothing, nor does what is no interaction."""
    found = stitcher()
    first, second = search(1, "a"), call(1, "a")
    whole = held(first, SpanRecord(**{**_fields(second), "span_id": "f" * 16}))
    assert found.add(whole, 0.0) == [whole]
    plain = held(span(3, "embed", {"openinference.span.kind": "EMBEDDING"}, 0, None))
    assert found.add(plain, 0.0) == [plain]


def _fields(span: SpanRecord) -> dict[str, object]:
    return {name: getattr(span, name) for name in SpanRecord.__slots__}


def test_the_traces_of_a_session_leave_when_it_has_rested() -> None:
    """Each new one starts the wait anew; another session's traces, and another's calls, stay apart."""
    found = stitcher("sessions", wait=10)
    found.add(held(search(1, "a", session="s")), 0.0)
    found.add(held(search(2, "b", session="s")), 8.0)
    found.add(held(call(3, "b", session="t")), 8.0)
    assert found.tick(17.0) == []
    found.add(held(call(4, "a", "b", session="s", at=9)), 17.0)
    assert names(found.tick(18.0)) == [["3"]]
    assert names(found.tick(27.0)) == [["1", "2", "4"]]


def test_a_session_that_never_rests_leaves_after_ten_waits() -> None:
    """What goes on for ever is not held for ever."""
    found = stitcher("sessions", wait=10)
    for number in range(1, 13):
        assert found.add(held(search(number, "a", session="s")), 9.0 * number) == []
    assert found.next_deadline() == 109.0


def test_beyond_its_bound_the_oldest_leave() -> None:
    """Memory is bounded, and nothing is dropped for it."""
    found = stitcher(wait=30, max_bytes=held(search(1, "a")).spans[0].size * 2 + 10)
    assert found.add(held(search(1, "a")), 0.0) == []
    assert found.add(held(search(2, "b")), 1.0) == []
    assert names(found.add(held(search(3, "a")), 2.0)) == [["1"]]
    assert names(found.drain(3.0)) == [["2"], ["3"]]


@pytest.mark.parametrize("options", [{"wait": -1.0}, {"max_bytes": 0}])
def test_options_out_of_range_are_refused(options: dict[str, float]) -> None:
    """A wrong setting is an error at the start."""
    with pytest.raises(ValueError, match="must"):
        StitchOptions(**options)  # type: ignore[arg-type]
