"""What a step did with documents, seen from what went in and what came out.

Much retrieval never meets a retriever: a graph node searches a store, a tool returns its hits, a function
fuses three lists or reorders one. Such a step is told by its documents: new ones are a retrieval, known ones
in another order or number a rerank, and the same ones are plumbing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ragtrace import semconv as names
from ragtrace.documents import read_documents
from ragtrace.model import RetrievedDocument
from ragtrace.spans import Content

Documents = tuple[RetrievedDocument, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A step found ``documents``, or (``given`` is not ``None``) made them from ``given``."""

    documents: Documents
    given: Documents | None = None


def found(
    before: Sequence[Documents], after: Sequence[Documents], told: Sequence[Documents] = ()
) -> Found | None:
    """What a step did that had the lists ``before`` and gave ``after``; ``None`` where it passed them on.

    ``told`` are lists that a hook has recorded, maybe for this very step.
    """
    seen = [_identity(documents) for documents in (*before, *told)]
    fresh = [documents for documents in after if _identity(documents) not in seen]
    if not fresh:
        return None
    last, source = fresh[-1], _union(before)
    overlap = {document.id for document in last} & {document.id for document in source}
    return Found(last, source if overlap or (source and not last) else None)


def read_lists(values: Iterable[object]) -> list[Documents]:
    """The documents of each of ``values`` that holds some, in any shape."""
    return [documents for value in values if (documents := read_documents(value)) is not None]


def content_of(step: Found, question: str | None) -> Content:
    """What the span of such a step says."""
    if step.given is None:
        return Content(kind=names.KIND_RETRIEVAL, question=question, documents=step.documents)
    before = {document.id: document.score for document in step.given}
    return Content(
        kind=names.KIND_RERANK,
        question=question,
        documents=[_ranked(document, before.get(document.id)) for document in step.documents],
        input_documents=step.given,
    )


def _ranked(document: RetrievedDocument, before: float | None) -> RetrievedDocument:
    """A document with the reranker's score: one given as such, else one that was not there before."""
    if document.rerank_score is not None:
        return replace(document, score=document.rerank_score)
    return document if document.score == before else replace(document, rerank_score=document.score)


def _identity(documents: Documents) -> list[tuple[object, ...]]:
    """What makes two lists the same: documents, texts and scores, in order."""
    return [(d.id, d.text, d.score, d.rerank_score) for d in documents]


def _union(lists: Sequence[Documents]) -> Documents:
    """All documents of several lists, each at its first place, ranked anew."""
    first: dict[str, RetrievedDocument] = {}
    for documents in lists:
        for document in documents:
            first.setdefault(document.id, document)
    return tuple(replace(document, rank=rank) for rank, document in enumerate(first.values(), 1))
