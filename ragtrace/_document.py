"""One object of any shape → one :class:`~ragtrace.model.RetrievedDocument`."""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast

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

T = TypeVar("T")

SEQUENCES = (list, tuple, deque, set, frozenset)
_MAX_NESTING = 4
_MAX_PLANNED_KEYS = 64
_GIVEN: IdSource = "given"
_NUMBER_KEYS = frozenset((*SCORE_KEYS, *RERANK_KEYS, *DISTANCE_KEYS))
_NOT_METADATA = VECTOR_KEYS.union(TEXT_KEYS, ID_KEYS, _NUMBER_KEYS, METADATA_KEYS, INNER_KEYS, ("rank",))


def read_document(value: object, rank: int) -> RetrievedDocument | None:
    """Read one document, which stands at the 1-based ``rank``; ``None`` where ``value`` looks like none."""
    try:
        return _document(value, rank, 0)
    except Exception:  # noqa: BLE001  # the app's objects may raise from anything that we touch
        return None


def content_id(text: str) -> str:
    """Id of a document that has none: ``sha256:`` and 16 hex digits of its text's hash."""
    return "sha256:" + hashlib.sha256(clean(text).encode()).hexdigest()[:16]


def _document(item: Any, rank: int, depth: int) -> RetrievedDocument | None:
    cls: Any = type(item)
    own = _OWN[_shape(cls)](item)
    if own is None:
        return _simple(item, rank, depth)
    find = _plan if len(own) <= _MAX_PLANNED_KEYS else _plan.__wrapped__
    return _from_fields(own, find(cls, tuple(own)), item, rank, depth)


def _simple(item: Any, rank: int, depth: int) -> RetrievedDocument | None:
    """A text, or a ``(document, score)`` pair."""
    if isinstance(item, str):
        text = str.__str__(item)  # numpy's strings are strings that no encoder of spans takes
        return RetrievedDocument(content_id(text), rank, text, "content_hash")
    if not isinstance(item, tuple) or not is_scored(item):
        return None
    inner = _document(item[0], rank, depth + 1)
    return None if inner is None else replace(inner, score=as_number(item[1]))


@lru_cache(maxsize=512)
def _shape(cls: type) -> str:
    """How instances of ``cls`` keep what they hold."""
    if issubclass(cls, _NO_FIELDS):
        return "simple"
    if issubclass(cls, Mapping):
        return "mapping"
    return "object" if cls.__dictoffset__ != 0 else "slots"


_NO_FIELDS = (str, bytes, int, float, list, tuple, set, frozenset, type, type(None))


def _slots(item: object) -> dict[str, Any]:
    """What an object without a dict keeps under the names that matter."""
    return {name: value for name in _ALL_KEYS if (value := get(item, name)) is not None}


_OWN: Mapping[str, Callable[[Any], Mapping[Any, Any] | None]] = {
    "simple": lambda item: None,
    "mapping": lambda item: cast("Mapping[Any, Any]", item),
    "object": vars,
    "slots": _slots,
}
_ALL_KEYS = tuple(
    dict.fromkeys((*TEXT_KEYS, *ID_KEYS, *_NUMBER_KEYS, *METADATA_KEYS, *INNER_KEYS, *SOURCE_KEYS))
)


class _Plan(NamedTuple):
    """Which names hold what in items of one class with the same keys, in the order in which to look."""

    texts: tuple[str, ...]
    ids: tuple[str, ...]
    scores: tuple[str, ...]
    reranks: tuple[str, ...]
    distances: tuple[str, ...]
    metadata: tuple[str, ...]
    inner: tuple[str, ...]
    extra: tuple[str, ...]
    class_texts: tuple[str, ...]
    class_ids: tuple[str, ...]


@lru_cache(maxsize=512)
def _plan(cls: type, keys: tuple[Any, ...]) -> _Plan:
    here = frozenset(keys)
    is_mapping = issubclass(cls, Mapping)

    def present(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if name in here)

    def on_class(names: tuple[str, ...]) -> tuple[str, ...]:
        return () if is_mapping else tuple(n for n in names if n not in here and hasattr(cls, n))

    return _Plan(
        texts=present(TEXT_KEYS),
        ids=present(ID_KEYS),
        scores=present(SCORE_KEYS),
        reranks=present(RERANK_KEYS),
        distances=present(DISTANCE_KEYS),
        metadata=present(METADATA_KEYS),
        inner=present(INNER_KEYS),
        extra=tuple(k for k in keys if k not in _NOT_METADATA) if is_mapping else present(SOURCE_KEYS),
        class_texts=on_class(TEXT_KEYS),
        class_ids=on_class(ID_KEYS),
    )


