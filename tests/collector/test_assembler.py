"""The assembler, driven by a clock that the tests hold."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ragtrace.model import LogRecord
from ragtrace_collector.assembler import Assembled, Assembler, AssemblerOptions
from ragtrace_collector.grouping import SeenSpan
from ragtrace_collector.lineage import Role
from ragtrace_collector.stages import HeldInteraction, ReleaseReason


@dataclass(frozen=True)
class Raw:
    """Stands for the bytes of a span: the assembler only hands them on."""

    span_id: str


def span(
    span_id: str,
    parent: str | None = None,
    role: Role = Role.CHAIN,
    *,
    trace: str = "t1",
    size: int = 100,
    remote: bool = False,
) -> SeenSpan:
    return SeenSpan(Raw(span_id), trace, span_id, parent, role, size, remote)  # type: ignore[arg-type]


def retrieval(span_id: str, parent: str | None, **more: object) -> SeenSpan:
    return span(span_id, parent, Role.RETRIEVAL, **more)  # type: ignore[arg-type]


def generation(span_id: str, parent: str | None, **more: object) -> SeenSpan:
    return span(span_id, parent, Role.GENERATION, **more)  # type: ignore[arg-type]


def plain(span_id: str, parent: str | None, **more: object) -> SeenSpan:
    return span(span_id, parent, Role.PLAIN, **more)  # type: ignore[arg-type]


def ids(raws: object) -> list[str]:
    return [raw.span_id for raw in raws]  # type: ignore[attr-defined]


def only(assembled: Assembled) -> HeldInteraction:
    assert len(assembled.released) == 1
    return assembled.released[0]


def test_plain_spans_leave_at_once_and_nothing_is_held() -> None:
    """A span that plays no part in RAG is not held."""
    assembler = Assembler()
    assembled = assembler.add([plain("a", None), plain("b", "a")], 0.0)
    assert ids(assembled.forward) == ["a", "b"]
    assert (assembler.held_spans, assembler.next_deadline()) == (0, None)


def test_plain_spans_of_a_rag_trace_are_not_held_either() -> None:
    """Only the RAG spans of a trace wait."""
    assembler = Assembler()
    assembled = assembler.add([retrieval("r", "http"), plain("http", None)], 0.0)
    assert ids(assembled.forward) == ["http"]
    assert assembler.held_spans == 1


def test_children_that_came_first_leave_with_their_entry_two_seconds_after_it() -> None:
    """SDK batches deliver children up to five seconds before their root."""
    assembler = Assembler()
    assembler.add([retrieval("r", "root")], 0.0)
    assert assembler.tick(4.9).released == ()
    assembler.add([generation("g", "root"), span("root")], 5.0)
    assert assembler.tick(6.9).released == ()
    assert assembler.next_deadline() == 7.0
    released = only(assembler.tick(7.0))
    assert (released.entry_span_id, released.reason) == ("root", ReleaseReason.ENTRY)
    assert sorted(ids(released.spans)) == ["g", "r", "root"]
    assert released.held_for == 7.0
    assert (assembler.held_spans, assembler.held_bytes) == (0, 0)


def test_a_child_that_comes_within_the_quiet_time_goes_along() -> None:
    """The entry waits two seconds for stragglers."""
    assembler = Assembler()
    assembler.add([span("root")], 0.0)
    assembler.add([retrieval("r", "root")], 1.9)
    assert sorted(ids(only(assembler.tick(2.0)).spans)) == ["r", "root"]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (span("e", None), "it has no parent"),
        (span("e", "elsewhere", remote=True), "its parent lives in another process"),
        (span("e", "http", Role.INTERACTION), "it says that it is an interaction"),
    ],
)
def test_what_makes_a_span_an_entry(entry: SeenSpan, why: str) -> None:
    """An entry is released after the quiet time although its parent was never seen."""
    assembler = Assembler()
    assembler.add([entry], 0.0)
    assert only(assembler.tick(2.0)).reason is ReleaseReason.ENTRY, why


def test_a_plain_root_that_runs_for_minutes_does_not_hold_up_the_interaction() -> None:
    """A chain with retrieval and generation beneath is an entry while its HTTP root still streams."""
    assembler = Assembler()
    assembler.add([retrieval("r", "chain"), generation("g", "chain"), span("chain", "http")], 0.0)
    released = only(assembler.tick(2.0))
    assert (released.entry_span_id, released.reason) == ("chain", ReleaseReason.ENTRY)


def test_a_retriever_alone_waits_for_what_is_above_it() -> None:
    """The answer takes longer than the quiet time; a retriever under an unseen parent is no entry."""
    assembler = Assembler()
    assembler.add([retrieval("r", "steps"), span("steps", "root")], 0.0)
    assert assembler.tick(30.0).released == ()
    assembler.add([generation("g", "root"), span("root")], 31.0)
    assert sorted(ids(only(assembler.tick(33.0)).spans)) == ["g", "r", "root", "steps"]


def test_a_plain_parent_that_turns_out_to_be_the_root_settles_the_entry() -> None:
    """An LLM span beneath a plain HTTP root is complete as soon as that root was seen."""
    assembler = Assembler()
    assembler.add([generation("g", "http")], 0.0)
    assert assembler.tick(4.0).released == ()
    assembler.add([plain("http", None)], 5.0)
    assert only(assembler.tick(assembler.next_deadline() or 0)).reason is ReleaseReason.ENTRY


def test_retriever_and_generator_beneath_a_plain_root_are_one_interaction() -> None:
    """Where no chain holds them together, siblings go with each other once their root was seen."""
    assembler = Assembler()
    assembler.add([retrieval("r", "http"), span("rr", "http", Role.STEP)], 0.0)
    assembler.add([generation("g", "http"), plain("http", None)], 5.0)
    assert sorted(ids(only(assembler.tick(7.0)).spans)) == ["g", "r", "rr"]


def test_a_plain_span_between_two_rag_spans_links_them() -> None:
    """The app's own span between chain and retriever does not split the interaction."""
    assembler = Assembler()
    assembler.add([retrieval("r", "custom"), plain("custom", "root"), span("root")], 0.0)
    assert sorted(ids(only(assembler.tick(2.0)).spans)) == ["r", "root"]


