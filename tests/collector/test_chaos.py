"""The chaos run, short: what was acknowledged is delivered, whatever breaks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHAOS = Path(__file__).parents[2] / "bench" / "chaos.py"


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_and_nothing_is_scored_twice(tmp_path: Path) -> None:
    """Kills, a breaking backend, a failing judge, a full disk, for a minute and a half."""
    run = subprocess.run(
        [
            sys.executable,
            str(CHAOS),
            "--seconds",
            "90",
            "--seed",
            "5",
            "--json",
            "--keep",
            str(tmp_path / "run"),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    result = json.loads(run.stdout)
    assert result["acknowledged"] > 0
    assert result["kills"] > 0
    assert result["scored"] > 0
    assert (result["lost"], result["unknown"], result["scored_twice"], result["died"]) == (0, 0, 0, 0), result
    assert result["holds"], result