def _from_fields(
    own: Mapping[Any, Any], plan: _Plan, item: object, rank: int, depth: int
) -> RetrievedDocument | None:
    text = _first(own, plan.texts, _as_text)
    if text is None and plan.class_texts:
        text = _from_class(item, plan.class_texts, _as_text)
    if text is None and depth < _MAX_NESTING and (inner := _inner(own, plan, rank, depth)) is not None:
        return _around(inner, own, plan)
    metadata = _metadata(own, plan, is_mapping=own is item)
    if text is None:
        text, metadata = _text_in(metadata)
    given = _first(own, plan.ids, _as_id)
    if given is None and plan.class_ids:
        given = _from_class(item, plan.class_ids, _as_id)
    identity, id_source = (given, _GIVEN) if given is not None else _derived_id(metadata, text)
    if id_source == "none":
        return None
    score, rerank, distance = _numbers(own, plan, metadata)
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
    own: Mapping[Any, Any], plan: _Plan, metadata: Mapping[str, Any]
) -> tuple[float | None, float | None, float | None]:
    """Score, rerank score and distance. Where a reranker's number is the only one, it is the score too."""
    score = _first(own, plan.scores, as_number) if plan.scores else None
    rerank = _first(own, plan.reranks, as_number) if plan.reranks else None
    distance = _first(own, plan.distances, as_number) if plan.distances else None
    if metadata and not _NUMBER_KEYS.isdisjoint(metadata):
        score = _first(metadata, SCORE_KEYS, as_number) if score is None else score
        rerank = _first(metadata, RERANK_KEYS, as_number) if rerank is None else rerank
        distance = _first(metadata, DISTANCE_KEYS, as_number) if distance is None else distance
    return (rerank if score is None else score), rerank, distance


def _inner(own: Mapping[Any, Any], plan: _Plan, rank: int, depth: int) -> RetrievedDocument | None:
    for key in plan.inner:
        value = own[key]
        if value is None or isinstance(value, (str, *SEQUENCES)):
            continue
        document = _document(value, rank, depth + 1)
        if document is not None and document.text is not None:
            return document
    return None


def _around(inner: RetrievedDocument, own: Mapping[Any, Any], plan: _Plan) -> RetrievedDocument:
    """The document inside a search result, with the result's numbers (and id, where it has none)."""
    score, rerank, distance = _numbers(own, plan, {})
    given = _first(own, plan.ids, _as_id) if inner.id_source == "content_hash" else None
    return replace(
        inner,
        id=inner.id if given is None else given,
        id_source=inner.id_source if given is None else _GIVEN,
        score=inner.score if score is None else score,
        rerank_score=inner.rerank_score if rerank is None else rerank,
        distance=inner.distance if distance is None else distance,
    )


def _metadata(own: Mapping[Any, Any], plan: _Plan, *, is_mapping: bool) -> Mapping[str, Any]:
    given: Mapping[str, Any] = {}
    for key in plan.metadata:
        value = own[key]
        if type(value) is dict or isinstance(value, Mapping):
            given = value
            break
    if not plan.extra:
        return given
    extra = {key: own[key] for key in plan.extra if is_mapping or isinstance(own[key], str | int)}
    return {**extra, **given}


# --- values -----------------------------------------------------------------------------------------------


def get(item: object, key: str) -> Any:
    """``item``'s value under ``key``, as a key or as an attribute; ``None`` where there is none."""
    if isinstance(item, Mapping):
        return item.get(key)
    try:
        return getattr(item, key, None)
    except Exception:  # noqa: BLE001  # a property of the app's that raises is a property that is not there
        return None


def as_number(value: Any) -> float | None:
    """A finite float of a Python or numpy number; ``None`` for all else (a bool is no number)."""
    if type(value) is not float and (isinstance(value, bool) or not _is_number(value)):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int) or (
        hasattr(value, "__float__") and getattr(value, "shape", ()) == () and not isinstance(value, type)
    )


def is_scored(value: tuple[object, ...]) -> bool:
    """``(something, number)``."""
    return len(value) == 2 and as_number(value[1]) is not None and as_number(value[0]) is None


def _first(own: Mapping[Any, Any], keys: tuple[str, ...], read: Callable[[Any], T | None]) -> T | None:
    """The value of the first of ``keys`` that ``read`` accepts."""
    for key in keys:
        if (value := read(own.get(key))) is not None:
            return value
    return None


def _from_class(item: object, keys: tuple[str, ...], read: Callable[[Any], T | None]) -> T | None:
    """As :func:`_first`, for properties of the item's class."""
    for key in keys:
        if (value := read(get(item, key))) is not None:
            return value
    return None


def _as_text(value: object) -> str | None:
    """A string, or the joined texts of ``[{"type": "text", "text": …}, …]``."""
    if type(value) is str:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if not isinstance(value, list) or not value:
        return None
    texts = [part.get("text") for part in value if isinstance(part, Mapping)]
    return (
        "\n".join(t for t in texts if isinstance(t, str)) if any(isinstance(t, str) for t in texts) else None
    )


def _as_id(value: object) -> str | None:
    if type(value) is str:
        return value or None
    if isinstance(value, str):
        return str.__str__(value) or None
    if value is None or isinstance(value, (bool, float, Mapping, *SEQUENCES)) or callable(value):
        return None
    return str(value)
