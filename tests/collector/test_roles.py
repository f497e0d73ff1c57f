"""Which role a span plays, by what its attributes say it is."""

from __future__ import annotations

import pytest

from ragtrace.extract import AttributeMapping
from ragtrace.model import SpanRecord
from ragtrace_collector import otlp
from ragtrace_collector.lineage import Role
from ragtrace_collector.roles import Roles, is_rag, role_of


@pytest.mark.parametrize(
    ("kinds", "role"),
    [
        ({"ragtrace.kind": "interaction", "openinference.span.kind": "CHAIN"}, Role.INTERACTION),
        ({"ragtrace.kind": "retrieval"}, Role.RETRIEVAL),
        ({"ragtrace.kind": "rerank"}, Role.STEP),
        ({"ragtrace.kind": "generation"}, Role.GENERATION),
        ({"openinference.span.kind": "RETRIEVER"}, Role.RETRIEVAL),
        ({"openinference.span.kind": "LLM"}, Role.GENERATION),
        ({"openinference.span.kind": "CHAIN"}, Role.CHAIN),
        ({"openinference.span.kind": "AGENT"}, Role.CHAIN),
        ({"openinference.span.kind": "EMBEDDING"}, Role.STEP),
        ({"openinference.span.kind": "TOOL"}, Role.STEP),
        ({"gen_ai.operation.name": "chat"}, Role.GENERATION),
        ({"gen_ai.operation.name": "retrieval"}, Role.RETRIEVAL),
        ({"gen_ai.operation.name": "embeddings"}, Role.STEP),
        ({"gen_ai.operation.name": "invoke_agent"}, Role.CHAIN),
        ({"mlflow.spanType": '"RETRIEVER"'}, Role.RETRIEVAL),
        ({"mlflow.spanType": '"CHAT_MODEL"'}, Role.GENERATION),
        ({"langfuse.observation.type": "generation"}, Role.GENERATION),
        ({"traceloop.span.kind": "workflow"}, Role.CHAIN),
        ({}, Role.CHAIN),
        ({"openinference.span.kind": 7}, Role.CHAIN),
    ],
)
def test_role(kinds: dict[str, object], role: Role) -> None:
    """A retrieval, a generation, a step, or what may hold them together."""
    assert role_of(kinds, "") is role


@pytest.mark.parametrize(
    ("scope", "keys", "expected"),
    [
        ("app", (b"http.route",), False),
        ("app", (), False),
        ("app", (b"input.value",), True),
        ("app", (b"http.route", b"gen_ai.operation.name"), True),
        ("openinference.instrumentation.langchain", (), True),
        ("ragtrace", (), True),
        ("ragtrace.evaluation", (b"ragtrace.faithfulness",), False),
        ("ragtrace.judge", (b"gen_ai.operation.name",), False),
    ],
)
def test_is_rag(scope: str, keys: tuple[bytes, ...], expected: bool) -> None:
    """Scores that a collector wrote, and a judge's own calls, are no part of an interaction."""
    assert is_rag(scope, keys) is expected


def test_a_users_mapping_gives_roles_to_spans_of_their_own_naming() -> None:
    """By name and attribute; a span that has one of the attributes and another name stays plain."""
    mapping = AttributeMapping.from_dict(
        {
            "interaction": {"name": "POST /ask", "question": "app.request/q"},
            "retrieval": {"name": "search", "documents": "app.hits"},
            "rerank": {"name": "order", "documents": "app.hits"},
            "generation": {"name": "model", "answer": "app.completion"},
        }
    )
    roles = Roles(mapping)

    def role(name: str, key: str) -> Role:
        span = otlp.encode_span(SpanRecord("ab" * 16, "01" * 8, None, name, attributes={key: "x"}))
        (one,) = otlp.glance(otlp.join([span]))
        return roles.role_of(one)

    assert role("POST /ask", "app.request") is Role.INTERACTION
    assert role("search", "app.hits") is Role.RETRIEVAL
    assert role("order", "app.hits") is Role.STEP
    assert role("model", "app.completion") is Role.GENERATION
    assert role("cache", "app.hits") is Role.PLAIN
    assert roles.is_rag_key(b"app.hits")
    assert not Roles().is_rag_key(b"app.hits")
