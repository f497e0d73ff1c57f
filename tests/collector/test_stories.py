"""What became of a trace is remembered for a while."""

from __future__ import annotations

from ragtrace_collector.stages import Decision, Verb
from ragtrace_collector.stories import Stories

PASSED = Decision(Verb.FORWARD, 0.99, "share")


def test_traces_that_were_passed_by_are_forgotten_a_request_at_a_time() -> None:
    """As many are remembered as the limit says, at most."""
    stories = Stories(limit=3)
    stories.passed({b"\x01" * 16, b"\x02" * 16}, PASSED)
    stories.passed({b"\x03" * 16, b"\x04" * 16}, PASSED)
    assert stories.find("01" * 16) is None
    kept = stories.find("04" * 16)
    assert kept is not None
    assert kept.as_json() == {
        "trace_id": "04" * 16,
        "seen": True,
        "rag_spans": None,
        "state": "forwarded",
        "interactions": [],
        "decision": {"verb": "forward", "probability": 0.99, "rule": "share"},
    }


def test_what_was_seen_of_a_trace_counts_more_than_that_it_was_passed_by() -> None:
    """A trace can be both, where the settings changed."""
    stories = Stories()
    stories.passed({b"\x01" * 16}, PASSED)
    stories.seen("01" * 16, 2)
    story = stories.find("01" * 16)
    assert story is not None
    assert story.spans_seen == 2
