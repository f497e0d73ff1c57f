"""How well scores agree with labels: ranking, decisions, calibration. Pure functions of plain sequences.

Labels are booleans, scores are in 0..1, and both have the same length. A figure that is not defined (one
class only, no rows) is ``None``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

BINS = 10
Z_95 = 1.959964


@dataclass(frozen=True, slots=True)
class Bin:
    """One line of a reliability table: scores in [low, high), how many, their mean, the share of true
    labels."""

    low: float
    high: float
    weight: float
    mean_score: float
    share_true: float


@dataclass(frozen=True, slots=True)
class Decided:
    """The shares of all rows that were decided true and false, and how often rightly; ``None`` where no row
    was."""

    positive: float
    positive_precision: float | None
    negative: float
    negative_precision: float | None

    @property
    def share(self) -> float:
        """The share of all rows that were decided."""
        return self.positive + self.negative


def decided(labels: Sequence[bool], decisions: Sequence[bool | None]) -> Decided:
    """What ``decisions`` made of the rows; ``None`` = left undecided."""
    true = [label for label, decision in zip(labels, decisions, strict=True) if decision is True]
    false = [not label for label, decision in zip(labels, decisions, strict=True) if decision is False]
    return Decided(
        len(true) / max(1, len(labels)),
        sum(true) / len(true) if true else None,
        len(false) / max(1, len(labels)),
        sum(false) / len(false) if false else None,
    )


def auroc(labels: Sequence[bool], scores: Sequence[float]) -> float | None:
    """The probability that a true row scores above a false one, ties counting half."""
    positives, negatives = sum(labels), len(labels) - sum(labels)
    if not positives or not negatives:
        return None
    ranks = _midranks(scores)
    above = sum(rank for rank, label in zip(ranks, labels, strict=True) if label)
    return (above - positives * (positives + 1) / 2) / (positives * negatives)


def auroc_error(area: float, positives: int, negatives: int) -> float:
    """Standard error of an area under the curve (Hanley & McNeil 1982)."""
    q1, q2 = area / (2 - area), 2 * area * area / (1 + area)
    variance = area * (1 - area) + (positives - 1) * (q1 - area**2) + (negatives - 1) * (q2 - area**2)
    return math.sqrt(max(0.0, variance) / (positives * negatives))


def balanced_accuracy(labels: Sequence[bool], decisions: Sequence[bool]) -> float | None:
    """Mean of the shares of true and of false rows that are decided rightly."""
    positives, negatives = sum(labels), len(labels) - sum(labels)
    if not positives or not negatives:
        return None
    pairs = list(zip(labels, decisions, strict=True))
    hits = sum(label and decided for label, decided in pairs)
    rejections = sum(not label and not decided for label, decided in pairs)
    return (hits / positives + rejections / negatives) / 2


def best_balanced_accuracy(labels: Sequence[bool], scores: Sequence[float]) -> tuple[float, float] | None:
    """The best balanced accuracy over all thresholds, and the threshold: rows at or above it are decided
    true.

    Optimistic, because it is chosen on the rows that it is measured on.
    """
    positives, negatives = sum(labels), len(labels) - sum(labels)
    if not positives or not negatives:
        return None
    best, threshold, hits, alarms = 0.5, 1.0, 0, 0
    ordered = sorted(zip(scores, labels, strict=True), reverse=True)
    for place, (score, label) in enumerate(ordered):
        hits, alarms = hits + label, alarms + (not label)
        if place + 1 < len(ordered) and ordered[place + 1][0] == score:
            continue
        accuracy = (hits / positives + 1 - alarms / negatives) / 2
        if accuracy > best:
            best, threshold = accuracy, score
    return best, threshold


def kappa(labels: Sequence[bool], decisions: Sequence[bool]) -> float | None:
    """Cohen's kappa: agreement beyond what the two shares of true would give by chance."""
    n = len(labels)
    if not n:
        return None
    observed = sum(label == decided for label, decided in zip(labels, decisions, strict=True)) / n
    true_labels, true_decisions = sum(labels) / n, sum(decisions) / n
    chance = true_labels * true_decisions + (1 - true_labels) * (1 - true_decisions)
    return (observed - chance) / (1 - chance) if chance < 1 else None


def reliability_table(
    labels: Sequence[bool], scores: Sequence[float], weights: Sequence[float] | None = None
) -> tuple[Bin, ...]:
    """Ten bins of equal width; empty ones are left out. ``weights`` default to 1 each."""
    given = weights or [1.0] * len(labels)
    sums = [[0.0, 0.0, 0.0] for _ in range(BINS)]
    for label, score, weight in zip(labels, scores, given, strict=True):
        cell = sums[min(BINS - 1, int(score * BINS))]
        cell[0] += weight
        cell[1] += weight * score
        cell[2] += weight * label
    return tuple(
        Bin(number / BINS, (number + 1) / BINS, weight, score / weight, true / weight)
        for number, (weight, score, true) in enumerate(sums)
        if weight
    )


def calibration_error(table: Sequence[Bin]) -> float | None:
    """Expected calibration error: the mean gap between score and share of true, weighted by the bins'
    weights."""
    total = sum(line.weight for line in table)
    if not total:
        return None
    return sum(line.weight * abs(line.mean_score - line.share_true) for line in table) / total


def _midranks(scores: Sequence[float]) -> list[float]:
    order = sorted(range(len(scores)), key=scores.__getitem__)
    ranks = [0.0] * len(scores)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and scores[order[end + 1]] == scores[order[start]]:
            end += 1
        for place in range(start, end + 1):
            ranks[order[place]] = (start + end) / 2 + 1
        start = end + 1
    return ranks
