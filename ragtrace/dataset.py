"""Evaluation sets: read, validate.

A set is JSONL, a JSON array, CSV or TSV, or a Hugging Face data set (a folder that ``save_to_disk`` wrote, or
``hf:owner/name@split``). Each row becomes an :class:`~ragtrace.model.Interaction`; its ``question_type`` and
``difficulty`` stand normalised in ``metadata``.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from ragtrace import set_labels as labels
from ragtrace.errors import InputError, MissingExtra
from ragtrace.foreign_rows import ours
from ragtrace.model import Interaction, RetrievedDocument
from ragtrace.records import interaction_to_dict
from ragtrace.rows import FIELDS, interaction_from_row

_SHOWN = 20
_NONE_AT_ALL = ""
_LISTS = frozenset(
    name for field in ("documents", "ids", "gold", "history", "reference") for name in FIELDS[field]
)
_SPLIT = frozenset(name for field in ("ids", "gold") for name in FIELDS[field])
_ENCODINGS = ("utf-8-sig", "gb18030")
"""GB18030 is what Excel writes on a Chinese machine."""


class Rows(Protocol):
    """Where rows are kept: what a list can, as far as a set needs it."""

    def append(self, row: Interaction, /) -> None:
        """Add one at the end."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: int, /) -> Interaction: ...
    def __iter__(self) -> Iterator[Interaction]: ...


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """The good rows of a set in their order, and why the others are none."""

    name: str
    rows: Rows
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
        _raw_rows(source),
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
    good = kept_in()
    bad: list[InputError] = []
    for number, row in rows:
        try:
            good.append(_checked(read_row(row, name, number), needs_answers, name, number))
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
    return EvaluationSet(name, good, tuple(bad))


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


# --- shapes of files --------------------------------------------------------------------------------------


def _raw_rows(source: str | Path) -> Iterator[tuple[int, object]]:
    if isinstance(source, str) and source.startswith("hf:"):
        return enumerate(_hugging_face(source), start=1)
    path = Path(source)
    if path.is_dir():
        return enumerate(_hugging_face(path), start=1)
    text = _text(path)
    if path.suffix.lower() in (".csv", ".tsv"):
        return _csv_rows(text, "\t" if path.suffix.lower() == ".tsv" else None)
    return json_rows(text, str(path))


def _text(path: Path) -> str:
    try:
        body = path.read_bytes()
    except OSError as error:
        raise InputError(error.strerror or str(error), str(path)) from error
    for encoding in _ENCODINGS if path.suffix.lower() in (".csv", ".tsv") else _ENCODINGS[:1]:
        try:
            return body.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise InputError("not UTF-8", str(path))


def json_rows(text: str, source: str) -> Iterator[tuple[int, object]]:
    """(line, row or error) of JSON lines; (number, row) of one JSON array, or of ``{"data": [...]}``."""
    if (whole := _whole(text)) is not None:
        yield from enumerate(whole, start=1)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except ValueError as error:
            yield number, InputError(f"not JSON: {error}", source, number)


def _whole(text: str) -> list[object] | None:
    """The rows of a text that is one JSON document, unless it is one row on one line."""
    if "\n" not in text.strip() and text.lstrip()[:1] == "{":
        return None
    try:
        document = json.loads(text)
    except ValueError:
        return None
    if isinstance(document, Mapping):
        inner = next(
            (document[key] for key in ("data", "rows", "examples", "samples") if key in document), None
        )
        return inner if isinstance(inner, list) else [document]
    return document if isinstance(document, list) else None


def _csv_rows(text: str, delimiter: str | None) -> Iterator[tuple[int, object]]:
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    if delimiter is None:
        head = text.partition("\n")[0]
        delimiter = ";" if head.count(";") > head.count(",") else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    for row in reader:
        cells = {
            key: _cell(key, value)
            for name, value in row.items()
            if isinstance(name, str) and isinstance(value, str) and value.strip()
            for key in (_heading(name),)
        }
        if cells:
            yield reader.line_num, cells


def _heading(name: str) -> str:
    bare = name.strip()
    return bare if "." in bare else re.sub(r"\s+", "_", bare).lower()


def _cell(key: str, value: str) -> Any:
    """A cell; what holds a list or an object is read as JSON, or as what ``print`` makes of a list."""
    if value.lstrip()[:1] in ("[", "{"):
        for read in (json.loads, ast.literal_eval):
            try:
                return read(value)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
    if key in _SPLIT:
        return [part.strip() for part in re.split(r"[;|,\n]", value) if part.strip()]
    return [value] if key in _LISTS and key.endswith("s") and "document" in key else value


def _hugging_face(source: str | Path) -> Iterable[Mapping[str, Any]]:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtra("a Hugging Face data set (the library datasets)", "score") from error
    if isinstance(source, Path):
        loaded = datasets.load_from_disk(str(source))
    else:
        name, _, split = source.removeprefix("hf:").partition("@")
        loaded = datasets.load_dataset(name, split=split or None)
    if isinstance(loaded, Mapping):
        if len(loaded) != 1:
            raise InputError(f"has the splits {', '.join(loaded)}: name one as …@split", str(source))
        loaded = next(iter(loaded.values()))
    rows: Iterable[Mapping[str, Any]] = loaded
    return rows
