"""Which spans belong to RAG."""

from __future__ import annotations

import pytest
from captures import SHARED, load

from ragtrace.extract import DIALECTS, interactions, is_entry_candidate, is_rag_key, is_rag_scope, is_rag_span


@pytest.mark.parametrize(
    "key", ["openinference.span.kind", "gen_ai.operation.name", "ragtrace.kind", "mlflow.spanType"]
)
def test_keys_of_rag_conventions_are_known(key: str) -> None:
    """Names that instrumentations of models and retrievers write are RAG names."""
    assert is_rag_key(key.encode())


@pytest.mark.parametrize(
    "key", ["http.method", "db.system", "db.statement", "rpc.service", "url.full", "exception.type"]
)
def test_keys_of_plain_spans_are_not(key: str) -> None:
    """What HTTP, SQL and RPC spans carry passes by."""
    assert not is_rag_key(key.encode())


def test_a_span_without_attributes_is_known_by_its_scope() -> None:
    """LlamaIndex' own integration writes events only."""
    assert is_rag_scope("llamaindex.opentelemetry.tracer")
    assert is_rag_span({}, "x", "llamaindex.opentelemetry.tracer")
    assert not is_rag_span({"http.route": "/ask"}, "GET /ask", "opentelemetry.instrumentation.fastapi")


@pytest.mark.parametrize(
    "attributes",
    [
        {"openinference.span.kind": "RETRIEVER"},
        {"gen_ai.operation.name": "chat"},
        {"mlflow.spanType": '"CHAT_MODEL"'},
        {"ragtrace.kind": "generation"},
    ],
)
def test_a_step_is_no_entry(attributes: dict[str, str]) -> None:
    """A span that says that it is a retrieval or a model call does not begin an interaction."""
    assert not is_entry_candidate(attributes, "x", "")


def test_a_chain_may_be_an_entry() -> None:
    """A span that holds others may begin one, also where a value has an odd type."""
    assert is_entry_candidate({"openinference.span.kind": "CHAIN"}, "x", "")
    assert is_entry_candidate({"gen_ai.operation.name": ["chat"]}, "x", "")


@pytest.mark.skipif(not SHARED.exists(), reason="the shared captures are not here")
def test_no_span_that_a_reader_uses_is_taken_for_plain() -> None:
    """Without the spans that the test calls plain, every capture gives the same interactions."""
    for path in sorted(SHARED.glob("*__basic.json")):
        spans, logs = load(path)
        kept = [s for s in spans if is_rag_span(s.attributes, s.name, s.scope)]
        assert [(i.question, i.documents, i.answer) for i in interactions(kept, logs)] == [
            (i.question, i.documents, i.answer) for i in interactions(spans, logs)
        ]


def test_dialects_have_different_names() -> None:
    """The name in a record tells which reader read it."""
    names = [dialect.name for dialect in DIALECTS]
    assert len(set(names)) == len(names)
