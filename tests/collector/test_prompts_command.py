"""``ragtrace prompts``: show, export, and the way back into a judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragtrace.judges.prompting import load_prompts, prompt_files
from ragtrace_collector.cli import run


def test_show_prints_what_the_judge_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """One prompt in one language, with where it comes from and the digest of all."""
    assert run(["prompts", "show", "--language", "zh", "questions"]) == 0
    shown = capsys.readouterr().out
    assert "zh/questions.md (built in)" in shown
    assert load_prompts().texts["zh"]["questions"]["task"] in shown
    assert "en/" not in shown
    assert load_prompts().digest()[:12] in shown


def test_export_writes_a_folder_that_a_judge_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Changed files show as the user's own, and change the digest."""
    folder = tmp_path / "mine"
    assert run(["prompts", "export", str(folder)]) == 0
    assert {p.relative_to(folder).as_posix() for p in folder.rglob("*.md")} == {*prompt_files(), "README.md"}
    changed = folder / "en" / "grounding.md"
    changed.write_text(changed.read_text("utf-8").replace("Check units", "Check all units"), "utf-8")
    capsys.readouterr()
    assert run(["prompts", "show", "--prompts", str(folder), "--language", "en", "grounding"]) == 0
    shown = capsys.readouterr().out
    assert str(changed) in shown
    assert "Check all units" in shown
    assert load_prompts().digest()[:12] not in shown


def test_export_never_overwrites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second export is an error that names the file, and nothing is written."""
    own = tmp_path / "zh" / "reference.md"
    own.parent.mkdir()
    own.write_text("mine", "utf-8")
    assert run(["prompts", "export", str(tmp_path)]) == 2
    assert str(own) in capsys.readouterr().err
    assert [p.name for p in tmp_path.rglob("*.md")] == ["reference.md"]


def test_a_broken_folder_is_one_line_of_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As when a judge starts with it."""
    assert run(["prompts", "show", "--prompts", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.startswith("ragtrace: judge.prompts: no such folder")
