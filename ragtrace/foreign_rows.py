"""Rows of other tools' evaluation sets → rows with our names.

Read are the column names of Ragas 0.1 to 0.4, LangSmith (examples and test results), Phoenix (dataset
examples, span frames, retrieval frames), TruLens (ground truth) and Chinese headings. A row that has our
names already comes through unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ragtrace import set_labels as labels
from ragtrace.documents import content_id
from ragtrace.rows import FIELDS

_RESULTS: Final = frozenset(
    {"outcomes", "claims", "citations", "relevance", "needs", "diagnosis", "judge", "sampling", "explain"}
    | {"hops", "sources", "missing", "kept_ratio", "dialect"}
)
"""What ``ragtrace score --json`` adds to a row: results, no part of a set."""

_RENAMED: Final[Mapping[str, str]] = {
    "expected_response": "reference",
    "other_references": "more_references",
    "问题": "question",
    "回答": "answer",
    "上下文": "documents",
    "文档": "documents",
    "检索文档": "documents",
    "标准答案": "reference",
    "参考答案": "reference",
    "语言": "language",
    "attributes.input.value": "question",
    "attributes.output.value": "answer",
    "attributes.retrieval.documents": "documents",
}
_PARTS: Final[Mapping[str, str]] = {
    "inputs": "inputs",
    "input": "inputs",
    "outputs": "outputs",
    "output": "outputs",
    "reference_outputs": "expected",
    "expected": "expected",
    "reference": "expected",
}
"""Names under which LangSmith and Phoenix keep an object (or dotted columns) of values."""
_GOLD_TEXTS: Final = ("reference_contexts", "expected_chunks")
"""Columns that name the right documents by their texts (Ragas, TruLens)."""
_PHOENIX: Final = frozenset({"context.span_id", "document_position", "document_score"})
"""A frame with one of these has the retrieved text in ``reference``."""


def ours(row: Mapping[str, Any]) -> dict[str, Any]:
    """``row`` under our names (:data:`ragtrace.rows.FIELDS`), labels and metadata at the top level."""
    flat = _lifted({_RENAMED.get(key, key): value for key, value in row.items() if key not in _RESULTS})
    metadata = flat.pop("metadata", None)
    if isinstance(metadata, Mapping):
        flat = {**metadata, **flat}
    elif metadata is not None:
        flat["metadata"] = metadata
    if not _PHOENIX.isdisjoint(flat) and not _has(flat, "documents") and "reference" in flat:
        flat["documents"] = flat.pop("reference")
    return _labelled(_with_gold(_with_references(_with_turns(flat))))


def _lifted(row: dict[str, Any]) -> dict[str, Any]:
    """The values inside ``inputs``, ``outputs`` and ``reference_outputs`` at the top level.

    An example of a set has no answer yet: without a reference of its own, its outputs are the reference.
    """
    parts: dict[str, dict[str, Any]] = {}
    rest = {}
    for key, value in row.items():
        head, dot, tail = key.partition(".")
        part = _PARTS.get(head if dot else key)
        if part is not None and dot:
            parts.setdefault(part, {})[tail] = value
        elif part is not None and isinstance(value, Mapping):
            parts.setdefault(part, {}).update(value)
        elif dot and head == "metadata":
            rest[tail] = value
        else:
            rest[key] = value
    if "inputs" not in parts:
        return rest
    is_example = "expected" not in parts and not _has(rest, "reference")
    made = _of_part(parts["inputs"], "question")
    made |= _of_part(parts.get("outputs", {}), "reference" if is_example else "answer")
    made |= _of_part(parts.get("expected", {}), "reference")
    return {**made, **rest}


def _of_part(part: Mapping[str, Any], role: str) -> dict[str, Any]:
    """One object's values: the one that plays ``role`` under that name, the others under their own."""
    if role == "question" and _is_conversation(part.get("messages")):
        return {**part, "question": part["messages"]}
    names = (*FIELDS[role], *FIELDS["answer"]) if role == "reference" else FIELDS[role]
    texts = [key for key, value in part.items() if isinstance(value, str)]
    key = next((name for name in names if part.get(name) is not None), None)
    if key is None and len(texts) == 1:
        key = texts[0]
    if key is None:
        return dict(part)
    return {**{name: value for name, value in part.items() if name != key}, role: part[key]}


def _with_turns(row: dict[str, Any]) -> dict[str, Any]:
    """A conversation in place of the question: its last question, the turns before, the answer behind."""
    key = next((name for name in FIELDS["question"] if row.get(name) is not None), None)
    if key is None or not _is_conversation(row[key]):
        return row
    messages = [_message(one) for one in row[key]]
    asked = max((n for n, (role, _) in enumerate(messages) if role == "user"), default=None)
    if asked is None:
        return row
    said = [text for role, text in messages[asked + 1 :] if role == "assistant"]
    found: dict[str, Any] = {key: messages[asked][1]}
    if asked:
        found["history"] = [{"role": role, "content": text} for role, text in messages[:asked]]
    if said and not _has(row, "answer"):
        found["answer"] = said[-1]
    return row | found


def _is_conversation(value: object) -> bool:
    return isinstance(value, Sequence) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _message(one: Mapping[str, Any]) -> tuple[str, str]:
    role = str(one.get("role") or one.get("type") or "")
    return {"human": "user", "ai": "assistant"}.get(role, role), str(one.get("content") or "")


def _with_references(row: dict[str, Any]) -> dict[str, Any]:
    """The other references of a row of ours, behind its first."""
    more = row.pop("more_references", None)
    first = row.get("reference")
    if more and isinstance(first, str):
        row["reference"] = [first, *more]
    return row


def _with_gold(row: dict[str, Any]) -> dict[str, Any]:
    """Right documents that are named by their texts, by the ids that documents without one get."""
    key = next((name for name in _GOLD_TEXTS if row.get(name)), None)
    if key is None or _has(row, "gold"):
        return row
    texts = [row[key]] if isinstance(row[key], str) else row[key]
    bodies = [one.get("text") if isinstance(one, Mapping) else one for one in texts]
    return row | {"gold": [content_id(body) for body in bodies if isinstance(body, str)]}


def _labelled(row: dict[str, Any]) -> dict[str, Any]:
    for name, read in (("question_type", labels.question_type), ("difficulty", labels.difficulty)):
        value = next((row[key] for key in labels.FIELDS[name] if isinstance(row.get(key), str)), None)
        if value is not None and value.strip():
            row[name] = read(value)
    return row


def _has(row: Mapping[str, Any], field: str) -> bool:
    return any(row.get(name) is not None for name in FIELDS[field])
