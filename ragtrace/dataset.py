"""Evaluation sets: read, validate.

A set is JSONL, a JSON array, CSV or TSV, or a Hugging Face data set (a folder that ``save_to_disk`` wrote, or
``hf:owner/name@split``). Each row becomes an :class:`~ragtrace.model.Interaction`; its ``question_type`` and
``difficulty`` stand normalised in ``metadata``.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from ragtrace import set_labels as labels
from ragtrace.errors import InputError
from ragtrace.foreign_rows import ours
from ragtrace.model import Interaction, RetrievedDocument
from ragtrace.records import interaction_to_dict
from ragtrace.rows import interaction_from_row
from ragtrace.set_files import raw_rows

_SHOWN = 20
_NONE_AT_ALL = ""


class Rows(Protocol):
    """Where rows are kept: what a list can, as far as a set needs it."""

    def append(self, row: Interaction, /) -> None:
        """Add one at the end."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: int, /) -> Interaction: ...
    def __iter__(self) -> Iterator[Interaction]: ...


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """The good rows of a set in their order, and why the others are none.

    ``numbers`` are the rows' numbers in the file (see :func:`ragtrace.set_files.raw_rows`), bad ones counted.
    """

    name: str
    rows: Rows
    numbers: Sequence[int]
    problems: tuple[InputError, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Hash of what the set asks and expects, in order; answers and documents have no part in it."""
        return hashlib.sha256("".join(map(row_key, self.rows)).encode()).hexdigest()[:12]


def read_set(
    source: str | Path,
    *,
    lenient: bool = False,
    needs_answers: bool = True,
    id_field: str | None = None,
    kept_in: Callable[[], Rows] = list,
) -> EvaluationSet:
    """Read a set.

    Args:
        source: a file, a folder of a Hugging Face data set, or ``hf:owner/name@split``.
        lenient: keep the good rows where some are bad.
        needs_answers: a row without an answer is bad; false where the answers are yet to be made.
        id_field: dotted path inside a document whose value is the id that gold ids mean
            (``metadata.source``).
        kept_in: makes what the rows are kept in.

    Raises:
        InputError: the source cannot be read, holds no row, or, unless ``lenient``, a bad row; names each
            bad row with field and reason.
        MissingExtra: a Hugging Face data set without the ``datasets`` library.
    """
    name = str(source)
    return validated(
        raw_rows(source),
        name,
        lenient=lenient,
        needs_answers=needs_answers,
        id_field=id_field,
        kept_in=kept_in,
    )


def validated(
    rows: Iterable[tuple[int, object]],
    name: str,
    *,
    lenient: bool = False,
    needs_answers: bool = True,
    id_field: str | None = None,
    kept_in: Callable[[], Rows] = list,
) -> EvaluationSet:
    """The set of numbered ``rows``: objects, interactions, or the error that stands for one.

    Raises:
        InputError: as :func:`read_set`.
    """
    good, numbers = kept_in(), array("q")
    bad: list[InputError] = []
    for number, row in rows:
        try:
            good.append(_checked(read_row(row, name, number), needs_answers, name, number))
            numbers.append(number)
        except InputError as error:
            bad.append(error)
    if bad and not lenient:
        more = f"\n… and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
        raise InputError("\n".join(map(str, bad[:_SHOWN])) + more + "\n--lenient keeps the good rows")
    if not good:
        raise InputError("no row" + (f"; the first problem: {bad[0]}" if bad else ""), name)
    if id_field is not None:
        unnamed, good = good, kept_in()
        for row in with_ids(unnamed, id_field, name):
            good.append(row)
    return EvaluationSet(name, good, numbers, tuple(bad))


def read_row(row: object, source: str = "", number: int | None = None) -> Interaction:
    """One row of any tool's set.

    Raises:
        InputError: it cannot be read; names row, field and reason.
    """
    if isinstance(row, InputError):
        raise row
    if isinstance(row, Interaction):
        return row
    if not isinstance(row, Mapping):
        raise InputError(f"a row is an object, found {type(row).__name__}", source, number)
    return interaction_from_row(ours(row), source, number)


def set_row(interaction: Interaction) -> dict[str, Any]:
    """A recorded interaction as a row of a set, for people to add ``reference`` and ``gold``.

    Empty fields are left out, but those two, which are there to be filled.
    """
    record = interaction_to_dict(interaction)
    kept = ("question", "rewritten_question", "history", "documents", "answer", "language", *_PLACES)
    filled = {name: record[name] for name in kept if record[name] is not None and record[name] != []}
    if record["documents"] == []:
        filled["documents"] = []
    labels_ = {name: value for name, value in record["metadata"].items() if name not in filled}
    references = [text for text in (record["reference"], *record["other_references"]) if text is not None]
    reference = references if len(references) > 1 else record["reference"]
    return {**filled, "reference": reference, "gold": record["gold"], "metadata": labels_}


_PLACES = ("session", "trace_id", "span_id")
"""Where a row came from."""


def row_key(row: Interaction) -> str:
    """16 hex digits: what the row asks and expects. The same in every run of the set."""
    content = (row.question, row.reference, row.other_references, sorted((row.gold or {}).items()))
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()[:16]


def record_key(record: Mapping[str, Any]) -> str:
    """As :func:`row_key`, of a row that ``--rows`` wrote."""
    return row_key(
        Interaction(
            question=record.get("question"),
            reference=record.get("reference"),
            other_references=tuple(record.get("other_references") or ()),
            gold=record.get("gold"),
        )
    )


def is_unanswerable(row: Interaction) -> bool:
    """Whether the right answer to the row is to decline."""
    return row.metadata.get("question_type") == labels.UNANSWERABLE


def with_ids(rows: Rows | Sequence[Interaction], id_field: str, name: str = "") -> Iterator[Interaction]:
    """The rows with each document's id read from ``id_field``, for sets whose gold ids name files or pages.

    A document without the field keeps its id.

    Raises:
        InputError: there are documents, and not one has the field.
    """
    found = (_id_inside(document, id_field) for row in rows for document in row.documents or ())
    if next(found, _NONE_AT_ALL) is None and all(one is None for one in found):
        raise InputError(f"no document has {id_field}", name)
    for row in rows:
        yield with_document_ids(row, id_field)


def with_document_ids(row: Interaction, id_field: str) -> Interaction:
    """One row with its documents' ids read from ``id_field``."""
    if row.documents is None:
        return row
    named = [(document, _id_inside(document, id_field)) for document in row.documents]
    return replace(
        row,
        documents=tuple(
            document if id is None else replace(document, id=id, id_source="metadata")
            for document, id in named
        ),
    )


def _id_inside(document: RetrievedDocument, path: str) -> str | None:
    inner = path.removeprefix("metadata.")
    value = document.metadata.get(inner, labels.inside(document.metadata, inner))
    return None if value is None or isinstance(value, Mapping | list) else str(value)


def _checked(row: Interaction, needs_answers: bool, name: str, number: int) -> Interaction:
    if row.question is None or not row.question.strip():
        raise InputError("question: missing or empty", name, number)
    if needs_answers and row.answer is None:
        raise InputError("answer: missing (or give --app module:function, which makes it)", name, number)
    if row.gold is not None and any(grade < 0 for grade in row.gold.values()):
        raise InputError("gold: a grade is below 0", name, number)
    return row
