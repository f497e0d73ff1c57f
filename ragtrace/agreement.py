"""A judge against people's labels: how well judged rows agree with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from ragtrace import reliability
from ragtrace.baselines import baseline_scores
from ragtrace.judged_rows import JudgedRow
from ragtrace.judges.base import Usage


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement on a group of rows. Figures are over the rows with a score; ``coverage`` is their share.

    ``balanced_accuracy`` is at the judge's own threshold, ``balanced_accuracy_best`` at the best one for
    these very rows (optimistic). ``ece`` is the expected calibration error in ten bins. ``baselines`` holds
    the AUROC of each baseline over the same rows. ``local`` is what a cascade decided without the model.
    """

    n: int
    auroc: float | None
    auroc_low: float | None
    auroc_high: float | None
    balanced_accuracy: float | None
    balanced_accuracy_best: float | None
    kappa: float | None
    ece: float | None
    coverage: float
    baselines: Mapping[str, float | None] = field(default_factory=dict)
    local: reliability.Decided | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """All groups; ``overall`` is the mean over groups, each weighing the same. ``ece_pooled`` is the
    calibration error of all rows together, each group weighing the same; ``table`` is the reliability table
    behind it."""

    groups: tuple[tuple[Mapping[str, str], Agreement], ...]
    overall: Agreement
    ece_pooled: float | None
    table: tuple[reliability.Bin, ...]
    usage: Usage


def with_baselines(rows: Sequence[JudgedRow]) -> list[JudgedRow]:
    """The rows with what word overlap says of them."""
    scores = baseline_scores([judged.row for judged in rows])
    return [replace(judged, baselines=found) for judged, found in zip(rows, scores, strict=True)]


def report(rows: Sequence[JudgedRow]) -> Report:
    """The agreement of each group and of all."""
    grouped: dict[tuple[tuple[str, str], ...], list[JudgedRow]] = defaultdict(list)
    for row in rows:
        grouped[tuple(row.row.groups.items())].append(row)
    groups = tuple((dict(key), measure(members)) for key, members in grouped.items())
    table = _pooled(list(grouped.values()))
    usage = sum((row.usage for row in rows), Usage())
    return Report(
        groups, _mean([found for _, found in groups]), reliability.calibration_error(table), table, usage
    )


def measure(rows: Sequence[JudgedRow]) -> Agreement:
    """The agreement on one group of rows."""
    scored = [(r.row.label, r.score, bool(r.decision)) for r in rows if r.score is not None]
    labels, scores = [label for label, _, _ in scored], [score for _, score, _ in scored]
    decisions = [decision for _, _, decision in scored]
    area = reliability.auroc(labels, scores)
    error = reliability.auroc_error(area, sum(labels), len(labels) - sum(labels)) if area is not None else 0.0
    best = reliability.best_balanced_accuracy(labels, scores)
    return Agreement(
        n=len(rows),
        auroc=area,
        auroc_low=None if area is None else max(0.0, area - reliability.Z_95 * error),
        auroc_high=None if area is None else min(1.0, area + reliability.Z_95 * error),
        balanced_accuracy=reliability.balanced_accuracy(labels, decisions),
        balanced_accuracy_best=best[0] if best else None,
        kappa=reliability.kappa(labels, decisions),
        ece=reliability.calibration_error(reliability.reliability_table(labels, scores)),
        coverage=len(scored) / len(rows) if rows else 0.0,
        baselines=_baselines([row for row in rows if row.score is not None]),
        local=_local(rows),
    )


def _local(rows: Sequence[JudgedRow]) -> reliability.Decided | None:
    """What was decided without the model; ``None`` where the judge is no cascade."""
    if not any(row.local is not None for row in rows):
        return None
    return reliability.decided(
        [row.row.label for row in rows], [row.decision if row.local else None for row in rows]
    )


def _baselines(rows: Sequence[JudgedRow]) -> dict[str, float | None]:
    names = dict.fromkeys(name for row in rows for name in row.baselines)
    return {name: _area(name, [row for row in rows if name in row.baselines]) for name in names}


def _area(name: str, rows: Sequence[JudgedRow]) -> float | None:
    return reliability.auroc([row.row.label for row in rows], [row.baselines[name] for row in rows])


def _mean(groups: Sequence[Agreement]) -> Agreement:
    """Mean over groups; the interval is that of a mean of independent areas."""
    areas = [group for group in groups if group.auroc is not None]
    mean = _fmean([group.auroc for group in areas])
    spread = [((group.auroc_high or 0) - (group.auroc_low or 0)) / 2 for group in areas]
    half = (sum(s * s for s in spread) ** 0.5 / len(spread)) if spread else 0.0
    return Agreement(
        n=sum(group.n for group in groups),
        auroc=mean,
        auroc_low=None if mean is None else max(0.0, mean - half),
        auroc_high=None if mean is None else min(1.0, mean + half),
        balanced_accuracy=_fmean([group.balanced_accuracy for group in groups]),
        balanced_accuracy_best=_fmean([group.balanced_accuracy_best for group in groups]),
        kappa=_fmean([group.kappa for group in groups]),
        ece=_fmean([group.ece for group in groups]),
        coverage=_fmean([group.coverage for group in groups]) or 0.0,
        baselines={
            name: _fmean([group.baselines.get(name) for group in groups])
            for name in dict.fromkeys(name for group in groups for name in group.baselines)
        },
        local=_mean_decided([group.local for group in groups if group.local is not None]),
    )


def _mean_decided(groups: Sequence[reliability.Decided]) -> reliability.Decided | None:
    """All groups together, each weighing the same, so that the precision is that of all that was decided."""
    if not groups:
        return None
    positive, negative = fmean(one.positive for one in groups), fmean(one.negative for one in groups)
    right = fmean(one.positive * (one.positive_precision or 0.0) for one in groups)
    rejected = fmean(one.negative * (one.negative_precision or 0.0) for one in groups)
    return reliability.Decided(
        positive, right / positive if positive else None, negative, rejected / negative if negative else None
    )


def _fmean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _pooled(groups: Sequence[Sequence[JudgedRow]]) -> tuple[reliability.Bin, ...]:
    labels: list[bool] = []
    scores: list[float] = []
    weights: list[float] = []
    for group in groups:
        scored = [row for row in group if row.score is not None]
        labels += [row.row.label for row in scored]
        scores += [row.score for row in scored if row.score is not None]
        weights += [1.0 / len(scored) for _ in scored]
    return reliability.reliability_table(labels, scores, weights)
