"""``ragtrace evaluate`` as its user calls it."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers.openai_chat import FakeOpenAI

from ragtrace_collector.cli import run

ROOT = Path(__file__).parents[2]
CONTEXTS = ["退款政策:自收货起 7 天内支持无理由退款。", "退款到账:发起退款后 3-5 个工作日到账。"]
REFUND = {
    "question": "公司的退款政策是什么?",
    "answer": "支持 7 天无理由退款,发起后 3-5 个工作日到账。",
    "contexts": CONTEXTS,
    "ground_truth": "支持 7 天无理由退,3-5 天到账",
    "question_type": "事实型",
}
SWAPPED = REFUND | {"answer": "支持 9 天无理由退款,发起后 3-5 个工作日到账。"}
DECLINED = {
    "question": "How old is the boss?",
    "answer": "The documents do not say.",
    "contexts": ["Refunds take 3 days."],
}
DECLINED |= {"question_type": "unanswerable"}
MADE_UP = DECLINED | {"answer": "The boss is 43 years old.", "question_type": "无答案"}
ASKED = [
    {"question": "How long do refunds take?", "reference": "3 days", "gold_ids": ["kb-1"]},
    {"question": "When do we ship?", "reference": "On Mondays", "gold_ids": ["kb-2"]},
]

Evaluate = Callable[..., tuple[int, dict[str, Any], list[dict[str, Any]]]]


@pytest.fixture
def evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Evaluate:
    """Evaluate rows with flags → exit code, summary, rows."""

    def call(rows: list[dict[str, Any]], *flags: str) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
        source, out = tmp_path / "set.jsonl", tmp_path / "out.jsonl"
        source.write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
        )
        more = [
            "--journal",
            str(tmp_path / "journal.sqlite"),
            "--rows",
            str(out),
            "--json",
            "--processes",
            "1",
        ]
        arguments = ["evaluate", str(source), *more, *flags]
        if "--app" in flags:  # an app's spans need a tracer provider of the process's own
            command = [sys.executable, "-m", "ragtrace_collector", *arguments]
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
            code, printed = done.returncode, done.stdout
        else:
            capsys.readouterr()
            code = run(arguments)
            printed = capsys.readouterr().out
        lines = out.read_text("utf-8").splitlines() if out.exists() else []
        return code, json.loads(printed) if printed else {}, [json.loads(line) for line in lines]

    return call


def value(record: dict[str, Any], metric: str) -> float:
    return float(record["outcomes"][metric]["value"])


def test_a_swapped_number_drops_faithfulness_and_correctness(evaluate: Evaluate) -> None:
    """Seven days turned into nine: no document says so, and neither does the reference."""
    code, summary, (right, wrong) = evaluate([REFUND, SWAPPED])
    assert code == 0
    assert value(right, "faithfulness") == 1.0
    assert value(wrong, "faithfulness") < value(right, "faithfulness")
    assert value(wrong, "answer_correctness") < value(right, "answer_correctness")
    assert summary["paths"]["C"] == 1
    (advice,) = [one for one in summary["advice"] if one["metric"] == "faithfulness"]
    assert [row["row"] for row in advice["rows"]] == [2]
    assert "9 天" in advice["rows"][0]["because"]


def test_rows_are_called_by_their_numbers_in_the_file(evaluate: Evaluate) -> None:
    """Also behind a bad row that was left out: in the rows and in the advice."""
    _, summary, rows = evaluate([REFUND, {"answer": "A."}, SWAPPED], "--lenient")
    assert [row["row"] for row in rows] == [1, 3]
    (advice,) = [one for one in summary["advice"] if one["metric"] == "faithfulness"]
    assert [row["row"] for row in advice["rows"]] == [3]
    assert summary["set"]["left_out"] == 1


def test_unanswerable_rows_are_right_when_declined(evaluate: Evaluate) -> None:
    """A refusal counts 1, an answer 0 and is on path C, and recall says nothing of such rows."""
    _, summary, (declined, made_up) = evaluate([DECLINED, MADE_UP], "--by", "question_type,lang")
    assert (value(declined, "refusal"), value(made_up, "refusal")) == (1.0, 0.0)
    assert (declined["diagnosis"]["cause"], made_up["diagnosis"]["path"]) == ("correct_refusal", "C")
    assert made_up["outcomes"]["context_recall"]["reason"] == "unanswerable"
    assert summary["by"]["question_type"]["unanswerable"]["metrics"]["refusal"]["mean"] == 0.5
    assert summary["by"]["lang"]["en"]["n"] == 2


def test_the_summary_has_the_documented_shape(evaluate: Evaluate) -> None:
    """Means lie inside their intervals; what has no number says why."""
    _, summary, rows = evaluate([REFUND, DECLINED])
    assert {"n", "metrics", "by", "paths", "judge"} <= set(summary)
    assert summary["n"] == len(rows) == 2
    for name, found in summary["metrics"].items():
        assert {"mean", "low", "high", "n_scored", "coverage", "statuses"} <= set(found)
        assert sum(found["statuses"].values()) == (1 if name == "refusal" else 2)
        if found["mean"] is not None:
            assert found["low"] <= found["mean"] <= found["high"]
    assert summary["judge"]["kind"] == "embedded"


def test_gates_give_exit_code_1(evaluate: Evaluate) -> None:
    """The mean passes where the lower end of the interval does not; a metric without a number never passes."""
    assert evaluate([REFUND], "--fail-under", "faithfulness=0.9")[0] == 0
    assert evaluate([REFUND], "--fail-under", "faithfulness=0.9@low")[0] == 1
    assert evaluate([REFUND], "--fail-under", "citation_correctness=0.1")[0] == 1
    assert evaluate([REFUND], "--fail-under", "faith=0.9")[0] == 2


def test_a_run_is_compared_with_its_baseline(evaluate: Evaluate, tmp_path: Path) -> None:
    """The same set compares; a changed one is refused, before anything is judged, unless it is insisted on."""
    evaluate([REFUND])
    baseline = tmp_path / "out.jsonl"
    kept = baseline.rename(tmp_path / "baseline.jsonl")
    code, summary, _ = evaluate([SWAPPED], "--compare", str(kept))
    assert code == 0
    found = summary["compare"]["metrics"]["faithfulness"]
    assert found["difference"] < 0
    assert found["verdict"] == "no difference shown"
    changed = [REFUND, DECLINED]
    assert evaluate(changed, "--compare", str(kept))[0] == 2
    code, summary, _ = evaluate(changed, "--compare", str(kept), "--compare-anyway")
    assert (code, len(summary["compare"]["warnings"])) == (0, 1)


@pytest.mark.parametrize("app", ["streaming", "asynchronous"])
def test_an_app_is_called_with_every_question(evaluate: Evaluate, app: str, tmp_path: Path) -> None:
    """Sync, async or a stream: its documents and answer are judged against reference and gold."""
    traces = tmp_path / "traces.jsonl"
    code, summary, rows = evaluate(
        ASKED, "--app", f"tests.collector.evaluated_apps:{app}", "--traces", str(traces), "--k", "1,2"
    )
    assert code == 0
    assert [row["answer"] for row in rows] == ["Refunds take 3 days [1]."] * 2
    assert summary["metrics"]["mrr"]["mean"] == 0.75
    assert summary["metrics"]["hit@1"]["mean"] == 0.5
    assert summary["metrics"]["recall@2"]["mean"] == 1.0
    if app == "streaming":
        assert all(row["trace_id"] for row in rows)
        assert len(traces.read_text().splitlines()) == 2
        assert run(["evaluate", str(traces), "--json", "--journal", str(tmp_path / "j.sqlite")]) == 0


def test_where_the_app_raises_coverage_falls(evaluate: Evaluate) -> None:
    """The other row is judged; the failed one is neither 0 nor left out."""
    _, summary, rows = evaluate(ASKED, "--app", "tests.collector.evaluated_apps:failing_on_ships")
    assert summary["failed_answers"] == 1
    assert summary["first_failed_answer"] == {"row": 2, "error": "ValueError"}
    assert summary["metrics"]["faithfulness"]["coverage"] == 0.5
    assert rows[1]["outcomes"]["faithfulness"]["reason"] == "app_failed"


def test_bad_rows_stop_the_run_unless_lenient(evaluate: Evaluate) -> None:
    """Exit code 2 before anything is judged."""
    rows = [REFUND, {"answer": "a"}]
    assert evaluate(rows)[0] == 2
    code, summary, _ = evaluate(rows, "--lenient")
    assert (code, summary["n"], summary["set"]["left_out"]) == (0, 1, 1)


def test_people_get_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Means, paths, breakdown and advice in the rows' language."""
    source = tmp_path / "set.jsonl"
    source.write_text(json.dumps(SWAPPED, ensure_ascii=False), encoding="utf-8")
    assert (
        run(["evaluate", str(source), "--by", "question_type", "--journal", str(tmp_path / "j.sqlite")]) == 0
    )
    text = capsys.readouterr().out
    assert "failure paths" in text
    assert "factual" in text
    assert "建议" in text


