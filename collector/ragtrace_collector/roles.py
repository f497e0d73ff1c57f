"""Which role a received span plays, from its scope, its attribute keys and the values that name its kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ragtrace import semconv
from ragtrace.extract.classify import is_entry_candidate, is_rag_key, is_rag_scope
from ragtrace.model import AttributeValue
from ragtrace_collector.lineage import Role

KIND_KEYS = (
    semconv.KIND,
    semconv.OI_SPAN_KIND,
    semconv.GEN_AI_OPERATION,
    "langfuse.observation.type",
    "mlflow.spanType",
    "langsmith.span.kind",
    "traceloop.span.kind",
    "llm.request.type",
    "ai.observability.span_type",
)
"""Attributes whose value names what a span is."""

_RETRIEVALS = frozenset({"retrieval", "retriever", "vector_db_retrieve", "vectordb"})
_GENERATIONS = frozenset(
    {"generation", "llm", "chat", "completion", "text_completion", "generate_content", "chat_model"}
)
_OWN_SCOPES = frozenset({semconv.EVALUATION_SCOPE, semconv.JUDGE_SCOPE})


def is_rag(scope: str, keys: Collection[bytes]) -> bool:
    """Whether a span of that scope with those attribute keys (UTF-8) may be a part of an interaction.

    Scores that some collector wrote are none.
    """
    return scope not in _OWN_SCOPES and (is_rag_scope(scope) or any(map(is_rag_key, keys)))


def role_of(kinds: Mapping[str, AttributeValue], scope: str) -> Role:
    """The role of a RAG span, given those of its attributes that are in :data:`KIND_KEYS`."""
    # MLflow writes its values as JSON, so within quotes.
    named = {str(value).strip('"').lower() for value in kinds.values()}
    if kinds.get(semconv.KIND) == semconv.KIND_INTERACTION:
        return Role.INTERACTION
    if named & _RETRIEVALS:
        return Role.RETRIEVAL
    if named & _GENERATIONS:
        return Role.GENERATION
    return Role.CHAIN if is_entry_candidate(kinds, "", scope) else Role.STEP
