"""Fit the bounds of the cascade: ``python bench/fit_cascade.py DATA_DIRECTORY [--date YYYY-MM-DD]``.

DATA_DIRECTORY holds the labelled sets of ``bench/fit_embedded.py``; of them only the support sets that it
fits on are read, because their licences allow fitted numbers to be shipped. The probabilities are those of
the judge that ships. For each target precision and side the widest bound is kept from which outwards the
target is met whichever set is left out, all sets weighing the same: neither a big set nor an easy one can
carry the others. A target that nothing meets is left out. Writes ``ragtrace/judges/cascade.json`` and prints
what the bound fitted on the other sets does to each set.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from fit_embedded import SUPPORT

from ragtrace.judges._local.claims import read_claim
from ragtrace.judges._local.corpus import Corpus
from ragtrace.judges._local.passages import Reader
from ragtrace.judges._local.support import judge_claim
from ragtrace.judges.embedded import EmbeddedJudge

TARGET = Path(__file__).parents[1] / "ragtrace" / "judges" / "cascade.json"
PRECISIONS = (0.8, 0.85, 0.9, 0.95)
LOW_GRID, HIGH_GRID = np.arange(0.05, 0.40, 0.01), np.arange(0.95, 0.60, -0.01)
"""Bounds that are tried, from the outside in."""
FEWEST = 100
"""So many claims must be decided before a precision can be told."""

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class Labelled:
    """A set: the judge's probability that each claim is supported, and whether people say so."""

    name: str
    probability: np.ndarray
    label: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--date", default=datetime.now(UTC).date().isoformat())
    arguments = parser.parse_args()
    bounds: dict[str, dict[str, Bounds]] = {}
    for language, names in SUPPORT.items():
        sets = [judged(arguments.data / f"{name}.jsonl") for name in names]
        fitted = {str(target): fit(sets, target) for target in PRECISIONS}
        bounds[language] = {target: found for target, found in fitted.items() if found != (None, None)}
        show(language, sets)
    table = {
        "about": "Fitted by bench/fit_cascade.py; numbers only, no text of the data.",
        "date": arguments.date,
        "judge": EmbeddedJudge().revision,
        "data": {name: licence for sets in SUPPORT.values() for name, licence in sets.items()},
        "bounds": bounds,
    }
    TARGET.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def judged(path: Path) -> Labelled:
    """The set of a file, judged."""
    probabilities, labels = [], []
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            corpus = Corpus(
                [Reader(0).read(text, rank) for rank, text in enumerate(row["contexts"], start=1)]
            )
            probabilities.append(judge_claim(read_claim(row["claim"]), corpus).probability)
            labels.append(row["label"] >= 0.5)
    return Labelled(path.stem, np.array(probabilities), np.array(labels))


def fit(sets: Sequence[Labelled], target: float) -> Bounds:
    """[low, high] for ``target``; ``None`` where a side has no bound that keeps it."""
    low = widest([float(t) for t in LOW_GRID], sets, False, target)
    high = widest([float(t) for t in HIGH_GRID], sets, True, target)
    return low, high


def widest(grid: Sequence[float], sets: Sequence[Labelled], supported: bool, target: float) -> float | None:
    """The last bound of ``grid``, which goes from the outside in, before the target is missed."""
    kept: float | None = None
    for bound in grid:
        if sum(int(chosen(one, bound, supported).sum()) for one in sets) < FEWEST:
            continue
        if worst_precision(sets, bound, supported) < target:
            break
        kept = round(bound, 2)
    return kept


def worst_precision(sets: Sequence[Labelled], bound: float, supported: bool) -> float:
    """The lowest precision of the sets together, each weighing the same, with any one of them left out."""
    return min(precision([*sets[:n], *sets[n + 1 :]], bound, supported) for n in range(len(sets)))


def precision(sets: Sequence[Labelled], bound: float, supported: bool) -> float:
    """The share of what is decided that people say too; 0 where nothing is decided."""
    decided = right = 0.0
    for one in sets:
        inside = chosen(one, bound, supported)
        decided += float(inside.mean())
        right += float((inside & (one.label == supported)).mean())
    return right / decided if decided else 0.0


def chosen(one: Labelled, bound: float, supported: bool) -> np.ndarray:
    """Which claims of a set are decided."""
    inside: np.ndarray = one.probability >= bound if supported else one.probability <= bound
    return inside


def show(language: str, sets: Sequence[Labelled]) -> None:
    """Print each set's share and precision with the bounds fitted on all others."""
    for target in PRECISIONS:
        for n, one in enumerate(sets):
            low, high = fit([*sets[:n], *sets[n + 1 :]], target)
            sides = [
                f"{side} {chosen(one, bound, flag).mean():.1%} at {precision([one], bound, flag):.2f}"
                for side, bound, flag in (("supported", high, True), ("unsupported", low, False))
                if bound is not None
            ]
            print(f"{language} {target} {one.name:14} {low} {high}  {', '.join(sides) or 'nothing decided'}")


if __name__ == "__main__":
    main()
