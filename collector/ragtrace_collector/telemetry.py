"""The collector's own figures: one table, one registry, one law of conservation.

Nothing here holds content: names of metrics, destinations and closed lists of reasons only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

PREFIX = "ragtrace_collector_"


class Figure(StrEnum):
    """What is counted. The unit is spans where the name says nothing else."""

    RECEIVED = "received_spans"
    REPLAYED = "replayed_spans"
    MADE = "made_spans"
    FORWARDED = "forwarded_spans"
    HELD = "held_spans"
    SPOOLED = "spooled_spans"
    REFUSED = "refused_spans"
    DROPPED = "dropped_spans"
    UNACCOUNTED = "unaccounted_spans"
    REQUESTS = "requests"
    LOGS = "received_log_requests"
    EXPORTED = "exported_spans"
    REJECTED = "rejected_spans"
    RETRIES = "export_retries"
    SHELVED = "shelved_spans"
    SHELF_BYTES = "shelf_bytes"
    ORPHANED = "orphaned_requests"
    CUT = "cut_spans"
    HELD_BYTES = "held_bytes"
    SPOOL_BYTES = "spool_bytes"
    INTERACTIONS = "interactions"
    OUTCOMES = "outcomes"
    JUDGE_CALLS = "judge_calls"
    JUDGE_TOKENS = "judge_tokens"
    SHED = "shed_interactions"
    WORKER_RESTARTS = "worker_restarts"
    RULE_FAILURES = "rule_failures"
    FAILURES = "failures"


@dataclass(frozen=True, slots=True)
class _Row:
    figure: Figure
    help: str
    labels: tuple[str, ...] = ()
    level: bool = False
    """Goes up and down; everything else only grows."""


TABLE = (
    _Row(Figure.RECEIVED, "Spans in well-formed requests, whatever became of them."),
    _Row(Figure.REPLAYED, "Spans taken from the spool at start."),
    _Row(Figure.MADE, "Spans of our own: late scores."),
    _Row(Figure.FORWARDED, "Spans that every destination has answered for, and one at least took."),
    _Row(Figure.HELD, "Spans in memory: held, being scored, waiting to be exported.", level=True),
    _Row(Figure.SPOOLED, "Spans on disk that are not in memory.", level=True),
    _Row(Figure.REFUSED, "Spans whose sender was told to come again.", ("reason",)),
    _Row(Figure.DROPPED, "Spans that reach no destination.", ("reason",)),
    _Row(Figure.UNACCOUNTED, "Spans that came in and are in no book: 0, or there is a bug.", level=True),
    _Row(Figure.REQUESTS, "Requests by how they were answered.", ("transport", "signal", "answer")),
    _Row(Figure.LOGS, "Requests of log records."),
    _Row(Figure.EXPORTED, "Spans that a destination confirmed.", ("destination",)),
    _Row(Figure.REJECTED, "Spans that a destination will never take.", ("destination", "reason")),
    _Row(Figure.RETRIES, "Requests sent again.", ("destination",)),
    _Row(
        Figure.SHELVED,
        "Spans that had to wait on disk for one destination.",
        ("destination",),
    ),
    _Row(Figure.SHELF_BYTES, "Bytes that wait on disk for one destination.", ("destination",), level=True),
    _Row(Figure.ORPHANED, "Requests on disk for destinations that the settings do not name.", level=True),
    _Row(Figure.CUT, "Spans whose texts were cut to fit a destination.", ("destination",)),
    _Row(Figure.HELD_BYTES, "Bytes of the spans in memory.", level=True),
    _Row(Figure.SPOOL_BYTES, "Bytes on disk.", level=True),
    _Row(Figure.INTERACTIONS, "Interactions by what was decided.", ("verb", "rule")),
    _Row(Figure.OUTCOMES, "Outcomes by metric and status.", ("metric", "status")),
    _Row(Figure.JUDGE_CALLS, "Requests to a judge's endpoint.", ("judge",)),
    _Row(Figure.JUDGE_TOKENS, "Tokens, as the endpoint counts them.", ("judge", "direction")),
    _Row(Figure.SHED, "Interactions that were not scored to spare memory or time.", ("reason",)),
    _Row(Figure.WORKER_RESTARTS, "Scoring workers that were replaced."),
    _Row(Figure.FAILURES, "Times that a stage failed, and spans went on without it.", ("stage",)),
    _Row(Figure.RULE_FAILURES, "Times that a sampling rule failed, and counted as not matched.", ("rule",)),
)


class Telemetry:
    """The figures of one collector. Safe to use from threads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._metrics: dict[Figure, Counter | Gauge] = {}
        for row in TABLE:
            kind = Gauge if row.level else Counter
            self._metrics[row.figure] = kind(
                PREFIX + row.figure, row.help, row.labels, registry=self.registry
            )
        self._labelled: dict[tuple[Figure, tuple[tuple[str, str], ...]], Counter | Gauge] = {}
        self.watch(Figure.UNACCOUNTED, lambda: unaccounted(self))

    def count(self, figure: Figure, amount: float = 1, **labels: str) -> None:
        """Add ``amount`` to a counter, or move a level by it."""
        key = figure, tuple(labels.items())
        metric = self._labelled.get(key)
        if metric is None:  # finding the labels costs more than counting
            metric = self._metrics[figure]
            metric = self._labelled[key] = metric.labels(**labels) if labels else metric
        metric.inc(amount)

    def watch(self, figure: Figure, read: Callable[[], float], **labels: str) -> None:
        """Let ``read`` be asked for a level whenever it is looked at."""
        metric = self._metrics[figure]
        if not isinstance(metric, Gauge):
            raise TypeError(f"{figure} is no level")
        (metric.labels(**labels) if labels else metric).set_function(read)

    def value(self, figure: Figure, **labels: str) -> float:
        """A figure's value now, summed over the labels that are not given."""
        return sum(
            sample.value
            for metric in self._metrics[figure].collect()
            for sample in metric.samples
            if not sample.name.endswith("_created") and labels.items() <= sample.labels.items()
        )

    def exposition(self) -> bytes:
        """All figures in Prometheus' text format."""
        return generate_latest(self.registry)


def unaccounted(telemetry: Telemetry) -> float:
    """Spans that came in and are in no book: 0 at every moment, for a span goes from one book into another in
    one step of the loop.

    received + replayed + made = forwarded + held + spooled + refused + dropped.
    """
    came = (Figure.RECEIVED, Figure.REPLAYED, Figure.MADE)
    went = (Figure.FORWARDED, Figure.HELD, Figure.SPOOLED, Figure.REFUSED, Figure.DROPPED)
    return sum(map(telemetry.value, came)) - sum(map(telemetry.value, went))
