"""What ``make fuzz`` feeds for ten minutes each, on its seeds alone: so that the targets stay runnable."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"
NAMES = ("http", "grpc", "extract", "citations", "replies")


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The targets by name."""
    monkeypatch.syspath_prepend(str(BENCH))
    found: dict[str, Any] = importlib.import_module("fuzz_targets").TARGETS
    return found


def test_every_target_is_run_by_the_fuzzer(targets: dict[str, Any]) -> None:
    """And by the test below."""
    assert tuple(targets) == NAMES == importlib.import_module("fuzz").NAMES


@pytest.mark.parametrize("name", NAMES)
def test_no_seed_and_no_piece_of_one_breaks_a_reader(name: str, targets: dict[str, Any]) -> None:
    """Whole, cut in half, turned round, and with its bytes inverted."""
    target = targets[name]
    seeds = list(target.seeds())[::4]
    assert seeds
    for seed in seeds:
        for data in (
            seed,
            seed[: len(seed) // 2],
            seed[:1] + seed[:0:-1],
            bytes(255 - byte for byte in seed),
        ):
            target.run(data)
