"""Any document shape → :class:`~ragtrace.model.RetrievedDocument`. Total: never raises, consumes no iterator.

Read are: text, dicts with the usual key names, ``(document, score)`` tuples, LangChain, LlamaIndex and
Haystack documents, dataclasses, pydantic models, answers of vector stores (Chroma's parallel lists,
Elasticsearch hits, Pinecone matches, Qdrant points), and results that hold any of these under a usual name.

No id and no score is made up: a document without an id gets a hash of its text and says so in ``id_source``;
a distance is never a score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from ragtrace._document import SEQUENCES, as_number, content_id, get, is_scored, read_document
from ragtrace.model import RetrievedDocument

__all__ = ["content_id", "read_document", "read_documents"]

LIST_KEYS = (
    *("documents", "docs", "contexts", "context", "chunks", "passages", "nodes"),
    *("source_nodes", "source_documents", "retrieved_documents", "retrieved_contexts"),
    *("results", "matches", "hits", "points", "objects", "data", "value"),
)
"""Names under which a result holds its list of documents."""
_MAX_NESTING = 4


def read_documents(value: object) -> tuple[RetrievedDocument, ...] | None:
    """Read the documents of ``value`` in their order; ranks count from 1.

    ``()`` for an empty result, ``None`` where nothing in ``value`` looks like a document (a generator, a
    number, an object of an unknown shape). An item that cannot be read keeps its rank, without text and id:
    the numbers that an answer cites stay right.
    """
    try:
        return _read(value, 0)
    except Exception:  # noqa: BLE001  # the app's objects may raise from anything that we touch
        return None


def _read(value: Any, depth: int) -> tuple[RetrievedDocument, ...] | None:
    if value is None or depth > _MAX_NESTING:
        return None
    if isinstance(value, str):
        return _items((value,)) if value else ()
    if isinstance(value, tuple) and (pairs := _paired(value)) is not None:
        return pairs
    if isinstance(value, SEQUENCES) or type(value).__name__ in ("ndarray", "dict_values"):
        values = list(value)
        one_batch = len(values) == 1 and isinstance(values[0], list)
        return _read(values[0], depth + 1) if one_batch else _items(values)
    return _held(value, depth)


def _held(value: object, depth: int) -> tuple[RetrievedDocument, ...] | None:
    """The documents of one object: parallel lists, a list under a usual name, or the object itself."""
    if isinstance(value, Mapping) and (columns := _columns(value)) is not None:
        return columns
    for key in LIST_KEYS:
        inner = get(value, key)
        if isinstance(inner, (*SEQUENCES, Mapping)) and (found := _read(inner, depth + 1)) is not None:
            return found
    document = read_document(value, 1)
    return None if document is None else (document,)


def _items(values: Iterable[object]) -> tuple[RetrievedDocument, ...] | None:
    found, known = [], False
    for rank, item in enumerate(values, 1):
        document = read_document(item, rank)
        known = known or document is not None
        found.append(document or RetrievedDocument(id="", rank=rank, id_source="none"))
    return tuple(found) if known or not found else None


def _paired(value: tuple[Any, ...]) -> tuple[RetrievedDocument, ...] | None:
    """``(documents, scores)`` as two lists of one length, or one ``(document, score)``."""
    if len(value) != 2:
        return None
    first, second = value
    if not isinstance(first, SEQUENCES):
        return _items((value,)) if is_scored(value) else None
    if not first or not _is_listed(second) or len(first) != len(second):
        return None
    numbers = [as_number(item) for item in second]
    return None if None in numbers else _items(list(zip(first, numbers, strict=True)))


def _columns(value: Mapping[Any, Any]) -> tuple[RetrievedDocument, ...] | None:
    """Chroma's answer: lists of ids, documents, metadatas, distances; nested by query, the first is read."""
    ids = value.get("ids")
    if not isinstance(ids, list):
        return None
    nested = bool(ids) and isinstance(ids[0], list)
    if nested:
        ids = ids[0]

    def column(name: str) -> Sequence[Any]:
        values: Any = value.get(name)
        if nested and _is_listed(values) and len(values) > 0:
            values = values[0]
        return values if _is_listed(values) and len(values) == len(ids) else [None] * len(ids)

    rows = zip(
        ids, column("documents"), column("metadatas"), column("distances"), column("scores"), strict=True
    )
    return _items([{"id": i, "text": t, "metadata": m, "distance": d, "score": s} for i, t, m, d, s in rows])


def _is_listed(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple) or type(value).__name__ == "ndarray"
