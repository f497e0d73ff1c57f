"""``ragtrace score`` as its user calls it."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ragtrace.testing import make_trace
from ragtrace_collector import otlp
from ragtrace_collector.cli import run

ROWS = [
    {
        "question": "How long do refunds take?",
        "contexts": ["Refunds are paid within 3 business days."],
        "answer": "Refunds are paid within 3 business days [1].",
    },
    {
        "question": "退款多久到账？",
        "contexts": ["退款在3个工作日内到账。"],
        "answer": "退款在9个工作日内到账【1】。",
    },
    {"question": "Who?", "contexts": [], "answer": "The mayor of Paris is 60 years old."},
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS), encoding="utf-8")
    return path


def test_json_is_one_object_a_line_in_order(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every interaction gets its outcomes, claims and diagnosis; numbers never hide a status."""
    assert run(["score", "--json", str(rows)]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["question"] for record in records] == [row["question"] for row in ROWS]
    assert records[0]["diagnosis"]["cause"] == "ok"
    assert records[1]["diagnosis"]["cause"] == "contradicts_documents"
    assert records[1]["language"] == "zh"
    assert records[2]["outcomes"]["faithfulness"] == records[2]["outcomes"]["faithfulness"] | {
        "status": "scored",
        "value": 0.0,
    }
    assert records[2]["diagnosis"]["cause"] == "retrieval_missed"
    for record in records:
        for outcome in record["outcomes"].values():
            assert (outcome["value"] is not None) == (outcome["status"] == "scored")


def test_extract_only_has_no_outcomes(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is judged, everything that was found is shown."""
    assert run(["score", "--extract-only", "--json", str(rows)]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all("outcomes" not in record for record in records)
    assert records[2]["documents"] == []


def test_the_table_shows_scores_means_and_coverage(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """People get a row an interaction, and means with what is missing from them."""
    assert run(["score", str(rows)]) == 0
    text = capsys.readouterr().out
    assert "contradicts_documents" in text
    assert "3 of 3" in text
    assert "no_reference" in text


def test_bad_lines_give_code_2_and_the_others_are_scored(
    tmp_path: Path, rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bad line is named on stderr."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{oops\n")
    assert run(["score", "--json", str(bad), str(rows)]) == 2
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == len(ROWS)
    assert f"{bad}:1: not JSON" in captured.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["score"],
        ["score", "--judge", "openai", "x.jsonl"],
        ["score", "--model", "m", "x.jsonl"],
        ["score", "--judge", "no.such:Judge", "x.jsonl"],
        ["score", "--lang", "fr", "x.jsonl"],
        ["scores"],
    ],
)
def test_bad_usage_is_code_2_in_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong usage says what to do, without a stack trace."""
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert error
    assert "Traceback" not in error


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """The front door names every command."""
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ("demo", "collector", "score"))


