"""One object of any shape → one :class:`~ragtrace.model.RetrievedDocument`."""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ragtrace.model import IdSource, RetrievedDocument
from ragtrace.serialize import clean

TEXT_KEYS = (
    *("page_content", "content", "text", "body", "chunk", "chunk_text", "passage", "snippet"),
    "document",
)
ID_KEYS = ("id", "doc_id", "document_id", "chunk_id", "node_id", "id_", "_id", "point_id", "uuid")
METADATA_ID_KEYS = ("id", "doc_id", "document_id", "chunk_id", "_id")
"""Metadata keys that name the document itself. A ``source`` names a file, which many documents may share."""
SCORE_KEYS = ("score", "similarity", "similarity_score", "_score", "@search.score", "certainty")
RERANK_KEYS = ("rerank_score", "reranker_score", "relevance_score", "@search.rerankerScore")
DISTANCE_KEYS = ("distance", "_distance", "vector_distance", "cosine_distance", "l2_distance")
METADATA_KEYS = ("metadata", "meta", "payload", "properties", "fields")
INNER_KEYS = ("node", "document", "doc", "chunk", "passage", "_source", "entity", "payload", "object")
"""Where a search result keeps the document that it is about."""
SOURCE_KEYS = ("source", "title", "url", "uri", "link", "name", "path", "file_name", "page", "section")
"""Attributes of an object that are kept as metadata: citations may name a document by them."""
VECTOR_KEYS = frozenset(
    {"embedding", "embeddings", "vector", "vectors", "values", "sparse_values", "sparse_embedding"}
)

SEQUENCES = (list, tuple, deque, set, frozenset)
_MAX_NESTING = 4
_GIVEN: IdSource = "given"
_NOT_METADATA = VECTOR_KEYS.union(
    TEXT_KEYS, ID_KEYS, SCORE_KEYS, RERANK_KEYS, DISTANCE_KEYS, METADATA_KEYS, INNER_KEYS, ("rank",)
)


def read_document(value: object, rank: int) -> RetrievedDocument | None:
    """Read one document, which stands at the 1-based ``rank``; ``None`` where ``value`` looks like none."""
    try:
        return _document(value, rank, 0)
    except Exception:  # noqa: BLE001  # the app's objects may raise from anything that we touch
        return None


def content_id(text: str) -> str:
    """Id of a document that has none: ``sha256:`` and 16 hex digits of its text's hash."""
    return "sha256:" + hashlib.sha256(clean(text).encode()).hexdigest()[:16]


def _document(item: object, rank: int, depth: int) -> RetrievedDocument | None:
    if isinstance(item, str):
        text = str.__str__(item)  # numpy's strings are strings that no encoder of spans takes
        return RetrievedDocument(content_id(text), rank, text, "content_hash")
    if isinstance(item, tuple) and is_scored(item):
        inner = _document(item[0], rank, depth + 1)
        return None if inner is None else replace(inner, score=as_number(item[1]))
    if item is None or isinstance(item, bool | int | float | bytes | list | tuple | set):
        return None
    if isinstance(item, Mapping):
        return _from_fields(item, item, rank, depth)
    own = getattr(item, "__dict__", None)
    return _from_fields(item, own if isinstance(own, dict) else {}, rank, depth)


def _from_fields(item: object, own: Mapping[str, Any], rank: int, depth: int) -> RetrievedDocument | None:
    """Read ``item`` by name; ``own`` holds what it stores itself, looked at first because that is cheap."""
    text = _first(item, own, TEXT_KEYS, _as_text)
    if text is None and depth < _MAX_NESTING and (inner := _inner(item, own, rank, depth)) is not None:
        return _around(inner, item, own)
    metadata = _metadata(item, own)
    if text is None:
        text, metadata = _text_in(metadata)
    given = _first(item, own, ID_KEYS, _as_id)
    identity, id_source = (given, _GIVEN) if given is not None else _derived_id(metadata, text)
    if id_source == "none":
        return None
    score, rerank, distance = _numbers(item, own, metadata)
    return RetrievedDocument(identity, rank, text, id_source, score, distance, rerank, metadata)


def _derived_id(metadata: Mapping[str, Any], text: str | None) -> tuple[str, IdSource]:
    for key in METADATA_ID_KEYS:
        if (known := _as_id(metadata.get(key))) is not None:
            return known, "metadata"
    return (content_id(text), "content_hash") if text is not None else ("", "none")


def _text_in(metadata: Mapping[str, Any]) -> tuple[str | None, Mapping[str, Any]]:
    """A text that a vector store keeps among the metadata, and the metadata without it."""
    for key in TEXT_KEYS:
        if (text := _as_text(metadata.get(key))) is not None:
            return text, {k: v for k, v in metadata.items() if k != key}
    return None, metadata


