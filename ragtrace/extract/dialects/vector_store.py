"""Calls to vector stores: results are span events, numbers distances; adding documents is no retrieval."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ragtrace.extract.documents import DocumentList, documents_in
from ragtrace.extract.step import Role, Step
from ragtrace.extract.values import decode
from ragtrace.model import LogRecord, SpanRecord

STORES = frozenset(
    {
        "chroma",
        "chromadb",
        "pinecone",
        "qdrant",
        "milvus",
        "weaviate",
        "lancedb",
        "marqo",
        "pgvector",
        "astradb",
        "vespa",
    }
)
_SYSTEMS = ("db.system", "db.system.name", "vector_db.vendor")
_OPERATIONS = ("db.operation", "db.operation.name")
_SEARCHING = re.compile(r"query|search|get|select|near|similar|recommend|retriev|fetch", re.IGNORECASE)
_RESULT_EVENTS = ("db.query.result", "db.search.result", "db.pinecone.query.result", "vector_db.result")
_ROW_KEYS = {
    "document": "text",
    "content": "text",
    "text": "text",
    "metadata": "metadata",
    "entity": "metadata",
}


class VectorStore:
    """Reads spans of Chroma, Pinecone, Qdrant, Milvus and their like."""

    name = "vector-store"

    def claims(self, span: SpanRecord) -> bool:
        """Whether the span is a call to a vector store."""
        return any(str(span.attributes.get(key)).lower() in STORES for key in _SYSTEMS)

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        del logs
        a = span.attributes
        operation = next((str(a[key]) for key in _OPERATIONS if key in a), span.name)
        if not _SEARCHING.search(operation):
            return Step(span, self.name, Role.OTHER)
        return Step(
            span,
            self.name,
            Role.RETRIEVAL,
            documents=_documents(span),
            keys={"documents": f"event {_RESULT_EVENTS[0]}"},
        )


def _documents(span: SpanRecord) -> DocumentList | None:
    rows = [_row(event.attributes) for event in span.events if event.name in _RESULT_EVENTS]
    return documents_in(rows) if rows else None


def _row(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """``db.query.result.distance`` and its like → the fields of one document."""
    row: dict[str, Any] = {}
    for key, value in attributes.items():
        name = key.rpartition(".")[2]
        row[_ROW_KEYS.get(name, name)] = decode(value).value if name in ("metadata", "entity") else value
    return row
