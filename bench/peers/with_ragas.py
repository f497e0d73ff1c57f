"""Ragas as its quick start has it: ``evaluate()`` over a data set, with a LangChain model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from free_vectors import vector
from langchain_openai import ChatOpenAI
from ragas import EvaluationDataset, RunConfig, evaluate
from ragas.embeddings.base import BaseRagasEmbeddings
from ragas.llms import LangchainLLMWrapper
from ragas.metrics import (
    AnswerCorrectness,
    ContextRecall,
    Faithfulness,
    LLMContextPrecisionWithReference,
    ResponseRelevancy,
)

ATTEMPTS = 2
METRICS = {
    "faithfulness": Faithfulness,
    "answer_relevancy": ResponseRelevancy,
    "context_precision": LLMContextPrecisionWithReference,
    "context_recall": ContextRecall,
    "answer_correctness": AnswerCorrectness,
}


class Free(BaseRagasEmbeddings):
    def embed_query(self, text: str) -> list[float]:
        return vector(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)


def prepare(
    rows: Sequence[Mapping[str, Any]], url: Callable[[str], str], correctness: bool
) -> Callable[[], list[dict[str, Any]]]:
    dataset = EvaluationDataset.from_list(
        [
            {
                "user_input": row["question"],
                "retrieved_contexts": row["contexts"],
                "response": row["answer"],
                "reference": row["reference"],
            }
            for row in rows
        ]
    )
    names = [name for name in METRICS if correctness or name != "answer_correctness"]
    metrics = [_metric(name, url) for name in names]

    def judging() -> list[dict[str, Any]]:
        result = evaluate(
            dataset,
            metrics=metrics,
            embeddings=Free(),
            run_config=RunConfig(max_retries=ATTEMPTS),
            show_progress=False,
        )
        return [dict(zip(names, scores.values(), strict=True)) for scores in result.scores]

    return judging


def _metric(name: str, url: Callable[[str], str]) -> Any:
    """The metric, with a model whose path says its name."""
    model = ChatOpenAI(model="gpt-4o-mini", base_url=url(name), api_key="none", max_retries=ATTEMPTS)
    return METRICS[name](llm=LangchainLLMWrapper(model))