def _numbers(
    item: object, own: Mapping[str, Any], metadata: Mapping[str, Any]
) -> tuple[float | None, float | None, float | None]:
    """Score, rerank score and distance. Where a reranker's number is the only one, it is the score too."""
    score, rerank, distance = (
        _in_either(keys, own, metadata) for keys in (SCORE_KEYS, RERANK_KEYS, DISTANCE_KEYS)
    )
    if not own and score is None:
        score, distance = as_number(get(item, "score")), as_number(get(item, "distance"))
    return (rerank if score is None else score), rerank, distance


def _in_either(keys: tuple[str, ...], own: Mapping[str, Any], metadata: Mapping[str, Any]) -> float | None:
    for fields in (own, metadata):
        for key in keys:
            if key in fields and (number := as_number(fields[key])) is not None:
                return number
    return None


def _inner(item: object, own: Mapping[str, Any], rank: int, depth: int) -> RetrievedDocument | None:
    for key in INNER_KEYS:
        value = own.get(key) if own else get(item, key)
        if value is None or isinstance(value, (str, *SEQUENCES)):
            continue
        document = _document(value, rank, depth + 1)
        if document is not None and document.text is not None:
            return document
    return None


def _around(inner: RetrievedDocument, item: object, own: Mapping[str, Any]) -> RetrievedDocument:
    """The document inside a search result, with the result's numbers (and id, where it has none)."""
    score, rerank, distance = _numbers(item, own, {})
    given = _first(item, own, ID_KEYS, _as_id) if inner.id_source == "content_hash" else None
    return replace(
        inner,
        id=inner.id if given is None else given,
        id_source=inner.id_source if given is None else _GIVEN,
        score=inner.score if score is None else score,
        rerank_score=inner.rerank_score if rerank is None else rerank,
        distance=inner.distance if distance is None else distance,
    )


def _metadata(item: object, own: Mapping[str, Any]) -> Mapping[str, Any]:
    given = next((m for key in METADATA_KEYS if isinstance(m := _own_or_get(item, own, key), Mapping)), None)
    if isinstance(item, Mapping):
        extra = {k: v for k, v in own.items() if k not in _NOT_METADATA}
    else:
        extra = {k: own[k] for k in SOURCE_KEYS if k in own and isinstance(own[k], str | int)}
    if not extra:
        return given if given is not None else {}
    return {**extra, **(given or {})}


# --- values -----------------------------------------------------------------------------------------------


def get(item: object, key: str) -> Any:
    """``item``'s value under ``key``, as a key or as an attribute; ``None`` where there is none."""
    if isinstance(item, Mapping):
        return item.get(key)
    try:
        return getattr(item, key, None)
    except Exception:  # noqa: BLE001  # a property of the app's that raises is a property that is not there
        return None


def as_number(value: object) -> float | None:
    """A finite float of a Python or numpy number; ``None`` for all else (a bool is no number)."""
    if isinstance(value, bool):
        return None
    if not isinstance(value, float | int) and not (
        hasattr(value, "__float__") and getattr(value, "shape", ()) == ()
    ):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def is_scored(value: tuple[object, ...]) -> bool:
    """``(something, number)``."""
    return len(value) == 2 and as_number(value[1]) is not None and as_number(value[0]) is None


def _own_or_get(item: object, own: Mapping[str, Any], key: str) -> Any:
    return own.get(key) if own else get(item, key)


def _first(
    item: object, own: Mapping[str, Any], keys: tuple[str, ...], read: Callable[[object], str | None]
) -> str | None:
    """The first of ``keys`` that ``read`` accepts: stored by the item, else a property of its class."""
    for key in keys:
        if key in own and (value := read(own[key])) is not None:
            return value
    if isinstance(item, Mapping):
        return None
    cls = type(item)
    for key in keys:
        if hasattr(cls, key) and (value := read(get(item, key))) is not None:
            return value
    return None


def _as_text(value: object) -> str | None:
    """A string, or the joined texts of ``[{"type": "text", "text": …}, …]``."""
    if isinstance(value, str):
        return str.__str__(value)
    if not isinstance(value, list) or not value:
        return None
    texts = [part.get("text") for part in value if isinstance(part, Mapping)]
    return (
        "\n".join(t for t in texts if isinstance(t, str)) if any(isinstance(t, str) for t in texts) else None
    )


def _as_id(value: object) -> str | None:
    if isinstance(value, str):
        return value or None
    if value is None or isinstance(value, (bool, float, Mapping, *SEQUENCES)) or callable(value):
        return None
    return str(value)
