"""The public fakes do what they say."""

from __future__ import annotations

import numpy as np
import pytest

from ragtrace import extract
from ragtrace.judges.base import Judge, JudgeReply, JudgeRequest, Want
from ragtrace.model import Support
from ragtrace.reading import read
from ragtrace.testing import ScriptedEmbedder, ScriptedJudge, judged, make_interaction, make_trace


def request() -> JudgeRequest:
    return JudgeRequest(make_interaction(), (), frozenset({Want.NEEDS}))


async def test_a_scripted_judge_gives_its_replies_in_turn_and_then_the_last_one() -> None:
    """And keeps what it was asked."""
    first, second = JudgeReply(answer_fit=0.1), JudgeReply(answer_fit=0.2)
    judge = ScriptedJudge(first, second)
    assert isinstance(judge, Judge)
    assert [await judge.judge(request()) for _ in range(3)] == [first, second, second]
    assert judge.wants == {Want.NEEDS}


async def test_a_scripted_judge_raises_what_it_is_given() -> None:
    """Exceptions are replies too."""
    with pytest.raises(ZeroDivisionError):
        await ScriptedJudge(ZeroDivisionError()).judge(request())


async def test_a_scripted_embedder_puts_texts_together() -> None:
    """Texts of a group are alike, all others are not."""
    vectors = await ScriptedEmbedder(["a", "b"]).embed(["a", "b", "c", "c"])
    assert (vectors @ vectors.T == np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])).all()


def test_a_judged_unit_has_a_verdict_for_each_cited_document() -> None:
    """Unless the test says otherwise."""
    (unit,) = read(make_interaction()).units
    assert judged(unit, Support.NOT_FOUND).pairs[1].support is Support.NOT_FOUND  # type: ignore[union-attr]
    assert judged(unit, pairs={}).pairs == {}


@pytest.mark.parametrize("documents", [("Refunds take 3 days.", "Gifts are final."), (), None])
def test_a_made_trace_reads_back_as_its_interaction(documents: tuple[str, ...] | None) -> None:
    """Question, documents and answer survive; nothing retrieved and not recorded stay two things."""
    made = make_interaction(documents=documents)
    (found,) = extract.interactions(make_trace(made), ())
    assert (found.question, found.answer) == (made.question, made.answer)
    if documents is None:
        assert found.documents is None
    else:
        assert found.documents is not None
        assert [(d.id, d.text) for d in found.documents] == [(d.id, d.text) for d in made.documents or ()]


def test_a_made_trace_can_be_told_again() -> None:
    """The same seed gives the same ids, another one others."""
    assert make_trace(seed="a") == make_trace(seed="a")
    assert make_trace(seed="a")[0].trace_id != make_trace(seed="b")[0].trace_id
