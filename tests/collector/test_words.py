"""What people are told is there in both languages."""

import json
import string
from pathlib import Path

import pytest

from ragtrace_collector.cli import run
from ragtrace_collector.trouble import Trouble
from ragtrace_collector.words import agreement, progress, terms
from ragtrace_collector.words.language import judged_in, spoken

TABLES = {
    name: getattr(module, name)
    for module, names in (
        (terms, ("METRICS", "STATUSES", "CAUSES", "PHRASES", "HEADS", "SUMMARY")),
        (progress, ("DEMO", "PROGRESS")),
        (agreement, ("AGREEMENT",)),
    )
    for name in names
}


@pytest.mark.parametrize("name", TABLES)
def test_every_phrase_says_the_same_in_both_languages(name: str) -> None:
    """Each has English and Chinese, with the same values in them."""
    fields = string.Formatter()
    for key, phrase in TABLES[name].items():
        assert set(phrase) == {"en", "zh"}, key
        named = [{field for _, field, _, _ in fields.parse(text) if field} for text in phrase.values()]
        assert named[0] == named[1], key


def test_the_flag_goes_before_the_locale() -> None:
    """The locale speaks only where no language was asked for, and never for the interactions."""
    chinese = {"LANG": "zh_CN.UTF-8"}
    assert spoken("auto", chinese) == "zh"
    assert spoken("en", chinese) == "en"
    assert spoken("zh", {}) == "zh"
    assert judged_in("auto") == "auto"


def test_what_the_judge_could_not_do_is_told_in_chinese() -> None:
    """One line: how many, why, and what to change."""
    trouble = Trouble()
    trouble.add("unauthorized")
    trouble.add(None)
    assert trouble.line("http://u:p@judge/v1?k=1", "m", "zh") == (
        "评判器：2 次交互中有 1 次没有评分：http://judge/v1 拒绝了密钥（OPENAI_API_KEY）"
    )


def test_agreement_is_told_in_the_language_of_the_locale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Titles, heads and notes of ``ragtrace agree``."""
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    document = "Refunds are paid within 3 business days."
    rows = [
        {"contexts": [document], "claim": claim, "label": label}
        for claim, label in ((document, 1), ("Refunds are paid within 9 business days.", 0))
    ]
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert run(["agree", str(path)]) == 0
    told = capsys.readouterr().out
    assert "评判器与人工标注" in told
    assert "合并校准误差" in told
    assert run(["agree", str(path), "--lang", "en"]) == 0
    assert "Judge against labels" in capsys.readouterr().out
