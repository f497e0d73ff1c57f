"""Fixtures of the collector's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from collector.collector_rig import JUDGES


@pytest.fixture
def judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module ``own_judges`` that the worker process can import → its folder."""
    (tmp_path / "own_judges.py").write_text(JUDGES)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def _an_english_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    """What commands say does not depend on the machine that runs the tests."""
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
