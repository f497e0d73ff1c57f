"""The pure arithmetic agrees with recorded reference values, save where it is better on purpose."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragtrace.metrics import ir
from ragtrace.metrics.answer_correctness import correctness, f_measure
from ragtrace.metrics.answer_relevancy import mean_relevancy
from ragtrace.metrics.context_precision import average_precision
from ragtrace.metrics.context_recall import context_recall
from ragtrace.metrics.faithfulness import faithfulness

SHARED = Path(os.environ.get("RAGTRACE_SHARED") or Path(__file__).parents[3].parent / "shared")
CLOSE = {"rel": 1e-9, "abs": 1e-9}


def rows(name: str) -> list[dict[str, Any]]:
    path = SHARED / "golden" / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


FORMULAS = [row for row in rows("ragas_formulas.jsonl") if "raises" not in str(row["expected"])]
RANKINGS = rows("ir_reference.jsonl")


def is_comparable(row: dict[str, Any]) -> bool:
    """Verdicts outside the enum never reach our arithmetic; where the reference has two ways, ours is the older."""
    inputs = row["inputs"]
    if {*inputs.get("verdicts", ()), *inputs.get("attributed", ())} - {0, 1}:
        return False
    if "collections" not in row["impl"]:
        return True
    flags = inputs.get("noncommittal", ())
    one_side_empty = 0 in (inputs.get("n_answer_statements"), inputs.get("n_reference_statements"))
    return not one_side_empty and any(flags) == (bool(flags) and all(flags))


def formula_cases(metric: str, needs: str) -> list[Any]:
    chosen = [
        row for row in FORMULAS if row["metric"] == metric and needs in row["inputs"] and is_comparable(row)
    ]
    skip = pytest.mark.skip(reason="the reference values are not here")
    return [pytest.param(row, id=row["id"]) for row in chosen] or [pytest.param({}, marks=skip)]


def check(row: dict[str, Any], value: float | None) -> None:
    if row["expected"] == "NaN":
        assert value is None
    else:
        assert value == pytest.approx(row["expected"], **CLOSE)


@pytest.mark.parametrize("row", formula_cases("faithfulness", "verdicts"))
def test_faithfulness(row: dict[str, Any]) -> None:
    """Supported / judged; nothing judged is no number."""
    check(row, faithfulness(row["inputs"]["verdicts"]))


@pytest.mark.parametrize("row", formula_cases("context_recall", "attributed"))
def test_context_recall(row: dict[str, Any]) -> None:
    """Attributed / all."""
    check(row, context_recall(row["inputs"]["attributed"]))


@pytest.mark.parametrize("row", formula_cases("context_precision", "verdicts"))
def test_context_precision_without_the_epsilon(row: dict[str, Any]) -> None:
    """The reference adds 1e-10 to a denominator; ours is exact, so they differ by that much and no more."""
    verdicts = row["inputs"]["verdicts"]
    value, hits = average_precision([bool(v) for v in verdicts]), sum(verdicts)
    assert value * hits / (hits + 1e-10) == pytest.approx(row["expected"], **CLOSE)
    assert (value == 1.0) == (hits > 0 and all(verdicts[:hits]))
    assert (value == 0.0) == (hits == 0)


@pytest.mark.parametrize("row", formula_cases("answer_relevancy", "cosines"))
def test_answer_relevancy(row: dict[str, Any]) -> None:
    """Mean cosine; negative ones count as 0; evasive only when all generated questions say so."""
    cosines = row["inputs"]["cosines"]
    flags = row["inputs"]["noncommittal"]
    value = mean_relevancy(cosines, [bool(flag) for flag in flags])
    if min(cosines, default=0) < 0 and not all(flags):
        assert value == pytest.approx(sum(max(0.0, c) for c in cosines) / len(cosines), **CLOSE)
    else:
        check(row, value)


@pytest.mark.parametrize("row", formula_cases("answer_correctness", "tp"))
def test_answer_correctness(row: dict[str, Any]) -> None:
    """Weighted F and similarity; a negative similarity counts as 0; without claims there is no number."""
    i = row["inputs"]
    weights = tuple(i["weights"])
    value = correctness((i["tp"], i["fp"], i["fn"]), i["similarity"], weights, i["beta"])
    if not i["tp"] + i["fp"] + i["fn"]:
        assert value is None
    elif i["similarity"] < 0:
        assert value == pytest.approx(row["expected"] - weights[1] * i["similarity"] / sum(weights), **CLOSE)
    else:
        check(row, value)


@pytest.mark.parametrize("row", formula_cases("fbeta", "tp"))
def test_f_measure(row: dict[str, Any]) -> None:
    """F-beta of counts."""
    i = row["inputs"]
    check(row, f_measure(i["tp"], i["fp"], i["fn"], i["beta"]))


MEASURES: dict[str, Callable[[list[str], dict[str, float], int], float | None]] = {
    "hit": ir.hit_at_k,
    "precision": ir.precision_at_k,
    "recall": ir.recall_at_k,
    "ndcg": ir.ndcg_at_k,
    "mrr": ir.mrr_at_k,
}


@pytest.mark.parametrize("measure", MEASURES)
def test_retrieval_measures(measure: str) -> None:
    """Every ranking, at every cut-off."""
    if not RANKINGS:
        pytest.skip("the reference values are not here")
    for row in RANKINGS:
        for cut, expected in row["expected"].items():
            if not cut.startswith("@"):
                continue
            value = MEASURES[measure](row["retrieved"], row["gold"], int(cut[1:]))
            if (
                expected is None
                or expected[measure] is None
                or not any(grade > 0 for grade in row["gold"].values())
            ):
                assert value is None, row["id"]
            else:
                assert value == pytest.approx(expected[measure], **CLOSE), (row["id"], cut)


def test_reciprocal_rank_without_a_cut_off() -> None:
    """The whole list counts."""
    if not RANKINGS:
        pytest.skip("the reference values are not here")
    for row in RANKINGS:
        expected = row["expected"].get("mrr_full")
        if any(grade > 0 for grade in row["gold"].values()):
            assert ir.mrr(row["retrieved"], row["gold"]) == pytest.approx(expected, **CLOSE), row["id"]
        else:
            assert ir.mrr(row["retrieved"], row["gold"]) is None
