"""DeepEval's metrics with their defaults (a reason with each score), and its G-Eval for correctness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from deepeval.metrics import (
    AnswerRelevancyMetric,
    ContextualPrecisionMetric,
    ContextualRecallMetric,
    FaithfulnessMetric,
    GEval,
)
from deepeval.models import OpenAIModel
from deepeval.test_case import LLMTestCase, SingleTurnParams

METRICS = {
    "faithfulness": FaithfulnessMetric,
    "answer_relevancy": AnswerRelevancyMetric,
    "context_precision": ContextualPrecisionMetric,
    "context_recall": ContextualRecallMetric,
}


def prepare(
    rows: Sequence[Mapping[str, Any]], url: Callable[[str], str], correctness: bool
) -> Callable[[], list[dict[str, Any]]]:
    cases = [
        LLMTestCase(
            input=row["question"],
            actual_output=row["answer"],
            expected_output=row["reference"],
            retrieval_context=list(row["contexts"]),
        )
        for row in rows
    ]
    metrics = {name: metric(model=_model(url(name))) for name, metric in METRICS.items()}
    if correctness:
        metrics["answer_correctness"] = _correctness(_model(url("answer_correctness")))
    return lambda: [{name: _measured(metric, case) for name, metric in metrics.items()} for case in cases]


def _model(url: str) -> OpenAIModel:
    return OpenAIModel(model="gpt-4o-mini", api_key="none", base_url=url)


def _correctness(model: OpenAIModel) -> GEval:
    return GEval(
        name="Correctness",
        criteria="Determine whether the actual output is factually correct based on the expected output.",
        evaluation_params=[SingleTurnParams.ACTUAL_OUTPUT, SingleTurnParams.EXPECTED_OUTPUT],
        model=model,
    )


def _measured(metric: Any, case: LLMTestCase) -> Any:
    try:
        return metric.measure(case, _show_indicator=False)
    except Exception as error:
        return error