def test_markup_and_escapes_of_users_are_only_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A question cannot style the table, break it, or steer the terminal."""
    path = tmp_path / "odd.jsonl"
    rows = [
        {"question": "what is [/foo]?", "contexts": ["x"], "answer": "y [/b]"},
        {"question": "\x1b[31mred"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert run(["score", str(path)]) == 0
    text = capsys.readouterr().out
    assert "[/foo]?" in text
    assert "\x1b[31m" not in text


def test_tables_number_the_rows_and_speak_chinese(tmp_path, capsys):
    """Each row has its place in the input; --lang zh turns heads, diagnosis and summary into Chinese."""
    path = tmp_path / "rows.jsonl"
    row = {"question": "退款多久到账?", "contexts": ["退款 3 天到账。"], "answer": "退款 9 天到账。"}
    path.write_text("\n".join([json.dumps(row, ensure_ascii=False)] * 2), encoding="utf-8")
    assert run(["score", str(path)]) == 0
    english = capsys.readouterr().out
    assert [line.split()[0] for line in english.splitlines() if "退款" in line] == ["1", "2"]
    assert run(["score", str(path), "--lang", "zh"]) == 0
    chinese = capsys.readouterr().out
    assert "与文档矛盾" in chinese
    assert "共 2 次交互" in chinese
    assert "question" not in chinese


def test_a_context_that_is_no_document_is_named(tmp_path, capsys):
    """Numbers in place of texts: which field, which item, what it is."""
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"question": "q", "answer": "a", "contexts": [1, 2]}), encoding="utf-8")
    assert run(["score", str(path)]) == 2
    assert (
        "contexts must be a list of texts or objects, each with its text: the first"
        in capsys.readouterr().err
    )


FAILED = [
    {
        "question": "How long do refunds take?",
        "contexts": ["Refunds are paid within 5 business days."],
        "answer": "Refunds are paid within 7 business days.",
    },
    {
        "question": "退款多久到账？",
        "contexts": ["退款在3个工作日内到账。"],
        "answer": "退款在9个工作日内到账。",
    },
    {"question": "Who is the mayor?", "contexts": [], "answer": "The mayor of Paris is 60 years old."},
]


def _written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return path


def test_below_the_table_each_failure_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Number, cause and first explanation, in the interaction's language; nothing of what is ok."""
    path = _written(tmp_path / "rows.jsonl", [ROWS[0], *FAILED])
    assert run(["score", str(path)]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    told = next(line for line in lines if line.startswith("2  contradicts_documents"))
    assert "the answer says 7 business days" in told
    assert any(line.startswith("3  与文档矛盾  回答说 9个工作日") for line in lines)
    assert any(line.startswith("4  retrieval_missed  nothing was retrieved") for line in lines)
    assert not any(line.startswith("1  ok") for line in lines)


def test_the_tree_shows_every_claim_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--tree is the view of the demo, an interaction at a time, above the tables."""
    path = _written(tmp_path / "rows.jsonl", FAILED)
    assert run(["score", "--tree", str(path)]) == 0
    text = capsys.readouterr().out
    assert "✗ Refunds are paid within 7 business days." in text
    assert "the answer says 7 business days, document [1] says" in " ".join(text.split())
    assert "建议：" in text
    assert "2  与文档矛盾" not in text


def test_a_tree_of_spans_names_their_stages(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Where spans were read, the tree has their names and models."""
    path = tmp_path / "spans.pb"
    path.write_bytes(otlp.join(otlp.encode_span(span) for span in make_trace()))
    assert run(["score", "--tree", str(path)]) == 0
    tree = capsys.readouterr().out
    assert "● ask" in tree
    assert "└─ generate" in tree


@pytest.mark.parametrize("flag", ["--json", "--as-rows", "--extract-only"])
def test_a_tree_goes_with_nothing_for_machines(
    flag: str, rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two ways to print one thing are refused instead of one being dropped silently."""
    assert run(["score", "--tree", flag, str(rows)]) == 2
    assert "--tree" in capsys.readouterr().err


@pytest.mark.parametrize("body", [b"", b"\x00\x01\x02", None])
def test_where_nothing_can_be_read_only_the_reason_is_said(
    body: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Empty, binary and missing files get no empty tables."""
    path = tmp_path / "odd.jsonl"
    if body is not None:
        path.write_bytes(body)
    assert run(["score", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert str(path) in captured.err


@pytest.mark.parametrize(
    ("locale", "flags", "words"),
    [
        ("zh_CN.UTF-8", [], "共 3 次交互"),
        ("zh_CN.UTF-8", ["--lang", "en"], "3 interactions"),
        ("C.UTF-8", [], "3 interactions"),
    ],
)
def test_the_locale_gives_the_language_of_the_tables(
    locale: str,
    flags: list[str],
    words: str,
    rows: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Heads and summaries follow the locale; an explicit --lang wins."""
    monkeypatch.setenv("LC_ALL", locale)
    assert run(["score", *flags, str(rows)]) == 0
    assert words in capsys.readouterr().out


def test_a_row_that_takes_too_long_is_timed_out_and_the_next_is_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row of thousands of sentences does not take the run."""
    text = " ".join(f"Order K{number} is settled within {number} hours." for number in range(2000))
    long = {"question": "When is K7 settled?", "contexts": [text], "answer": text}
    path = _written(tmp_path / "long.jsonl", [long, ROWS[0]])
    assert run(["score", "--json", "--row-timeout", "0.1", str(path)]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first["outcomes"]["faithfulness"]["status"] == "timed_out"
    assert second["outcomes"]["faithfulness"]["value"] == 1.0


def test_a_terminal_is_told_how_far_it_is(rows: Path) -> None:
    """The bar counts the rows; what is piped on holds nothing of it."""
    terminal, its_end = pty.openpty()
    command = [sys.executable, "-m", "ragtrace_collector", "score", "--json", str(rows)]
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=its_end, env=environment) as process:
        os.close(its_end)
        shown = _read_to_the_end(terminal)
        out, _ = process.communicate(timeout=60)
    os.close(terminal)
    assert process.returncode == 0
    assert "3/3" in shown
    assert len([json.loads(line) for line in out.splitlines()]) == 3


def _read_to_the_end(terminal: int) -> str:
    """What is written on a terminal until nobody holds its other end any more, which is an error to read."""
    found = b""
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 65536):
            found += part
    return found.decode()


def test_a_question_may_be_a_conversation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list of messages is read as ``ragtrace evaluate`` reads it: its last question, and the turns before."""
    messages = [
        {"role": "user", "content": "Do you take returns?"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "How long do refunds take?"},
    ]
    path = _written(tmp_path / "rows.jsonl", [{**ROWS[0], "question": messages}])
    assert run(["score", "--json", str(path)]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["question"] == "How long do refunds take?"
    assert record["history"] == [{"question": "Do you take returns?", "answer": "Yes."}]
