"""``ragtrace.evaluate`` reads any rows, runs anywhere, and tells the whole story."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import Any

import pytest
import uvloop

import ragtrace
from ragtrace.api import aevaluate, read_rows
from ragtrace.diagnosis import Thresholds
from ragtrace.errors import ConfigError, InputError, JudgeError
from ragtrace.judges.base import JudgeReply, JudgeRequest, Need
from ragtrace.model import Cause, Status, Support
from ragtrace.records import evaluation_from_dict, evaluation_to_dict
from ragtrace.testing import ScriptedJudge, judged, make_interaction

ROW = {"question": "How long?", "contexts": ["Refunds take 3 days."], "answer": "Refunds take 3 days [1]."}


def by_answer(request: JudgeRequest) -> JudgeReply:
    """Supported, unless the answer says 7."""
    support = Support.NOT_FOUND if "7" in (request.interaction.answer or "") else Support.SUPPORTED
    return JudgeReply(
        claims=tuple(judged(unit, support) for unit in request.units),
        relevance={1: 1.0},
        needs=(Need("time", True, True),),
    )


@dataclass
class _Frame:
    """What pandas and its like have in common."""

    records: list[dict[str, Any]]

    @property
    def columns(self) -> list[str]:
        return list(self.records[0])

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        assert orient == "records"
        return self.records


COLUMNS = {"question": ["How long?"] * 2, "contexts": [["a"], ["b"]], "answer": ["3 days.", "7 days."]}


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([ROW, ROW], id="dicts"),
        pytest.param(iter([ROW, ROW]), id="an iterator"),
        pytest.param([make_interaction(), ROW], id="interactions among dicts"),
        pytest.param(COLUMNS, id="columns"),
        pytest.param(COLUMNS | {"ground_truth": ["3 days.", "3 days."]}, id="columns with references"),
        pytest.param(
            {
                "user_input": ["q"] * 2,
                "retrieved_contexts": [["a"]] * 2,
                "response": ["b."] * 2,
                "reference": ["c"] * 2,
            },
            id="newer names",
        ),
        pytest.param(_Frame([ROW, ROW]), id="a data frame"),
    ],
)
def test_rows_come_in_many_shapes(rows: Any) -> None:
    """Two rows are two interactions with documents and answer, whatever they are wrapped in."""
    found = list(read_rows(rows))
    assert len(found) == 2
    assert all(interaction.documents and interaction.answer for interaction in found)


def test_one_dict_is_one_row() -> None:
    """Its strings are not columns of characters."""
    assert [row.question for row in read_rows(ROW)] == ["How long?"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([ROW, 7], "row:2: int is no row"),
        ([ROW, {"foo": 1}], "row:2"),
        ({"question": ["a", "b"], "answer": ["c"]}, "differ in length"),
        ({"question": ["a"], "answer": 3}, "'answer' is no list"),
        ("a string", "cannot read rows from a str"),
        (7, "cannot read rows from a int"),
    ],
)
def test_what_cannot_be_read_is_named(rows: Any, says: str) -> None:
    """The error says which row or column."""
    with pytest.raises(InputError, match=says):
        list(read_rows(rows))


def test_the_result_is_a_mapping_of_means() -> None:
    """One faithful answer of two: the mean is a half, and each row is there in order."""
    found = ragtrace.evaluate(COLUMNS, ["faithfulness"], judge=ScriptedJudge(by_answer))
    assert dict(found) == {"faithfulness": 0.5}
    assert repr(found) == "{'faithfulness': 0.5000}"
    assert [row.outcomes["faithfulness"].value for row in found.rows] == [1.0, 0.0]
    assert found.diagnoses[Cause.UNDETERMINED.value] == 1  # one metric alone cannot say "ok"


def test_a_mean_never_comes_without_its_coverage() -> None:
    """A row whose judge failed does not raise the mean in silence."""
    judge = ScriptedJudge(by_answer, JudgeError("unparseable"))
    found = ragtrace.evaluate([ROW, ROW], ["faithfulness"], judge=judge, concurrency=1)
    assert found["faithfulness"] == 1.0
    assert found.coverage == {"faithfulness": 0.5}
    assert found.statuses["faithfulness"] == {Status.SCORED: 1, Status.JUDGE_ERROR: 1}
    assert found.reasons["faithfulness"] == {"judge_error: unparseable": 1}
    assert repr(found) == "{'faithfulness': 1.0000} (faithfulness: 1 of 2 scored)"


def test_rows_to_which_a_metric_does_not_apply_do_not_lower_coverage() -> None:
    """A refusal is no failure of the judge."""
    refusal = ROW | {"answer": "I don't know."}
    found = ragtrace.evaluate([ROW, refusal], ["faithfulness"], judge=ScriptedJudge(by_answer))
    assert found.coverage == {"faithfulness": 1.0}
    assert found.reasons["faithfulness"] == {"abstained: answer_declines": 1}


def test_a_metric_without_any_number_has_no_mean() -> None:
    """None, not NaN."""
    found = ragtrace.evaluate([ROW], ["answer_correctness"], judge=ScriptedJudge())
    assert dict(found) == {"answer_correctness": None}
    assert found.coverage == {"answer_correctness": None}


@pytest.mark.parametrize(
    ("rows", "metrics", "error", "said"),
    [
        ([], None, InputError, "there is no row to evaluate"),
        ({}, None, InputError, "there is no row to evaluate"),
        ([ROW], [], ConfigError, "metrics: names no metric"),
    ],
)
def test_nothing_to_evaluate_is_an_error(
    rows: Any, metrics: list[str] | None, error: type[Exception], said: str
) -> None:
    """A pipeline that lost its rows or metrics must not pass as one that has no failures."""
    with pytest.raises(error, match=said):
        ragtrace.evaluate(rows, metrics, judge=ScriptedJudge())


def test_the_embedded_judge_needs_nothing() -> None:
    """The default judges without key and network, in both languages."""
    rows = [ROW, {"question": "退款要多久？", "contexts": ["退款需要3天。"], "answer": "退款需要7天。"}]
    found = ragtrace.evaluate(rows, ["faithfulness", "citation_presence"])
    assert found.coverage == {"faithfulness": 1.0, "citation_presence": 1.0}
    assert [row.language for row in found.rows] == ["en", "zh"]
    assert {row.judge.kind for row in found.rows} == {"embedded"}


@pytest.mark.parametrize(
    "new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
def test_it_runs_inside_a_running_loop(new_loop: Any) -> None:
    """Neither patched nor refused: the work is done on a loop of its own."""

    async def app() -> Any:
        return ragtrace.evaluate([ROW], ["faithfulness"], judge=ScriptedJudge(by_answer))

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(app())["faithfulness"] == 1.0


def test_two_calls_share_one_loop() -> None:
    """A judge whose client pools connections can be used again."""
    loops = []

    def remember(request: JudgeRequest) -> JudgeReply:
        loops.append((asyncio.get_running_loop(), threading.current_thread().name))
        return by_answer(request)

    judge = ScriptedJudge(remember)
    for _ in range(2):
        ragtrace.evaluate([ROW], ["faithfulness"], judge=judge)
    assert loops[0] == loops[1]
    assert not judge.closed


async def test_the_async_form_runs_on_the_callers_loop() -> None:
    """For those who have one."""
    loops = []

    def remember(request: JudgeRequest) -> JudgeReply:
        loops.append(asyncio.get_running_loop())
        return by_answer(request)

    found = await aevaluate([ROW], ["faithfulness"], judge=ScriptedJudge(remember))
    assert found["faithfulness"] == 1.0
    assert loops == [asyncio.get_running_loop()]


def test_a_row_that_takes_too_long_is_timed_out_and_the_others_are_not() -> None:
    """A judge that never answers costs its row alone."""
    judge = ScriptedJudge(by_answer, until=asyncio.Event())
    found = ragtrace.evaluate([ROW], ["faithfulness", "citation_presence"], judge=judge, row_timeout=0)
    assert found.reasons["faithfulness"] == {"timed_out: deadline": 1}
    assert found["citation_presence"] == 1.0


@pytest.mark.parametrize(
    "options", [{"judge": "no_such"}, {"metrics": ["no_such"]}, {"judge": "embedded", "modle": "x"}]
)
def test_unknown_names_are_errors(options: Any) -> None:
    """A typo does not run something else."""
    with pytest.raises(ConfigError):
        ragtrace.evaluate([ROW], **options)


def test_progress_goes_to_stderr_only(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output stays the user's own."""
    ragtrace.evaluate([ROW], ["faithfulness"], judge=ScriptedJudge(by_answer), progress=True)
    assert capsys.readouterr().out == ""


