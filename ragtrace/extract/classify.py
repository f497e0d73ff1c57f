"""Which spans belong to RAG at all: the cheap test in front of the readers.

The collector asks it for every span that passes, so it looks at attribute names and scopes only. It errs
towards yes: a span taken in vain is forwarded a little later, a span missed leaves an interaction incomplete.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

RAG_PREFIXES = (
    "ragtrace.",
    "openinference.",
    "retrieval.documents",
    "reranker.",
    "llm.",
    "gen_ai.",
    "traceloop.",
    "langfuse.",
    "mlflow.",
    "langsmith.",
    "haystack.",
    "ai.observability.",
    "pydantic_ai.",
    "db.chroma.",
    "db.query.result",
    "db.pinecone.",
    "db.qdrant.",
    "db.milvus.",
    "db.weaviate.",
    "db.vector.",
    "db.search.",
    "vector_db.",
)
"""Attribute names that begin so are written by instrumentations of models, retrievers and RAG frameworks."""

RAG_NAMES = frozenset(
    {
        "question",
        "answer",
        "documents",
        "contexts",
        "context",
        "retrieved_documents",
        "retrieved_contexts",
        "final_result",
        "all_messages_events",
        "agent_name",
        "function.args",
        "input.value",
        "output.value",
    }
)
"""Plain attribute names that apps give their own spans (Logfire leaves the choice to the app)."""

RAG_SCOPES = (
    "ragtrace",
    "openinference.",
    "llamaindex.opentelemetry",
    "opentelemetry.instrumentation.genai",
    "opentelemetry.util.genai",
    "opentelemetry.instrumentation.chromadb",
    "opentelemetry.instrumentation.pinecone",
    "opentelemetry.instrumentation.qdrant",
    "opentelemetry.instrumentation.milvus",
    "opentelemetry.instrumentation.weaviate",
    "opentelemetry.instrumentation.lancedb",
    "opentelemetry.instrumentation.langchain",
    "opentelemetry.instrumentation.llamaindex",
    "opentelemetry.instrumentation.haystack",
    "haystack",
    "langfuse",
    "langsmith",
    "mlflow",
    "openlit",
    "pydantic-ai",
    "traceloop",
    "trulens",
)
"""Scopes that begin so write RAG spans, some of them (LlamaIndex' own) without any attribute."""

_LEAVES: Mapping[str, frozenset[str]] = {
    "ragtrace.kind": frozenset({"retrieval", "rerank", "generation"}),
    "openinference.span.kind": frozenset(
        {"RETRIEVER", "RERANKER", "LLM", "EMBEDDING", "TOOL", "PROMPT", "GUARDRAIL", "EVALUATOR"}
    ),
    "gen_ai.operation.name": frozenset(
        {
            "chat",
            "text_completion",
            "generate_content",
            "embeddings",
            "retrieval",
            "execute_tool",
            "create_agent",
            "vectordb",
            "vector_db_retrieve",
        }
    ),
    "langfuse.observation.type": frozenset(
        {"retriever", "generation", "tool", "embedding", "evaluator", "guardrail", "event"}
    ),
    "mlflow.spanType": frozenset(
        f'"{kind}"'
        for kind in ("RETRIEVER", "RERANKER", "LLM", "CHAT_MODEL", "TOOL", "EMBEDDING", "PARSER", "EVALUATOR")
    ),
    "langsmith.span.kind": frozenset({"retriever", "llm", "tool", "prompt", "parser", "embedding"}),
    "traceloop.span.kind": frozenset({"tool"}),
    "ai.observability.span_type": frozenset({"retrieval", "generation", "reranking", "embedding", "eval"}),
}
"""For each attribute that names what a span is: the values of spans that never are an interaction's entry."""


def is_rag_key(key: bytes) -> bool:
    """Whether an attribute of this name (its UTF-8 bytes) is written on RAG spans."""
    return _is_rag_name(key.decode("utf-8", "replace"))


def is_rag_scope(scope: str) -> bool:
    """Whether an instrumentation scope writes RAG spans."""
    return scope.startswith(RAG_SCOPES)


def is_rag_span(attributes: Mapping[str, Any], name: str, scope: str) -> bool:
    """Whether a span may hold a piece of an interaction.

    ``name`` is not looked at (names are free text); it is taken so that the rule may change alone.
    """
    del name
    return is_rag_scope(scope) or any(map(_is_rag_name, attributes))


def is_entry_candidate(attributes: Mapping[str, Any], name: str, scope: str) -> bool:
    """Whether a RAG span may be the entry of an interaction: it does not say that it is a step of one.

    The entry itself is the topmost such span; a trace may consist of steps alone.
    """
    del name, scope
    return not any(str(attributes.get(key)) in values for key, values in _LEAVES.items() if key in attributes)


@lru_cache(maxsize=4096)
def _is_rag_name(key: str) -> bool:
    return key.startswith(RAG_PREFIXES) or key in RAG_NAMES
