"""Metrics: one file each; pure arithmetic from verdicts to outcomes."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from typing import get_args

from ragtrace.errors import ConfigError
from ragtrace.metrics.answer_correctness import AnswerCorrectness
from ragtrace.metrics.answer_relevancy import AnswerRelevancy
from ragtrace.metrics.base import Evidence, Metric
from ragtrace.metrics.citations import CitationCorrectness, CitationCoverage, CitationPresence
from ragtrace.metrics.context_noise import ContextNoise
from ragtrace.metrics.context_precision import ContextPrecision
from ragtrace.metrics.context_recall import ContextRecall
from ragtrace.metrics.faithfulness import Faithfulness
from ragtrace.metrics.ir import IR, Measure

__all__ = ["DEFAULT_METRICS", "IR_METRICS", "Evidence", "Metric", "by_name"]

DEFAULT_METRICS: tuple[Metric, ...] = (
    Faithfulness(),
    AnswerRelevancy(),
    ContextPrecision(),
    ContextRecall(),
    ContextNoise(),
    CitationPresence(),
    CitationCorrectness(),
    CitationCoverage(),
    AnswerCorrectness(),
)
"""What every interaction is measured by."""

IR_METRICS: tuple[Metric, ...] = (
    IR("hit", 5),
    IR("mrr", None),
    IR("ndcg", 5),
    IR("precision", 5),
    IR("recall", 5),
)
"""What interactions with gold documents are measured by as well."""

_IR_NAME = re.compile(rf"(?P<measure>{'|'.join(get_args(Measure))})@(?P<k>[1-9]\d{{0,3}})")


def by_name(names: Iterable[str | Metric]) -> tuple[Metric, ...]:
    """Metrics by name: ``faithfulness``, ``hit@10``, ``mrr``, or ``package.module:Class`` for a user's own.

    Metric objects pass through.

    Raises:
        ConfigError: a name is unknown.
    """
    return tuple(name if not isinstance(name, str) else _one(name) for name in names)


def _one(name: str) -> Metric:
    for metric in (*DEFAULT_METRICS, *IR_METRICS):
        if metric.name == name:
            return metric
    if match := _IR_NAME.fullmatch(name):
        measure: Measure = match["measure"]  # type: ignore[assignment]  # the pattern is made of Measure's values
        return IR(measure, int(match["k"]))
    if ":" in name:
        return _custom(name)
    known = ", ".join(metric.name for metric in (*DEFAULT_METRICS, *IR_METRICS))
    raise ConfigError(
        f"no metric is called {name!r}; there are {known}, and each of the last with its own @k", "metrics"
    )


def _custom(path: str) -> Metric:
    module, _, attribute = path.partition(":")
    try:
        metric: Metric = getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigError(f"cannot make the metric {path!r}: {error}", "metrics") from error
    return metric
