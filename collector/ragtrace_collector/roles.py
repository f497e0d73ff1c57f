"""Which role a received span plays, from its scope, its attribute keys and the values that name its kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from ragtrace import semconv
from ragtrace.extract import AttributeMapping
from ragtrace.extract.classify import is_entry_candidate, is_rag_key, is_rag_scope
from ragtrace.extract.step import Role as ReadAs
from ragtrace.model import AttributeValue
from ragtrace_collector import otlp
from ragtrace_collector.lineage import Role
from ragtrace_collector.otlp import Glance

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
_AS_MAPPED = {
    ReadAs.INTERACTION: Role.INTERACTION,
    ReadAs.RETRIEVAL: Role.RETRIEVAL,
    ReadAs.GENERATION: Role.GENERATION,
}


@dataclass(frozen=True)
class Roles:
    """What each received span is to RAG, by the dialects that are known and by the user's own ``mapping``."""

    mapping: AttributeMapping | None = None

    def is_rag_key(self, key: bytes) -> bool:
        """Whether an attribute of this name (its UTF-8 bytes) may make a span one of RAG."""
        return key in self._mapped_keys or is_rag_key(key)

    def role_of(self, one: Glance) -> Role:
        """The role of a span; plain where it has none."""
        if self.mapping is not None and not self._mapped_keys.isdisjoint(one.keys):
            mapped = self.mapping.role_of(otlp.read_span(one.raw))
            if mapped is not None:
                return _AS_MAPPED.get(mapped, Role.STEP)
        if not is_rag(one.scope, one.keys):
            return Role.PLAIN
        return role_of(otlp.read_attributes(one.raw, KIND_KEYS), one.scope)

    @cached_property
    def _mapped_keys(self) -> frozenset[bytes]:
        names = frozenset[str]() if self.mapping is None else self.mapping.attribute_names
        return frozenset(name.encode() for name in names)


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
