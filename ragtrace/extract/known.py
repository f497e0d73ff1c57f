"""Sets of documents: which entries are one document, and what one list knows of another's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ragtrace.model import RetrievedDocument


class Known:
    """Documents to be found again by id, else by text."""

    def __init__(self, documents: Iterable[RetrievedDocument]) -> None:
        self._by_id: dict[str, RetrievedDocument] = {}
        self._by_text: dict[str, RetrievedDocument] = {}
        for document in documents:
            if document.id:
                self._by_id.setdefault(document.id, document)
            if document.text is not None:
                self._by_text.setdefault(document.text, document)

    def find(self, document: RetrievedDocument) -> RetrievedDocument | None:
        """The entry that is the same document: of the same id, or of the same text."""
        found = self._by_id.get(document.id) if document.id else None
        if found is None and document.text is not None:
            found = self._by_text.get(document.text)
        return found


def completed(
    documents: Sequence[RetrievedDocument],
    known: Iterable[RetrievedDocument],
    *,
    keep_scores: bool = True,
    reranked: bool = False,
) -> tuple[RetrievedDocument, ...]:
    """``documents`` with the ids, texts and metadata that they lack, from ``known``.

    Their numbers too if ``keep_scores``: not so where a stage put them in a new order and gave no numbers.
    ``reranked``: numbers that differ from the known ones are a reranker's.
    """
    index = Known(known)
    return ranked([_completed(d, index.find(d), keep_scores, reranked) for d in documents])


def _completed(
    document: RetrievedDocument, other: RetrievedDocument | None, keep_scores: bool, reranked: bool
) -> RetrievedDocument:
    if other is None:
        return document
    named = document.id_source in ("content_hash", "none") and other.id_source in ("given", "metadata")
    score = document.score if document.score != other.distance else None  # a distance under another name
    is_new = reranked and score is not None and score != other.score and document.rerank_score is None
    return replace(
        document,
        id=other.id if named else document.id,
        id_source=other.id_source if named else document.id_source,
        text=other.text if document.text is None else document.text,
        score=other.score if score is None and keep_scores else score,
        distance=other.distance
        if document.distance is None and score is None and keep_scores
        else document.distance,
        rerank_score=score if is_new else document.rerank_score,
        metadata=document.metadata or other.metadata,
    )


def distinct(documents: Iterable[RetrievedDocument]) -> tuple[RetrievedDocument, ...]:
    """``documents`` without repeats (the first stays), ranked anew."""
    kept: dict[object, RetrievedDocument] = {}
    for document in documents:
        kept.setdefault(document.id or document.text or object(), document)
    return ranked(list(kept.values()))


def ranked(documents: Sequence[RetrievedDocument]) -> tuple[RetrievedDocument, ...]:
    """``documents`` with the ranks of their positions."""
    return tuple(d if d.rank == rank else replace(d, rank=rank) for rank, d in enumerate(documents, 1))


def keys_of(documents: Iterable[RetrievedDocument]) -> list[str]:
    """The ids (else the texts) of ``documents``, in order."""
    return [document.id or document.text or "" for document in documents]
