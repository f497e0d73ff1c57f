"""The documents in the values that LangChain passes around."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.documents import Document

from ragtrace_integrations._langchain_content import fields_of

DOCUMENT_KEYS = frozenset({
    "context", "contexts", "documents", "docs", "source_documents", "retrieved_docs", "retrieved_documents",
    "relevant_docs", "relevant_documents", "chunks", "passages", "sources",
})  # fmt: skip
"""State keys under which an empty list is a retrieval that returned nothing."""

Documents = Sequence[Any]
"""LangChain documents, or (document, score) pairs."""


def documents_in(value: object, *, empty: bool = False) -> Iterator[Documents]:
    """The document lists that a value is, holds under a key, or carries as a tool's artifact.

    With ``empty``, an empty list counts under a key of ``DOCUMENT_KEYS``; elsewhere it may be of anything.
    """
    if own := [*_lists(value), *_lists(getattr(value, "artifact", None))]:
        yield from own
        return
    for key, item in (fields_of(value) or {}).items():
        yield from _lists(item)
        if empty and key in DOCUMENT_KEYS and isinstance(item, list | tuple) and not item:
            yield item


def _lists(value: object) -> Iterator[Documents]:
    """The list of documents that a value is, or those in a list of such lists."""
    if not isinstance(value, list | tuple) or not value:
        return
    if (own := _documents(value)) is not None:
        yield own
    elif all(isinstance(item, list | tuple) for item in value):
        yield from (found for item in value if (found := _documents(item)))


def _documents(value: object) -> Documents | None:
    if not isinstance(value, list | tuple):
        return None
    return value if all(_document(item) is not None for item in value) else None


def _document(item: object) -> Document | None:
    inner = item[0] if isinstance(item, tuple) and len(item) == 2 else item
    return inner if isinstance(inner, Document) else None
