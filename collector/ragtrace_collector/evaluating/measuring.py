"""One row judged: evaluated, its refusal counted, as JSON. The same in every process that judges."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ragtrace.evaluation import Evaluator
from ragtrace.metrics import DEFAULT_METRICS, by_name
from ragtrace.model import Evaluation, Interaction, Language, Status, Unscored
from ragtrace.records import evaluation_to_dict
from ragtrace.refusals import with_refusal
from ragtrace_collector.judging import Judging

RECORDS = 1
"""Raised when the arithmetic, the diagnosis or the form of a record changes: kept ones are made anew then, of
parts that cost nothing again."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """What rows are measured by. ``row_timeout`` is in seconds, ``None`` = no limit."""

    metrics: tuple[str, ...]
    language: Language | Literal["auto"] = "auto"
    row_timeout: float | None = 120.0

    def evaluator(self, made: Judging) -> Evaluator:
        """An evaluator with this judge and these metrics."""
        return Evaluator(
            made.judge,
            made.embedder,
            by_name(self.metrics),
            language=self.language,
            concurrency=made.concurrency,
        )

    async def record(self, evaluator: Evaluator, row: Interaction) -> str:
        """The row's record as JSON. Never raises for what judge, embedder or texts do."""
        limit = self.row_timeout
        found = await evaluator.evaluate(row, None if limit is None else time.monotonic() + limit)
        failed = row.error is not None and row.answer is None
        found = _without_answer(found) if failed else with_refusal(found)
        return json.dumps(evaluation_to_dict(found), ensure_ascii=False, allow_nan=False)


def known_metrics(ks: Sequence[int], *, has_gold: bool) -> tuple[str, ...]:
    """The names of what a set is measured by: the default metrics, and with gold documents the retrieval
    measures at each cut-off of ``ks``."""
    names = [metric.name for metric in DEFAULT_METRICS]
    if has_gold:
        measures = ("hit", "mrr", "ndcg", "precision", "recall")
        names += ["mrr", *(f"{measure}@{k}" for measure in measures for k in ks)]
    return tuple(names)


def _without_answer(evaluation: Evaluation) -> Evaluation:
    """Where the app raised, every metric lacks a number that it should have: coverage must say so."""
    outcomes = {name: Unscored(name, Status.SKIPPED, "app_failed") for name in evaluation.outcomes}
    return replace(evaluation, outcomes=outcomes)
