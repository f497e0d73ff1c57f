"""The table of open runs."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from ragtrace_integrations._runs import OpenRuns


def _name(name: str):
    return lambda parent: f"{parent}/{name}" if parent else name


def test_a_run_finds_its_parent_by_id():
    """The parent's item is handed to the child's maker, whatever was opened in between."""
    runs: OpenRuns[str] = OpenRuns()
    runs.open("a", None, _name("a"), 0)
    runs.open("x", None, _name("x"), 0)
    runs.open("b", "a", _name("b"), 0)
    assert runs.get("b") == "a/b"


def test_what_is_open_below_a_run_closes_with_it_deepest_first():
    """Closing an ancestor gives its open descendants before itself, and nothing of its siblings."""
    runs: OpenRuns[str] = OpenRuns()
    for run, parent in [("a", None), ("b", "a"), ("c", "b"), ("d", "a"), ("other", None)]:
        runs.open(run, parent, _name(run), 0)
    runs.close("d")
    assert runs.close("a") == ["a/b/c", "a/b", "a"]
    assert len(runs) == 1


def test_an_end_that_comes_after_the_ancestors_end_closes_nothing():
    """A late end event of a run that closed with its root is ignored."""
    runs: OpenRuns[str] = OpenRuns()
    runs.open("a", None, _name("a"), 0)
    runs.open("b", "a", _name("b"), 0)
    runs.close("a")
    assert runs.close("b") == []


def test_a_late_child_still_finds_its_closed_parent():
    """A run that starts after its parent ended is no root without a past."""
    runs: OpenRuns[str] = OpenRuns()
    runs.open("a", None, _name("a"), 0)
    runs.close("a")
    runs.open("b", "a", _name("b"), 0)
    assert runs.close("b") == ["a/b"]


def test_a_run_that_is_open_already_stays_as_it_is():
    """Two handlers that report one run make one item."""
    runs: OpenRuns[str] = OpenRuns()
    runs.open("a", None, _name("first"), 0)
    runs.open("a", None, _name("second"), 0)
    assert runs.close("a") == ["first"]


def test_roots_that_never_end_leave_when_there_are_too_many():
    """The oldest root goes, with what is open below it; the newest never does."""
    runs: OpenRuns[str] = OpenRuns(max_roots=2)
    runs.open("a", None, _name("a"), 0)
    runs.open("b", "a", _name("b"), 0)
    runs.open("c", None, _name("c"), 0)
    assert runs.open("d", None, _name("d"), 0) == ["a/b", "a"]
    assert len(runs) == 2


def test_roots_that_never_end_leave_when_they_are_too_old():
    """Age is counted in seconds of the caller's clock, at the start of the next root."""
    runs: OpenRuns[str] = OpenRuns(max_age_s=60)
    runs.open("a", None, _name("a"), 0)
    assert runs.open("b", None, _name("b"), 60) == []
    assert runs.open("c", None, _name("c"), 61) == ["a"]


def test_closed_runs_are_remembered_up_to_a_bound():
    """Memory stays bounded: the oldest closed run is forgotten first."""
    runs: OpenRuns[str] = OpenRuns(remembered=1)
    for run in ("a", "b"):
        runs.open(run, None, _name(run), 0)
        runs.close(run)
    runs.open("late-a", "a", _name("late"), 0)
    runs.open("late-b", "b", _name("late"), 0)
    assert (runs.get("late-a"), runs.get("late-b")) == ("late", "b/late")


@given(
    st.lists(st.tuples(st.sampled_from(["open", "close"]), st.integers(0, 9), st.integers(0, 9)), max_size=60)
)
def test_every_opened_item_is_closed_once(steps):
    """Whatever the order of starts and ends, each item is given back exactly once."""
    runs: OpenRuns[int] = OpenRuns(max_roots=3)
    opened, closed = 0, []
    for action, run, parent in steps:
        if action == "close":
            closed += runs.close(run)
            continue
        new = opened

        def make(_parent, new=new):
            nonlocal opened
            opened = new + 1
            return new

        closed += runs.open(run, parent if parent != run else None, make, 0)
    closed += runs.drain()
    assert sorted(closed) == list(range(opened))
    assert len(runs) == 0


def test_many_threads_lose_no_run():
    """Threads that open and close trees of their own, at once, get back their own items only."""
    runs: OpenRuns[str] = OpenRuns()
    wrong: list[object] = []
    start = threading.Barrier(8)

    def work(worker: int) -> None:
        start.wait(timeout=10)
        for turn in range(200):
            root, child = (worker, turn), (worker, turn, "child")
            runs.open(root, None, _name(f"{worker}.{turn}"), 0)
            runs.open(child, root, _name("child"), 0)
            if (got := runs.close(root)) != [f"{worker}.{turn}/child", f"{worker}.{turn}"]:
                wrong.append(got)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert wrong == []
    assert len(runs) == 0


def test_a_run_that_closes_alone_hands_its_children_up():
    """What is open below it goes on below its parent, and closes with that."""
    runs: OpenRuns[str] = OpenRuns()
    for run, parent in [("a", None), ("b", "a"), ("c", "b")]:
        runs.open(run, parent, _name(run), 0)
    assert runs.detach("b") == "a/b"
    assert runs.below("a") == ["a/b/c"]
    assert runs.close("a") == ["a/b/c", "a"]


def test_children_of_a_root_that_closes_alone_become_roots():
    """Nothing is lost: they can still close, and leave when there are too many."""
    runs: OpenRuns[str] = OpenRuns()
    runs.open("a", None, _name("a"), 0)
    runs.open("b", "a", _name("b"), 0)
    runs.detach("a")
    assert runs.drain() == ["a/b"]
