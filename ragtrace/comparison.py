"""Two runs over one set: paired differences, so that "better" is a statement.

Each row is compared with itself, which takes the difficulty of the rows out of the noise. The interval of the
mean difference and its p-value are those of the paired t-test; the p-value is never below what a sign test
could reach with as many differing rows, so that a few lucky rows prove nothing. Over all metrics the words
``better`` and ``worse`` are given by Holm's procedure (1979): the chance of any false one is at most 5 %.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any, Literal

from ragtrace.dataset import record_key
from ragtrace.intervals import student_quantile, student_tails

Verdict = Literal["better", "worse", "no difference shown"]
LOWER_IS_BETTER = frozenset({"context_noise"})
LEVEL = 0.05
_EQUAL = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric in both runs, over the ``n`` rows that have a number in both.

    ``low`` and ``high`` bound the 95 % interval of ``difference`` = current - baseline; ``None`` where one
    row is all there is. ``p`` is of this metric alone, ``p_holm`` in view of all of them.
    """

    metric: str
    n: int
    n_left_out: int
    baseline: float
    current: float
    difference: float
    low: float | None
    high: float | None
    p: float
    p_holm: float = 1.0
    verdict: Verdict = "no difference shown"


Numbers = Mapping[str, float | None]
"""Metric → value of one row."""


class RowNumbers:
    """The numbers of a run's rows, under keys that name the rows in every run of the set."""

    def __init__(self, records: Iterable[Mapping[str, Any]] = ()) -> None:
        self.rows: dict[tuple[str, int], Numbers] = {}
        self.revisions: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        for record in records:
            self.add(record)

    def add(self, record: Mapping[str, Any]) -> None:
        """Take one row, as ``--rows`` writes it."""
        key = record_key(record)
        self._seen[key] += 1
        numbers = {name: outcome["value"] for name, outcome in record["outcomes"].items()}
        self.rows[key, self._seen[key]] = numbers
        self.revisions[record["judge"]["revision"]] += 1


def differences_of_sets(baseline: RowNumbers, keys: Sequence[str], revision: str) -> list[str]:
    """Why a run over the rows ``keys`` by the judge ``revision`` is not comparable with ``baseline``; empty
    where it is."""
    ours, theirs = Counter(keys), Counter(key for key, _ in baseline.rows)
    new, gone = (ours - theirs).total(), (theirs - ours).total()
    found = []
    if new or gone:
        found.append(f"the evaluation set changed: {new} rows are new or changed, {gone} are gone")
    others = [other for other in baseline.revisions if other != revision]
    if others:
        found.append(f"the baseline was judged by another revision ({', '.join(others)}; now {revision})")
    return found


def compare(baseline: RowNumbers, current: RowNumbers) -> tuple[Difference, ...]:
    """The difference of each metric that has a number in both runs, in the current run's order."""
    shared = [key for key in current.rows if key in baseline.rows]
    names = dict.fromkeys(name for key in shared for name in current.rows[key])
    found = []
    for name in names:
        both = [(baseline.rows[key].get(name), current.rows[key].get(name)) for key in shared]
        pairs = [(old, new) for old, new in both if old is not None and new is not None]
        some = [pair for pair in both if pair != (None, None)]
        if pairs:
            found.append(replace(paired(name, pairs), n_left_out=len(some) - len(pairs)))
    return with_verdicts(found)


def paired(metric: str, pairs: Sequence[tuple[float, float]]) -> Difference:
    """The mean difference of (baseline, current) ``pairs``, at least one, with interval and p-value."""
    deltas = [new - old for old, new in pairs]
    n, mean = len(deltas), fmean(deltas)
    low = high = None
    p = 1.0
    if n > 1:
        error = stdev(deltas) / math.sqrt(n)
        half = student_quantile(n - 1) * error
        low, high = mean - half, mean + half
        by_t = student_tails(mean / error, n - 1) if error > _EQUAL else 0.0
        differing = sum(abs(delta) > _EQUAL for delta in deltas)
        p = min(1.0, max(by_t, 2.0 ** (1 - differing)))
    baseline, current = (fmean(side) for side in zip(*pairs, strict=True))
    return Difference(metric, n, 0, baseline, current, mean, low, high, p)


def with_verdicts(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """Each difference with its p-value in view of all of them, and its verdict."""
    order = sorted(range(len(differences)), key=lambda place: differences[place].p)
    adjusted = [1.0] * len(differences)
    least = 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, differences[place].p * (len(differences) - rank)))
        adjusted[place] = least
    return tuple(
        replace(one, p_holm=p, verdict=_verdict(one, p)) for one, p in zip(differences, adjusted, strict=True)
    )


def _verdict(one: Difference, p: float) -> Verdict:
    if p > LEVEL or abs(one.difference) <= _EQUAL:
        return "no difference shown"
    rose = one.difference > 0
    return "better" if rose != (one.metric in LOWER_IS_BETTER) else "worse"
