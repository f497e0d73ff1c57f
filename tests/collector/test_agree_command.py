"""``ragtrace agree`` as a user runs it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from servers.openai_chat import FakeOpenAI

from ragtrace_collector.cli import run

BASELINES = {"overlap", "tfidf", "recipe"}
SHARED = Path(os.environ.get("RAGTRACE_SHARED", Path(__file__).parents[3] / "shared")) / "data"
ROWS = [
    ("The kiln reaches 1,200 degrees.", 1),
    ("The kiln reaches 900 degrees.", 0),
    ("Clay is fired twice.", 1),
    ("Glass is blown by hand.", 0),
]


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "kiln.jsonl"
    context = "The kiln reaches 1,200 degrees. Clay is fired twice."
    rows = [{"contexts": [context], "claim": claim, "label": label} for claim, label in ROWS]
    rows.append({"label_kind": "answer_relevance", "answer": "a", "label": 1})
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_json_has_groups_and_overall(labels, capsys):
    """One object: the figures of each group, their mean with the pooled calibration error, the skipped rows."""
    assert run(["agree", str(labels), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (group,) = found["groups"]
    assert (group["source"], group["lang"], group["n"], group["auroc"]) == ("kiln", "en", 4, 1.0)
    assert set(group) >= {
        "auroc_low",
        "auroc_high",
        "balanced_accuracy",
        "balanced_accuracy_best",
        "kappa",
        "ece",
    }
    assert found["overall"]["ece_pooled"] is not None
    assert found["skipped"] == 1


def test_the_table_shows_figures_and_what_was_skipped(labels, capsys):
    """The terminal view has the group, its figures, the calibration table and a count of skipped rows."""
    assert run(["agree", str(labels), "--by", "source"]) == 0
    out = capsys.readouterr().out
    assert "kiln" in out
    assert "1 rows of other kinds skipped" in out
    assert "share true" in out


def test_a_broken_line_is_named(tmp_path, capsys):
    """A file that cannot be read ends with exit code 2 and file and line."""
    path = tmp_path / "broken.jsonl"
    path.write_text('{"claim": "x", "label": 1}\n{oops\n', encoding="utf-8")
    assert run(["agree", str(path)]) == 2
    assert "broken.jsonl:2" in capsys.readouterr().err


def test_word_overlap_stands_beside_the_judge(labels, capsys):
    """With --baselines each group has their AUROC over the same rows, and so has the table."""
    assert run(["agree", str(labels), "--baselines", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["groups"][0]["baselines"]) == set(found["overall"]["baselines"]) == BASELINES
    assert run(["agree", str(labels), "--baselines"]) == 0
    assert set(capsys.readouterr().out.split()) >= BASELINES


def test_eighty_columns_hold_every_table(labels, capsys, monkeypatch):
    """No column is cut, and the group keeps its name."""
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["agree", str(labels), "--baselines"]) == 0
    out = capsys.readouterr().out
    assert "…" not in out
    assert out.count("kiln") == 2


def test_a_cascade_says_what_it_decided_without_the_model(tmp_path, capsys):
    """Over HTTP: a copied claim, one that shares no word and is labelled true all the same, and one between
    them. Only that one is sent; shares and precision of both sides are in the JSON and in the table."""
    kiln = "The kiln of the pottery reaches 1,200 degrees on the second day of the firing."
    rows = [
        (kiln, 1),
        ("Violinists rehearse Mozart.", 1),
        ("The firing at the pottery lasts until Friday.", 0),
    ]
    path = tmp_path / "kiln.jsonl"
    lines = [json.dumps({"contexts": [kiln], "claim": claim, "label": label}) for claim, label in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    with FakeOpenAI().running() as server:
        flags = ["agree", str(path), "--judge", "cascade", "--model", "fake", "--base-url", server.url]
        assert run([*flags, "--json"]) == 0
        (group,) = json.loads(capsys.readouterr().out)["groups"]
        assert [list(seen.units.values()) for seen in server.requests] == [[rows[2][0]]]
        assert run(flags) == 0
    assert group["local"] == {
        "positive": pytest.approx(1 / 3),
        "positive_precision": 1.0,
        "negative": pytest.approx(1 / 3),
        "negative_precision": 0.0,
    }
    _, table = capsys.readouterr().out.split("Decided without the model")
    (line,) = [line.split() for line in table.splitlines() if line.lstrip().startswith("kiln")]
    assert line == ["kiln", "en", "66.7%", "33.3%", "100.0%", "33.3%", "0.0%"]


def test_other_judges_decide_nothing_locally(labels, capsys):
    """Without a cascade there is no such table, and the JSON says null."""
    assert run(["agree", str(labels), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["overall"]["local"] is None
    assert run(["agree", str(labels)]) == 0
    assert "without the model" not in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_plot_is_a_picture_in_the_format_of_its_ending(labels, tmp_path, capsys, ending):
    """By the real library, without a display."""
    path = tmp_path / f"reliability.{ending}"
    assert run(["agree", str(labels), "--plot", str(path)]) == 0
    assert path.read_bytes().startswith({"png": b"\x89PNG", "svg": b"<?xml"}[ending])


@pytest.mark.parametrize("name", ["reliability", "reliability.xyz", "no-folder/reliability.png"])
def test_a_plot_that_cannot_be_written_is_refused_before_judging(labels, tmp_path, capsys, name):
    """Exit code 2 and the reason, and nothing is judged for it."""
    assert run(["agree", str(labels), "--plot", str(tmp_path / name)]) == 2
    captured = capsys.readouterr()
    assert "--plot" in captured.err
    assert captured.out == ""


def test_files_without_a_row_to_judge_say_so(tmp_path, capsys):
    """An empty file, and one whose rows are of other kinds, end with exit code 2 and what to do."""
    empty, other = tmp_path / "empty.jsonl", tmp_path / "other.jsonl"
    empty.write_text("\n", encoding="utf-8")
    other.write_text('{"label_kind": "answer_relevance", "answer": "a", "label": 1}\n', encoding="utf-8")
    assert run(["agree", str(empty)]) == 2
    assert "no row" in capsys.readouterr().err
    assert run(["agree", str(other)]) == 2
    assert "label_kind must be one of" in capsys.readouterr().err
    assert run(["agree", str(tmp_path / "missing.jsonl")]) == 2
    assert "missing.jsonl" in capsys.readouterr().err


def test_one_row_has_no_ranking(labels, tmp_path, capsys):
    """What a single class cannot say is null, not 0 and not an error."""
    path = tmp_path / "one.jsonl"
    path.write_text(labels.read_text("utf-8").splitlines()[0], encoding="utf-8")
    assert run(["agree", str(path), "--json"]) == 0
    (group,) = json.loads(capsys.readouterr().out)["groups"]
    assert (group["n"], group["auroc"], group["balanced_accuracy"], group["kappa"]) == (1, None, None, None)
    assert run(["agree", str(path)]) == 0
    assert "–" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="the labelled sets are not on this machine")
@pytest.mark.parametrize(
    ("names", "least"),
    [
        (["qags_xsum", "wice_oracle", "q2_wow", "attr_hagrid", "attr_lfqa"], 0.78),
        (["ocnli", "xnli_zh", "pawsx_zh"], 0.655),
        (["clapnq", "rgb_rel_zh"], 0.79),
        (["openqa_nq301", "halluqa"], 0.79),
    ],
)
def test_the_embedded_judge_ranks_human_labels(names, least, capsys):
    """Mean AUROC on sets labelled by people stays where the documentation says it is."""
    assert run(["agree", *(str(SHARED / f"{name}.jsonl") for name in names), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["overall"]["auroc"] >= least
