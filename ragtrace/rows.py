"""Rows of interaction JSONL and of other tools' evaluation sets → interactions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ragtrace.documents import read_documents
from ragtrace.errors import InputError
from ragtrace.model import Feedback, Interaction, Language, RetrievedDocument, Turn

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "question": ("question", "query", "user_input", "input"),
    "rewritten_question": ("rewritten_question", "standalone_question"),
    "documents": ("documents", "contexts", "retrieved_contexts", "retrieved_documents", "context", "docs"),
    "ids": ("ids", "document_ids", "retrieved_ids", "retrieved_context_ids"),
    "answer": ("answer", "response", "output", "prediction"),
    "reference": (
        *("reference", "ground_truth", "ground_truth_answer", "reference_answer", "answer_gt"),
        *("ground_truths", "references", "expected_answer", "expected_output"),
    ),
    "gold": ("gold", "gold_ids", "gold_documents", "ground_truth_docs", "reference_context_ids"),
    "history": ("history", "turns"),
    "language": ("language", "lang"),
    "session": ("session", "session_id", "conversation_id", "thread_id"),
    "user": ("user", "user_id"),
    "trace_id": ("trace_id",),
    "entry_span_id": ("span_id", "entry_span_id"),
    "app": ("app",),
    "partial": ("partial",),
    "feedback": ("feedback",),
}
"""Field of an interaction → the names under which rows have it, the first that is there wins."""

_KNOWN = frozenset(name for names in FIELDS.values() for name in names)


def _others(row: Mapping[str, Any]) -> dict[str, Any]:
    """What is no field of an interaction; and a language that is judged as another, for breakdowns."""
    kept = {key: value for key, value in row.items() if key not in _KNOWN}
    languages = {key: row[key] for key in FIELDS["language"] if row.get(key) not in (None, "", "en", "zh")}
    return kept | languages


def interaction_from_row(row: Mapping[str, Any], source: str = "", line: int | None = None) -> Interaction:
    """Read one row.

    Args:
        row: an object with at least a question or an answer; see :data:`FIELDS` for the names. Documents may
            be texts or objects, may be empty (a retrieval that found nothing), may lack text.
        source: names the file, for errors.
        line: 1-based line in it.

    Returns:
        The interaction. Keys that are no field of it are kept in ``metadata``; ``missing`` names what the
        row does not have.

    Raises:
        InputError: a field has a value of the wrong type; names source, line and field.
    """
    reader = _Row(row, source, line)
    question, answer = reader.text("question"), reader.text("answer")
    if question is None and answer is None:
        raise InputError(f"no question and no answer among the keys {_shown(row)}", source, line)
    documents = reader.documents()
    references = reader.references()
    found = {"question": question, "documents": documents, "answer": answer}
    return Interaction(
        question=question,
        rewritten_question=reader.text("rewritten_question"),
        history=reader.history(),
        documents=documents,
        answer=answer,
        partial=bool(reader.value("partial")),
        reference=references[0] if references else None,
        other_references=references[1:],
        gold=reader.gold(),
        feedback=reader.feedback(),
        language=reader.language(),
        app=reader.text("app"),
        session=reader.text("session"),
        user=reader.text("user"),
        trace_id=reader.text("trace_id"),
        entry_span_id=reader.text("entry_span_id"),
        sources={name: f"row:{key}" for name in found if (key := reader.key(name)) is not None},
        missing=tuple(name for name, value in found.items() if value is None),
        metadata=_others(row),
    )


class _Row:
    """One row with its place, so that every complaint names field, source and line."""

    def __init__(self, row: Mapping[str, Any], source: str, line: int | None) -> None:
        self._row, self._source, self._line = row, source, line

    def key(self, field: str) -> str | None:
        return next((name for name in FIELDS[field] if not _is_absent(self._row.get(name))), None)

    def value(self, field: str) -> Any:
        key = self.key(field)
        return None if key is None else self._row[key]

    def text(self, field: str) -> str | None:
        value = self.value(field)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        raise self._wrong(field, "text", value)

    def references(self) -> tuple[str, ...]:
        value = self.value("reference")
        values = [value] if isinstance(value, str | int | float) else value
        if values is None:
            return ()
        if not _is_list(values) or not all(isinstance(one, str | int | float) for one in values):
            raise self._wrong("reference", "text or a list of texts", value)
        return tuple(str(one) for one in values if str(one).strip())

    def documents(self) -> tuple[RetrievedDocument, ...] | None:
        value = self.value("documents")
        if value is None:
            return self._only_ids()
        if isinstance(value, str):
            value = [value]
        found = read_documents(value) if _is_list(value) else None
        if found is None:
            wanted = "a list of texts or objects"
            if _is_list(value) and len(value) > 0:
                wanted, value = f"{wanted}, each with its text: the first", value[0]
            raise self._wrong("documents", wanted, value)
        return self._with_ids(found)

    def _only_ids(self) -> tuple[RetrievedDocument, ...] | None:
        ids = self._ids()
        return (
            None
            if ids is None
            else tuple(RetrievedDocument(id, rank) for rank, id in enumerate(ids, start=1))
        )

    def _with_ids(self, documents: tuple[RetrievedDocument, ...]) -> tuple[RetrievedDocument, ...]:
        ids = self._ids()
        if ids is None:
            return documents
        if len(ids) != len(documents):
            raise InputError(f"{len(ids)} ids for {len(documents)} documents", self._source, self._line)
        return tuple(replace(one, id=id, id_source="given") for one, id in zip(documents, ids, strict=True))

    def _ids(self) -> list[str] | None:
        value = self.value("ids")
        if value is None:
            return None
        if not _is_list(value) or not all(isinstance(one, str | int) for one in value):
            raise self._wrong("ids", "a list of ids", value)
        return [str(one) for one in value]

    def gold(self) -> dict[str, float] | None:
        value = self.value("gold")
        if value is None:
            return None
        if isinstance(value, Mapping) and all(_is_grade(grade) for grade in value.values()):
            return {str(id): float(grade) for id, grade in value.items()}
        if _is_list(value) and all(isinstance(one, str | int) for one in value):
            return {str(id): 1.0 for id in value}
        raise self._wrong("gold", "a list of ids, or an object id → grade", value)

    def history(self) -> tuple[Turn, ...]:
        value = self.value("history")
        if value is None:
            return ()
        if not _is_list(value):
            raise self._wrong("history", "a list of turns", value)
        return tuple(_turns(value))

    def feedback(self) -> tuple[Feedback, ...]:
        value = self.value("feedback")
        rows = value if _is_list(value) else [] if value is None else [value]
        return tuple(
            Feedback(str(one.get("name", "feedback")), one["value"], one.get("comment"))
            if isinstance(one, Mapping) and "value" in one
            else Feedback("feedback", one if isinstance(one, str | int | float) else str(one))
            for one in rows
        )

    def language(self) -> Language | None:
        value = self.text("language")
        if value is None:
            return None
        return "zh" if value.lower().startswith(("zh", "cn", "chinese", "中")) else "en"

    def _wrong(self, field: str, wanted: str, value: object) -> InputError:
        message = f"{self.key(field)} must be {wanted}, found {type(value).__name__}"
        return InputError(message, self._source, self._line)


def _turns(value: Iterable[Any]) -> Iterable[Turn]:
    """Turns as {question, answer} objects, [question, answer] pairs, or chat messages."""
    asked: str | None = None
    for one in value:
        if isinstance(one, Mapping) and "role" in one:
            if one["role"] in {"user", "human"}:
                asked = str(one.get("content", ""))
            elif one["role"] in {"assistant", "ai"}:
                yield Turn(asked, str(one.get("content", "")))
                asked = None
        elif isinstance(one, Mapping):
            yield Turn(one.get("question"), one.get("answer"))
        elif _is_list(one) and len(one) == 2:
            yield Turn(str(one[0]), str(one[1]))


def _is_list(value: object) -> bool:
    return (isinstance(value, Sequence) and not isinstance(value, str | bytes)) or hasattr(value, "__array__")


def _is_absent(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _is_grade(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _shown(row: Mapping[str, Any]) -> str:
    return ", ".join(sorted(map(str, row))[:8]) or "(none)"