def test_lang_zh_gives_chinese_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Heads, paths, what was left out and who judged; no English head stays."""
    source = tmp_path / "set.jsonl"
    rows = [json.dumps(SWAPPED, ensure_ascii=False), json.dumps({"answer": "a"})]
    source.write_text("\n".join(rows), encoding="utf-8")
    flags = ["--lang", "zh", "--lenient", "--by", "lang", "--journal", str(tmp_path / "j.sqlite")]
    assert run(["evaluate", str(source), *flags]) == 0
    text = capsys.readouterr().out.replace("\n", "")
    for wanted in ("行，略去 1 个坏行", "指标", "覆盖率", "失败路径", "不忠实", "评判器 embedded"):
        assert wanted in text
    for head in ("metric", "scored", "failure paths", "rows"):
        assert head not in text


def test_what_a_cascade_decided_alone_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A copied answer: the summary says that a claim was decided without the model."""
    copied = "The ferry to the island leaves every morning at eight from the northern pier."
    source = tmp_path / "set.jsonl"
    row = {"question": "When does the ferry to the island leave?", "contexts": [copied], "answer": copied}
    source.write_text(json.dumps(row), encoding="utf-8")
    with FakeOpenAI().running() as server:
        judge = ["--judge", "cascade", "--model", "fake", "--base-url", server.url, "--processes", "1"]
        assert run(["evaluate", str(source), *judge, "--journal", str(tmp_path / "j.sqlite")]) == 0
        assert all(not seen.units for seen in server.requests)
    assert "1 claims decided without it" in " ".join(capsys.readouterr().out.split())