def test_a_trace_without_a_root_leaves_when_it_was_idle_for_a_minute() -> None:
    """No entry: sixty seconds after the last span."""
    assembler = Assembler()
    assembler.add([retrieval("r", "never")], 0.0)
    assembler.add([generation("g", "r")], 10.0)
    assembler.tick(2.0)
    assembler.tick(60.0)
    assert assembler.tick(69.9).released == ()
    assert only(assembler.tick(70.0)).reason is ReleaseReason.IDLE


def test_nothing_is_held_longer_than_five_minutes() -> None:
    """A trace that never falls silent leaves at its age."""
    assembler = Assembler()
    for second in range(0, 300, 30):
        assembler.add([retrieval(f"r{second}", "never")], float(second))
        assembler.tick(float(second))
    assert assembler.held_spans == 10
    released = assembler.tick(300.0).released
    assert {item.reason for item in released} == {ReleaseReason.AGE}


def test_two_interactions_of_one_trace_are_released_each_by_itself() -> None:
    """Siblings beneath a plain root are interactions of their own."""
    assembler = Assembler()
    first = [retrieval("r1", "a"), span("a", "job", Role.INTERACTION)]
    second = [retrieval("r2", "b"), span("b", "job", Role.INTERACTION)]
    assembler.add(first, 0.0)
    assembler.add([*second, plain("job", None)], 1.0)
    assert only(assembler.tick(2.0)).entry_span_id == "a"
    released = only(assembler.tick(3.0))
    assert (released.entry_span_id, sorted(ids(released.spans))) == ("b", ["b", "r2"])


def test_a_late_span_joins_the_decision_and_leaves_at_once() -> None:
    """A child that comes forty seconds late is forwarded; its interaction is not released again."""
    assembler = Assembler()
    assembler.add([span("root")], 0.0)
    only(assembler.tick(2.0))
    assembled = assembler.add([retrieval("r", "root")], 42.0)
    assert (ids(assembled.forward), assembled.released) == (["r"], ())
    assert assembler.tick(1000.0).released == ()


def test_a_duplicate_of_a_released_span_is_forwarded_and_not_judged_again() -> None:
    """A sender that repeats a request gets no second score."""
    assembler = Assembler()
    assembler.add([span("root")], 0.0)
    assembler.tick(2.0)
    assert ids(assembler.add([span("root")], 3.0).forward) == ["root"]
    assert assembler.tick(1000.0).released == ()


def test_an_outer_chain_of_a_released_interaction_is_not_a_second_one() -> None:
    """What comes above an interaction that was complete joins its decision."""
    assembler = Assembler()
    assembler.add([retrieval("r", "chain"), generation("g", "chain"), span("chain", "outer")], 0.0)
    assembler.tick(2.0)
    assert ids(assembler.add([span("outer", None)], 8.0).forward) == ["outer"]


