"""``ragtrace agree`` as a user runs it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ragtrace_collector.cli import run

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
