"""Phoenix's evaluators: a label for each answer, and one for each document; none reads a reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from phoenix.evals import LLM
from phoenix.evals.metrics import CorrectnessEvaluator, FaithfulnessEvaluator, RetrievalRelevanceEvaluator


def prepare(
    rows: Sequence[Mapping[str, Any]], url: Callable[[str], str], correctness: bool
) -> Callable[[], list[dict[str, Any]]]:
    """``correctness`` changes nothing: theirs has no reference, and stands for relevancy."""
    faithful = FaithfulnessEvaluator(_model(url("faithfulness")))
    relevant = RetrievalRelevanceEvaluator(_model(url("context_precision")))
    right = CorrectnessEvaluator(_model(url("answer_relevancy")))

    def judged(row: Mapping[str, Any]) -> dict[str, Any]:
        asked = {"input": row["question"], "output": row["answer"], "context": "\n\n".join(row["contexts"])}
        values = {"faithfulness": _measured(faithful, asked), "answer_relevancy": _measured(right, asked)}
        documents = [_measured(relevant, {**asked, "context": document}) for document in row["contexts"]]
        failed = [value for value in documents if not isinstance(value, float)]
        return {**values, "context_precision": failed[0] if failed else sum(documents) / len(documents)}

    return lambda: [judged(row) for row in rows]


def _model(url: str) -> LLM:
    return LLM(provider="openai", client="openai", model="gpt-4o-mini", base_url=url, api_key="none")


def _measured(evaluator: Any, asked: Mapping[str, str]) -> Any:
    try:
        return evaluator.evaluate(asked)[0].score
    except Exception as error:
        return error