def test_spans_that_had_to_leave_early_are_still_read_with_their_entry() -> None:
    """Idle children leave; when the entry comes they are there to be read, and not to be exported again."""
    assembler = Assembler()
    assembler.add([retrieval("r", "root")], 0.0)
    assembler.tick(2.0)
    assert ids(only(assembler.tick(60.0)).spans) == ["r"]
    assembler.add([span("root")], 90.0)
    released = only(assembler.tick(92.0))
    assert (ids(released.spans), ids(released.left)) == (["root"], ["r"])
    assert assembler.held_bytes == 0


def test_the_oldest_leave_when_the_bytes_held_reach_their_bound() -> None:
    """Memory is bounded by bytes; what leaves for it says so."""
    assembler = Assembler(AssemblerOptions(max_bytes=250))
    assembler.add([retrieval("r1", "x", trace="old")], 0.0)
    assembler.add([retrieval("r2", "x", trace="mid")], 1.0)
    released = only(assembler.add([retrieval("r3", "x", trace="new")], 2.0))
    assert (released.trace_id, released.reason) == ("old", ReleaseReason.MEMORY)
    assert assembler.held_bytes <= 250


def test_a_span_larger_than_the_bound_passes_through() -> None:
    """One span over the bound is released at once, not refused."""
    assembler = Assembler(AssemblerOptions(max_bytes=250))
    assert only(assembler.add([span("big", None, size=1000)], 0.0)).reason is ReleaseReason.MEMORY
    assert assembler.held_bytes == 0


def test_the_memory_of_decisions_is_bounded() -> None:
    """Only so many traces are remembered; the oldest are forgotten first."""
    assembler = Assembler(AssemblerOptions(remembered=2))
    for number in range(5):
        assembler.add([span("root", trace=f"t{number}")], 0.0)
    assembler.tick(2.0)
    assert ids(assembler.add([retrieval("r", "root", trace="t4")], 3.0).forward) == ["r"]
    assert assembler.add([retrieval("r", "root", trace="t0")], 3.0).forward == ()


def test_shutdown_releases_everything() -> None:
    """What is held when the collector stops leaves with that reason."""
    assembler = Assembler()
    assembler.add([retrieval("r", "x", trace="a"), span("root", trace="b")], 0.0)
    assert {item.reason for item in assembler.drain(0.5).released} == {ReleaseReason.SHUTDOWN}
    assert assembler.held_spans == 0


def test_a_cycle_of_parents_does_not_hang() -> None:
    """Two spans that name each other as parent leave by the idle time."""
    assembler = Assembler()
    assembler.add([span("a", "b"), span("b", "a")], 0.0)
    released = [*assembler.tick(2.0).released, *assembler.tick(62.0).released]
    assert sorted(span_id for item in released for span_id in ids(item.spans)) == ["a", "b"]


def test_logs_are_read_with_the_span_that_they_name() -> None:
    """Log records may come before the spans; each goes with its own interaction."""
    assembler = Assembler()
    mine, other = (LogRecord("t1", span_id, "event") for span_id in ("g", "zz"))
    assembler.add_logs([mine, other], 10)
    assembler.add([generation("g", "root"), span("root")], 0.0)
    assert only(assembler.tick(2.0)).logs == (mine,)


def test_log_records_whose_spans_never_come_do_not_pile_up() -> None:
    """They are bounded by bytes; those of the oldest traces are given up first."""
    assembler = Assembler(AssemblerOptions(max_log_bytes=25))
    logs = [LogRecord(f"t{number}", "root", "event") for number in range(3)]
    for log in logs:
        assembler.add_logs([log], 10)
    assembler.add([span("root", trace=f"t{number}") for number in range(3)], 0.0)
    released = assembler.tick(2.0).released
    assert [item.logs for item in released] == [(), (logs[1],), (logs[2],)]


def test_spans_beyond_the_remembered_links_are_not_lost() -> None:
    """A trace of more spans than are remembered still leaves whole."""
    assembler = Assembler(AssemblerOptions(links_per_trace=3))
    assembler.add([span("root"), *(retrieval(f"r{n}", "root") for n in range(10))], 0.0)
    released = [*assembler.tick(2.0).released, *assembler.tick(62.0).released]
    assert sum(len(item.spans) for item in released) == 11
