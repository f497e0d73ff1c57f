"""What the hooks write, read by the names of OpenInference's own package."""

from __future__ import annotations

import json
from typing import Any

from openinference.semconv.trace import (
    DocumentAttributes,
    OpenInferenceSpanKindValues,
    RerankerAttributes,
    SpanAttributes,
)
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import ragtrace

FOUND = [
    {
        "id": "kb-1",
        "text": "退款在3个工作日内到账。",
        "score": 0.9,
        "metadata": {"source": "退款.md", "page": 3},
    },
    {"id": "kb-2", "text": "Returns within 30 days.", "score": 0.5},
]


@ragtrace.retriever
def search(question: str) -> list[dict[str, Any]]:
    return FOUND


@ragtrace.reranker
def order(question: str, documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**document, "score": 0.7 - rank / 10} for rank, document in enumerate(reversed(documents))]


@ragtrace.generator(model="gpt-5-mini")
def generate(question: str, documents: list[dict[str, Any]]) -> str:
    return "三个工作日[1]。"


@ragtrace.trace
def answer(question: str) -> str:
    return generate(question, order(question, search(question)))


def documents(attributes: Any, prefix: str, count: int) -> list[dict[str, Any]]:
    """Documents as a reader of OpenInference finds them."""
    names = {
        "id": DocumentAttributes.DOCUMENT_ID,
        "text": DocumentAttributes.DOCUMENT_CONTENT,
        "score": DocumentAttributes.DOCUMENT_SCORE,
        "metadata": DocumentAttributes.DOCUMENT_METADATA,
    }
    rows = []
    for index in range(count):
        row = {name: attributes.get(f"{prefix}.{index}.{key}") for name, key in names.items()}
        row["metadata"] = row["metadata"] and json.loads(row["metadata"])
        rows.append({name: value for name, value in row.items() if value is not None})
    return rows


def test_an_interaction_is_understood_by_openinferences_names(
    exporter: InMemorySpanExporter, spans: Any
) -> None:
    """Kinds, question, answer, documents with ids, texts, scores and metadata, the reranker's lists, the model."""
    answer("退款多久到账？")
    found = {name: span.attributes for name, span in spans().items()}
    kinds = {name: a[SpanAttributes.OPENINFERENCE_SPAN_KIND] for name, a in found.items()}
    assert kinds == {
        "search": OpenInferenceSpanKindValues.RETRIEVER.value,
        "order": OpenInferenceSpanKindValues.RERANKER.value,
        "generate": OpenInferenceSpanKindValues.LLM.value,
        "answer": OpenInferenceSpanKindValues.CHAIN.value,
    }
    entry = found["answer"]
    assert entry[SpanAttributes.INPUT_VALUE] == "退款多久到账？"
    assert entry[SpanAttributes.OUTPUT_VALUE] == "三个工作日[1]。"
    assert documents(found["search"], SpanAttributes.RETRIEVAL_DOCUMENTS, 2) == FOUND
    order_ = found["order"]
    assert order_[RerankerAttributes.RERANKER_QUERY] == "退款多久到账？"
    assert documents(order_, RerankerAttributes.RERANKER_INPUT_DOCUMENTS, 2) == FOUND
    ranked = documents(order_, RerankerAttributes.RERANKER_OUTPUT_DOCUMENTS, 2)
    assert [(d["id"], d["score"]) for d in ranked] == [("kb-2", 0.7), ("kb-1", 0.6)]
    assert ranked[1]["metadata"] == FOUND[0]["metadata"]
    assert found["generate"][SpanAttributes.LLM_MODEL_NAME] == "gpt-5-mini"
