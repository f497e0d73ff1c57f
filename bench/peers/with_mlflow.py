"""MLflow's built-in scorers, on a trace with a retriever span."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mlflow
from mlflow.entities import Trace
from mlflow.genai.scorers import (
    Correctness,
    RelevanceToQuery,
    RetrievalGroundedness,
    RetrievalRelevance,
    RetrievalSufficiency,
)

MODEL = "openai:/gpt-4o-mini"
_FOLDER = tempfile.mkdtemp(prefix="mlflow-")
mlflow.set_tracking_uri(f"sqlite:///{_FOLDER}/traces.db")


def prepare(
    rows: Sequence[Mapping[str, Any]], url: Callable[[str], str], correctness: bool
) -> Callable[[], list[dict[str, Any]]]:
    traces = [_trace(row) for row in rows]

    def judged(row: Mapping[str, Any], trace: Trace) -> dict[str, Any]:
        expected = {"expected_response": row["reference"]}
        asked = {"inputs": {"question": row["question"]}, "outputs": row["answer"]}
        scorers: dict[str, tuple[Any, dict[str, Any]]] = {
            "faithfulness": (RetrievalGroundedness, {"trace": trace}),
            "answer_relevancy": (RelevanceToQuery, asked),
            "context_precision": (RetrievalRelevance, {"trace": trace}),
            "context_recall": (RetrievalSufficiency, {"trace": trace, "expectations": expected}),
        }
        if correctness:
            scorers["answer_correctness"] = (Correctness, {**asked, "expectations": expected})
        return {name: _measured(url(name), *scorer) for name, scorer in scorers.items()}

    return lambda: [judged(row, trace) for row, trace in zip(rows, traces, strict=True)]


def _measured(url: str, scorer: Any, asked: dict[str, Any]) -> Any:
    os.environ["OPENAI_API_BASE"] = url
    try:
        feedback = scorer(model=MODEL)(**asked)
    except Exception as error:
        return error
    first = feedback[0] if isinstance(feedback, list) else feedback
    if first.error is not None:
        return RuntimeError(first.error.error_message)
    return str(first.value) if isinstance(first.value, str) else first.value


def _trace(row: Mapping[str, Any]) -> Trace:
    with mlflow.start_span("rag", span_type="CHAIN") as entry:
        entry.set_inputs({"question": row["question"]})
        with mlflow.start_span("retrieve", span_type="RETRIEVER") as retrieval:
            retrieval.set_inputs({"query": row["question"]})
            retrieval.set_outputs([{"page_content": text} for text in row["contexts"]])
        entry.set_outputs(row["answer"])
    return mlflow.get_trace(entry.trace_id, flush=True)
