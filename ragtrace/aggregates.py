"""Many evaluated rows → means with intervals and coverage, failure paths, breakdowns.

Works on records as :func:`ragtrace.records.evaluation_to_dict` makes them, one at a time, and keeps their
numbers only.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragtrace.intervals import mean_interval
from ragtrace.model import Status
from ragtrace.set_labels import label

_FAILED = (Status.JUDGE_ERROR, Status.TIMED_OUT, Status.SKIPPED)
NO_LABEL = "(none)"
"""The value of a breakdown for rows without that label."""

Json = dict[str, Any]


@dataclass(slots=True)
class MetricTally:
    """One metric over a group of rows: its values, and the rows by status and by reason."""

    values: array[float] = field(default_factory=lambda: array("d"))
    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Mapping[str, Any]) -> None:
        """Count one outcome."""
        self.statuses[outcome["status"]] += 1
        if outcome["value"] is not None:
            self.values.append(outcome["value"])
        else:
            self.reasons[f"{outcome['status']}: {outcome['reason']}"] += 1

    @property
    def coverage(self) -> float | None:
        """Rows with a number / rows that should have one; ``None`` where the metric applies to no row."""
        due = len(self.values) + sum(self.statuses[status] for status in _FAILED)
        return len(self.values) / due if due else None

    def as_json(self) -> Json:
        """``mean, low, high`` (the 95 % interval), ``n_scored, coverage, statuses, reasons``."""
        found = mean_interval(self.values)
        return {
            "mean": found.mean if found else None,
            "low": found.low if found else None,
            "high": found.high if found else None,
            "n_scored": len(self.values),
            "coverage": self.coverage,
            "statuses": dict(self.statuses),
            "reasons": dict(self.reasons),
        }


@dataclass(slots=True)
class Group:
    """A group of rows. ``paths`` counts A to D, and the cause of the rows that are on none of them."""

    n: int = 0
    metrics: dict[str, MetricTally] = field(default_factory=dict)
    paths: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)

    def add(self, record: Mapping[str, Any]) -> None:
        """Count one row."""
        self.n += 1
        for name, outcome in record["outcomes"].items():
            self.metrics.setdefault(name, MetricTally()).add(outcome)
        diagnosis = record["diagnosis"]
        self.paths[diagnosis["path"] or diagnosis["cause"]] += 1
        self.causes[diagnosis["cause"]] += 1

    def as_json(self) -> Json:
        """``n, metrics, paths``; every path has its count, and so has every other cause that occurred."""
        return {
            "n": self.n,
            "metrics": {name: tally.as_json() for name, tally in self.metrics.items()},
            "paths": {**dict.fromkeys("ABCD", 0), **self.paths},
            "causes": dict(self.causes.most_common()),
        }


@dataclass(slots=True)
class Aggregate:
    """A whole set, and its breakdowns by the ``fields`` that were asked for."""

    fields: Sequence[str] = ()
    whole: Group = field(default_factory=Group)
    by: dict[str, dict[str, Group]] = field(default_factory=dict)
    judge: Json = field(default_factory=dict)

    def add(self, record: Mapping[str, Any]) -> None:
        """Count one row."""
        self.whole.add(record)
        for name in self.fields:
            value = label(record, name)
            groups = self.by.setdefault(name, {})
            groups.setdefault(NO_LABEL if value is None else value, Group()).add(record)
        self._add_judge(record["judge"])

    def _add_judge(self, judge: Mapping[str, Any]) -> None:
        if not self.judge:
            self.judge = {name: judge[name] for name in ("kind", "model", "revision")}
        for name in ("calls", "input_tokens", "output_tokens", "estimated_calls", "local_claims"):
            # Records of earlier releases do not say what was estimated or decided without a model.
            self.judge[name] = self.judge.get(name, 0) + judge.get(name, 0)

    def as_json(self) -> Json:
        """The summary that ``ragtrace evaluate --json`` prints."""
        whole = self.whole.as_json()
        by = {
            name: {value: group.as_json() for value, group in sorted(groups.items())}
            for name, groups in self.by.items()
        }
        return {
            "n": whole["n"],
            "metrics": whole["metrics"],
            "by": by,
            "paths": whole["paths"],
            "causes": whole["causes"],
            "judge": self.judge,
        }
