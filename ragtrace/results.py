"""What an evaluation of a set found: means that never come without their coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ragtrace.model import Evaluation, Outcome, Status
from ragtrace.records import evaluation_to_dict

_FAILED = (Status.JUDGE_ERROR, Status.TIMED_OUT, Status.SKIPPED)
"""Statuses of rows that should have had a number."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One metric over a set.

    ``mean`` is over the scored rows, ``None`` where there are none. ``coverage`` is the share of rows
    with a number among those that should have one: rows that failed lower it, rows to which the metric
    does not apply do not. ``reasons`` counts why rows have no number, as ``status: reason``.
    """

    metric: str
    mean: float | None
    statuses: Mapping[Status, int]
    reasons: Mapping[str, int]

    @property
    def scored(self) -> int:
        """Rows with a number."""
        return self.statuses.get(Status.SCORED, 0)

    @property
    def failed(self) -> int:
        """Rows that should have a number and have none."""
        return sum(self.statuses.get(status, 0) for status in _FAILED)

    @property
    def coverage(self) -> float | None:
        """scored / (scored + failed), ``None`` where the metric applies to no row."""
        due = self.scored + self.failed
        return self.scored / due if due else None


class Results(Mapping[str, float | None]):
    """A mapping from metric to mean, with all that stands behind it. ``rows`` are in the input's order."""

    def __init__(self, rows: tuple[Evaluation, ...]) -> None:
        self.rows = rows

    @cached_property
    def summaries(self) -> Mapping[str, Summary]:
        """Metric → its summary."""
        by_metric: dict[str, list[Outcome]] = {}
        for row in self.rows:
            for metric, outcome in row.outcomes.items():
                by_metric.setdefault(metric, []).append(outcome)
        return {metric: summarise(metric, outcomes) for metric, outcomes in by_metric.items()}

    @property
    def coverage(self) -> Mapping[str, float | None]:
        """Metric → share of rows with a number among those that should have one."""
        return {metric: summary.coverage for metric, summary in self.summaries.items()}

    @property
    def statuses(self) -> Mapping[str, Mapping[Status, int]]:
        """Metric → status → rows."""
        return {metric: summary.statuses for metric, summary in self.summaries.items()}

    @property
    def reasons(self) -> Mapping[str, Mapping[str, int]]:
        """Metric → why rows have no number → rows."""
        return {metric: summary.reasons for metric, summary in self.summaries.items()}

    @property
    def diagnoses(self) -> Mapping[str, int]:
        """Cause → rows, the most frequent first."""
        return dict(Counter(row.diagnosis.cause.value for row in self.rows).most_common())

    def to_list(self) -> list[dict[str, Any]]:
        """The rows as JSON objects, as ``ragtrace score --json`` prints them."""
        return [evaluation_to_dict(row) for row in self.rows]

    def to_pandas(self) -> Any:
        """A pandas DataFrame: question, answer, one column a metric (None where it has no number), diagnosis.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas

        records = [
            {
                "question": row.interaction.question,
                "answer": row.interaction.answer,
                **{metric: outcome.value for metric, outcome in row.outcomes.items()},
                "diagnosis": row.diagnosis.cause.value,
            }
            for row in self.rows
        ]
        return pandas.DataFrame(records).astype(dict.fromkeys(self.summaries, object))

    def __getitem__(self, metric: str) -> float | None:
        return self.summaries[metric].mean

    def __iter__(self) -> Iterator[str]:
        return iter(self.summaries)

    def __len__(self) -> int:
        return len(self.summaries)

    def __repr__(self) -> str:
        means = ", ".join(
            f"{metric!r}: {'None' if mean is None else f'{mean:.4f}'}" for metric, mean in self.items()
        )
        failures = "; ".join(
            f"{s.metric}: {s.scored} of {s.scored + s.failed} scored"
            for s in self.summaries.values()
            if s.failed
        )
        return f"{{{means}}}" + (f" ({failures})" if failures else "")


def summarise(metric: str, outcomes: Sequence[Outcome]) -> Summary:
    """The summary of one metric's outcomes."""
    values = [outcome.value for outcome in outcomes if outcome.value is not None]
    return Summary(
        metric,
        sum(values) / len(values) if values else None,
        Counter(outcome.status for outcome in outcomes),
        Counter(f"{o.status.value}: {o.reason}" for o in outcomes if o.reason is not None),
    )
