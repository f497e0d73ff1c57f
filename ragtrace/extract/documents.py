"""Document lists in attribute values: JSON, serialised framework objects, reprs, flattened keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from ragtrace.documents import LIST_KEYS, content_id, read_document
from ragtrace.extract.values import decode, unescape, unwrap
from ragtrace.model import RetrievedDocument
from ragtrace.semconv import OI_REDACTED

_WRAPPERS = (
    "outputs",
    "output",
    "result",
    "results",
    "return",
    "kwargs",
    "update",
    "response",
    "inputs",
    "input",
    "data",
)
_TEXT_KEYS = (
    "page_content",
    "content",
    "text",
    "body",
    "chunk",
    "chunk_text",
    "passage",
    "snippet",
    "document",
)
_ID_SOURCES = {"given", "metadata", "content_hash", "none"}
_HASH_PREFIX = "sha256:"
_DOCUMENT_MARKS = (
    "page_content",
    '"content"',
    '"text"',
    "NodeWithScore",
    "Document(",
    '"node"',
    '\\"node\\"',
)
_NODE = re.compile(r"<?NodeWithScore\(.*?id_?=['\"]?([^,'\")\s]+)['\"]?.*?\bscore=([-+\w.]+)\)", re.DOTALL)
_DOCUMENT = re.compile(r"^Document\(id=([^,\s]+),.*?(?:\bscore: ([-+\d.eE]+))?[^()]*\)$", re.DOTALL)
_MAX_NESTING = 6


@dataclass(frozen=True, slots=True)
class DocumentList:
    """Documents as one span lists them.

    ``cut``: some, or parts of some, are missing; ``total`` is how many there were, as far as can be told.
    """

    items: tuple[RetrievedDocument, ...]
    cut: bool = False
    total: int = 0

    @property
    def kept_ratio(self) -> float:
        """Share of the documents that are there in full, as far as can be told."""
        whole = sum(1 for item in self.items if item.text is not None)
        total = max(self.total, len(self.items) + int(self.cut and whole == len(self.items)))
        return whole / total if self.cut and total else 1.0


def may_hold_documents(raw: Any) -> bool:
    """A cheap look before decoding: whether an attribute value may hold a document list."""
    if not isinstance(raw, str):
        return isinstance(raw, list | dict)
    return raw[:1] in ("[", "{") and any(mark in raw for mark in _DOCUMENT_MARKS)


def documents_in(value: Any, *, cut: bool = False, strict: bool = False) -> DocumentList | None:
    """The documents in a decoded value; ``None`` where it holds no document list.

    ``strict`` asks that each item shows itself to be a document (a serialised document, a node, an object
    with a text and an id, a score or metadata): for outputs of steps that did not say that they retrieve.
    Otherwise plain texts count as documents too.
    """
    rows = _rows(value, strict, 0)
    if rows is None:
        return None
    items = tuple(_document(row, rank) for rank, row in enumerate(rows, 1))
    if items and all(item.text is None and not item.id for item in items):
        return None
    return DocumentList(items, cut, len(items))


def _rows(value: Any, strict: bool, depth: int) -> list[Any] | None:
    value = unwrap(value)
    if depth > _MAX_NESTING:
        return None
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], list):
            return _rows(value[0], strict, depth + 1)
        rows = [_row(item) for item in value]
        return rows if all(_is_document(row, strict) for row in rows) else None
    return _rows_of_object(value, strict, depth) if isinstance(value, dict) else None


def _rows_of_object(value: Mapping[str, Any], strict: bool, depth: int) -> list[Any] | None:
    for key in LIST_KEYS:
        inner = unwrap(value.get(key))
        if (
            isinstance(inner, list)
            and (rows := _rows(inner, strict, depth + 1)) is not None
            and (rows or not strict)
        ):
            return rows
    for key in _WRAPPERS:
        inner = unwrap(value.get(key))
        if isinstance(inner, dict | list) and (rows := _rows(inner, strict, depth + 1)) is not None:
            return rows
    return None


def _row(item: Any) -> Any:
    """One listed item, freed of what it is wrapped in."""
    item = unwrap(item)
    if isinstance(item, str):
        return _repr_row(item)
    if isinstance(item, dict):
        inner = item.get("kwargs")
        return inner if "lc" in item and isinstance(inner, dict) else item
    return item


def _repr_row(text: str) -> Any:
    """``<NodeWithScore(node=TextNode(id_=kb-1), score=0.6)>``, ``Document(id=…, …)``: id and score only."""
    if text.startswith(("<NodeWithScore(", "NodeWithScore(")) and (match := _NODE.match(text)):
        return {"id": match.group(1), "score": _number(match.group(2))}
    if text.startswith("Document(id=") and (match := _DOCUMENT.match(text)):
        return {"id": match.group(1), "score": _number(match.group(2))}
    return text


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _is_document(row: Any, strict: bool) -> bool:
    if isinstance(row, str):
        return not strict and not row.startswith(("<", "Document("))
    if not isinstance(row, dict) or "role" in row:
        return False
    if not strict:
        return True
    node = row.get("node") or row.get("document")
    if isinstance(node, dict):
        return True
    known = any(
        row.get(key) is not None
        for key in ("id", "doc_id", "score", "metadata", "meta", "source", "distance")
    )
    has_text = any(isinstance(row.get(key), str) for key in _TEXT_KEYS)
    return "page_content" in row or (known and (has_text or set(row) <= {"id", "score"}))


def _document(row: Any, rank: int) -> RetrievedDocument:
    stated = None
    if isinstance(row, dict) and row.get("id_source") in _ID_SOURCES:
        stated, row = row["id_source"], {key: value for key, value in row.items() if key != "id_source"}
    document = read_document(row, rank)
    if document is None:
        return RetrievedDocument("", rank, None, "none")
    if stated is None and document.id_source == "given" and document.id.startswith(_HASH_PREFIX):
        stated = "content_hash"
    return mend(document if stated is None else replace(document, id_source=stated))


def mend(document: RetrievedDocument) -> RetrievedDocument:
    """A document whose masked text is missing, and whose text has its characters back."""
    text = document.text
    if text is None:
        return document
    if text == OI_REDACTED or not text:
        given = document.id_source in ("given", "metadata")
        return replace(
            document,
            text=None,
            id=document.id if given else "",
            id_source=document.id_source if given else "none",
        )
    plain = unescape(text)
    if plain is text:
        return document
    identity = content_id(plain) if document.id_source == "content_hash" else document.id
    return replace(document, text=plain, id=identity)


# --- flattened keys ---------------------------------------------------------------------------------------


def flattened(attributes: Mapping[str, Any], prefix: str) -> DocumentList | None:
    """``<prefix>.<i>.document.<field>`` → documents in the order of ``i``, which may start above 0.

    ``None`` where there is no such key. An empty list under ``prefix`` itself is an empty result.
    """
    start = prefix + "."
    rows: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        if key.startswith(start):
            index, _, field = key[len(start) :].partition(".document.")
            if index.isdigit() and field:
                rows.setdefault(int(index), {})[field] = value
    if not rows:
        whole = attributes.get(prefix, 0)
        return DocumentList(()) if whole in ([], None) and prefix in attributes else None
    total = max(rows) + 1
    items = tuple(_flat_document(rows[index], rank) for rank, index in enumerate(sorted(rows), 1))
    return DocumentList(items, total > len(rows) or any(item.text is None for item in items), total)


def _flat_document(fields: Mapping[str, Any], rank: int) -> RetrievedDocument:
    identity, text, score = fields.get("id"), fields.get("content"), fields.get("score")
    metadata = decode(fields["metadata"]).value if "metadata" in fields else None
    metadata = metadata if isinstance(metadata, dict) else {}
    named = isinstance(identity, str) and identity and isinstance(text, str) and text
    if named and isinstance(score, float) and isfinite(score):
        return _given_in_full(fields, rank, score, metadata)
    row = {**fields, "metadata": metadata}
    return _document({key: value for key, value in row.items() if value != OI_REDACTED}, rank)


def _given_in_full(
    fields: Mapping[str, Any], rank: int, score: float, metadata: Mapping[str, Any]
) -> RetrievedDocument:
    """Most documents name all that they have: nothing need be looked for in their metadata."""
    identity: str = fields["id"]
    stated = fields.get("id_source")
    shown = "content_hash" if identity.startswith(_HASH_PREFIX) else "given"
    distance, reranked = fields.get("distance"), fields.get("rerank_score")
    return mend(
        RetrievedDocument(
            identity,
            rank,
            fields["content"],
            stated if stated in _ID_SOURCES else shown,  # type: ignore[arg-type]  # one of the four
            score,
            distance if isinstance(distance, float) else None,
            reranked if isinstance(reranked, float) else None,
            metadata,
        )
    )