def test_rows_come_out_as_json() -> None:
    """One object a row, with the outcomes."""
    (row,) = ragtrace.evaluate([ROW], ["faithfulness"], judge=ScriptedJudge(by_answer)).to_list()
    assert row["question"] == "How long?"
    assert row["outcomes"]["faithfulness"]["value"] == 1.0


def test_the_names_are_public_and_the_import_is_light() -> None:
    """What needs numpy is loaded when it is used."""
    code = (
        "import sys, ragtrace\n"
        "heavy = {'numpy', 'pydantic', 'openai', 'rich', 'asyncio'} & set(sys.modules)\n"
        "assert not heavy - {'asyncio'}, heavy\n"
        "assert ragtrace.hit_at_k(['a', 'b'], ['b'], k=2) == 1.0\n"
        "assert ragtrace.mrr(['a', 'b'], ['b']) == 0.5\n"
        "assert ragtrace.ndcg_at_k(['b'], {'b': 2}, k=5) == 1.0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_thresholds_move_the_diagnosis_and_are_kept_with_it() -> None:
    """The same verdicts, another cause; the record of the evaluation says by which threshold."""
    row = ROW | {"answer": "Refunds take 3 days. Refunds take 7 days."}

    def half(request: JudgeRequest) -> JudgeReply:
        first, second = request.units
        claims = (judged(first, Support.SUPPORTED), judged(second, Support.NOT_FOUND))
        return JudgeReply(claims=claims, relevance={1: 1.0}, needs=(Need("time", True, True),))

    (by_default,) = ragtrace.evaluate([row], judge=ScriptedJudge(half)).rows
    thresholds = Thresholds(faithfulness=0.5)
    (moved,) = ragtrace.evaluate([row], judge=ScriptedJudge(half), thresholds=thresholds).rows
    assert (by_default.diagnosis.cause, moved.diagnosis.cause) == (Cause.UNFAITHFUL_ANSWER, Cause.OK)
    assert moved.judge.revision == by_default.judge.revision
    again = evaluation_from_dict(moved.interaction, evaluation_to_dict(moved))
    assert again.diagnosis.thresholds == {"faithfulness": 0.5}