def test_an_app_that_answers_the_same_is_not_judged_again(evaluate: Evaluate, tmp_path: Path) -> None:
    """A second run is in other traces, which its rows name; what the journal has of them counts as known."""
    flags = ("--app", "tests.collector.evaluated_apps:streaming")
    _, first, before = evaluate(ASKED, *flags)
    _, second, after = evaluate(ASKED, *flags)
    assert "known_before" not in first
    assert second["known_before"] == len(ASKED)
    assert second["metrics"] == first["metrics"]
    assert {row["trace_id"] for row in before}.isdisjoint(row["trace_id"] for row in after)
    assert all(row["hops"][0]["span_id"] for row in after)


def test_rows_known_before_are_counted_and_doubles_are_not(evaluate: Evaluate) -> None:
    """Twice the same row is one judgement of this run; in the next run both were known."""
    assert "known_before" not in evaluate([REFUND, REFUND])[1]
    assert evaluate([REFUND, REFUND, SWAPPED])[1]["known_before"] == 2


def test_the_language_of_a_row_is_its_own(evaluate: Evaluate) -> None:
    """A set's own lang column makes the groups, also where its rows are judged as English."""
    japanese = DECLINED | {"lang": "ja"}
    _, summary, _ = evaluate([japanese, MADE_UP, REFUND | {"language": "zh"}], "--by", "lang")
    assert {name: group["n"] for name, group in summary["by"]["lang"].items()} == {"ja": 1, "en": 1, "zh": 1}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--by", "question_type,foo"), "--by: no row has foo; there are lang, question_type"),
        (("--compare", "nosuch.jsonl"), "--compare: nosuch.jsonl is no file"),
        (("--fail-under", "faithfulness=85%"), "with a number in 0..1"),
        (("--fail-under", "faithfulness=1.5"), "with a number in 0..1"),
    ],
)
def test_wrong_flags_are_told_before_anything_is_judged(
    flags: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that says what there is, or what would do; the journal is not even made."""
    source, journal = tmp_path / "set.jsonl", tmp_path / "j.sqlite"
    source.write_text(json.dumps(REFUND, ensure_ascii=False), encoding="utf-8")
    assert run(["evaluate", str(source), "--journal", str(journal), *flags]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1
    assert not journal.exists()


def test_eighty_columns_hold_the_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line a metric; the reasons stand below, the measures at several cut-offs as one."""
    monkeypatch.setenv("COLUMNS", "80")
    source = tmp_path / "set.jsonl"
    rows = [REFUND | {"gold_ids": ["x"], "documents": [{"id": "x", "text": CONTEXTS[0]}]}, DECLINED]
    source.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    flags = ["--by", "question_type", "--journal", str(tmp_path / "j.sqlite")]
    assert run(["evaluate", str(source), *flags]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if line.startswith(" hit@")] == [
        f"hit@{k}" for k in (1, 3, 5, 10)
    ]
    assert any("1× not_applicable(no_gold): mrr, hit@1,3,5,10" in line for line in lines)
    head = next(line for line in lines if "A·B·C·D" in line)
    assert {"faith", "relev", "prec", "recall", "correct", "refusal", "mrr"} <= set(head.split())
