"""What a step of a LangChain app did with documents, seen from what went in and what came out.

Much retrieval never meets a retriever: a graph node calls ``similarity_search``, a tool returns its hits as
an artifact, a lambda fuses three lists or reorders one. Such a step is told by its documents: new ones are a
retrieval, known ones in another order or number a rerank, and the same ones are plumbing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Step:
    """What a step did: it found ``documents``, or (``given`` is not ``None``) made them from ``given``."""

    documents: Documents
    given: Documents | None


def step(known: Sequence[Documents], given: object, taken: object, told: object = None) -> Step | None:
    """What a step did that took ``given`` and gave ``taken``; ``None`` where it only passed documents on.

    ``known`` are the document lists of the retrievals inside the step; ``told`` is what a hook recorded last,
    which may be this very step's.
    """
    before = [*known, *documents_in(given)]
    seen = [_identity(documents) for documents in (*before, *documents_in(told))]
    fresh = [documents for documents in documents_in(taken, empty=True) if _identity(documents) not in seen]
    if not fresh:
        return None
    last = fresh[-1]
    source = _union(before)
    overlaps = not set(_keys(last)).isdisjoint(_keys(source))
    return Step(last, source if overlaps or (source and not last) else None)


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


def _plain(documents: Documents) -> list[Document]:
    return [inner for item in documents if (inner := _document(item)) is not None]


def _keys(documents: Documents) -> list[str]:
    return [document.id or document.page_content for document in _plain(documents)]


def _identity(documents: Documents) -> list[tuple[str, str, Mapping[str, Any]]]:
    """What makes two lists the same: documents, texts and scores (which live in the metadata), in order."""
    return [(document.id or "", document.page_content, document.metadata) for document in _plain(documents)]


def _union(lists: Sequence[Documents]) -> Documents:
    """All documents of several lists, each at its first place."""
    first: dict[str, object] = {}
    for documents in lists:
        for key, item in zip(_keys(documents), documents, strict=True):
            first.setdefault(key, item)
    return list(first.values())
