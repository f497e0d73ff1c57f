"""What became of a trace is remembered for a while."""

from __future__ import annotations

from ragtrace.model import Interaction, JudgeInfo, Status
from ragtrace_collector.scorer import without_scores
from ragtrace_collector.stages import Decision, HeldInteraction, JudgedInteraction, ReleaseReason, Verb
from ragtrace_collector.stories import Stories, tell_judged
from ragtrace_collector.views.doctor import from_story

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


def test_what_the_worker_did_not_come_to_read_is_not_said_to_be_missing() -> None:
    """Nobody looked for its question, documents and answer: they may all be there, and the deadline was
    missed."""
    held = HeldInteraction("a" * 32, "b" * 16, (), ReleaseReason.ENTRY, 0.0, 2.0)
    late = without_scores(
        [Interaction(trace_id="a" * 32, entry_span_id="b" * 16)],
        ["faithfulness"],
        JudgeInfo("embedded", "r1"),
        Status.TIMED_OUT,
        "deadline",
    )
    told = tell_judged(JudgedInteraction(held, Decision(Verb.JUDGE, 1.0, "share"), late))
    assert told[0]["unread"]
    assert not told[0].keys() & {"fields", "missing", "explained"}
    stories = Stories()
    stories.told_of(held, told)
    story = stories.find("a" * 32)
    assert story is not None
    said = "\n".join(from_story(story.as_json()))
    assert "✗" not in said
    assert "not read" in said
    assert "timed_out (deadline): faithfulness" in said
