"""The rows of a set's file, one after the other, each with its number.

JSON lines, CSV and TSV are read as far as rows are asked for, so that a set may be larger than the memory;
one JSON document is read as a whole. What the rows mean is no matter here.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from ragtrace.errors import InputError, MissingExtra
from ragtrace.rows import FIELDS

_LISTS = frozenset(
    name for field in ("documents", "ids", "gold", "history", "reference") for name in FIELDS[field]
)
_SPLIT = frozenset(name for field in ("ids", "gold") for name in FIELDS[field])
_TABLES = (".csv", ".tsv")
_ENCODINGS = ("utf-8-sig", "gb18030")
"""GB18030 is what Excel writes on a Chinese machine."""
_CHUNK = 1 << 16


def raw_rows(source: str | Path) -> Iterator[tuple[int, object]]:
    """(number, row or the error that stands for one) of a file, of a folder that ``save_to_disk`` wrote, or
    of ``hf:owner/name@split``.

    The number is that of the line, in a table the last line of the row; in a JSON array and in a Hugging Face
    data set it is the place, from 1.

    Raises:
        InputError: the source cannot be read.
        MissingExtra: a Hugging Face data set without the ``datasets`` library.
    """
    if isinstance(source, str) and source.startswith("hf:"):
        return enumerate(_hugging_face(source), start=1)
    path = Path(source)
    if path.is_dir():
        return enumerate(_hugging_face(path), start=1)
    return _table_rows(path) if path.suffix.lower() in _TABLES else json_rows(path)


def json_rows(path: Path) -> Iterator[tuple[int, object]]:
    """(line, row or error) of JSON lines; (place, row) of one JSON array, or of ``{"data": [...]}``.

    Raises:
        InputError: the file cannot be read, or is no UTF-8.
    """
    with _opened(path, _ENCODINGS[0], newline="\n") as lines:
        if (whole := _whole(lines)) is not None:
            yield from enumerate(whole, start=1)
            return
        lines.seek(0)
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield number, json.loads(line)
            except ValueError as error:
                yield number, InputError(f"not JSON: {error}", str(path), number)


def _whole(lines: TextIO) -> list[object] | None:
    """The rows of a text that is one JSON document, unless its first line is a row."""
    first = next((line for line in lines if line.strip()), "")
    if isinstance(_json(first), Mapping):
        return None
    lines.seek(0)
    document = _json(lines.read())
    if isinstance(document, Mapping):
        inner = next(
            (document[key] for key in ("data", "rows", "examples", "samples") if key in document), None
        )
        return inner if isinstance(inner, list) else [document]
    return document if isinstance(document, list) else None


def _json(text: str) -> Any:
    """``None`` for what is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


@contextmanager
def _opened(path: Path, encoding: str, newline: str) -> Iterator[TextIO]:
    try:
        with path.open(encoding=encoding, newline=newline) as text:
            yield text
    except OSError as error:
        raise InputError(error.strerror or str(error), str(path)) from error
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8", str(path)) from error


# --- tables -----------------------------------------------------------------------------------------------


def _table_rows(path: Path) -> Iterator[tuple[int, object]]:
    with _opened(path, _encoding(path), newline="") as text:
        csv.field_size_limit(max(csv.field_size_limit(), path.stat().st_size + 1))
        head = text.readline()
        text.seek(0)
        semicolons = head.count(";") > head.count(",")
        delimiter = "\t" if path.suffix.lower() == ".tsv" else ";" if semicolons else ","
        reader = csv.DictReader(text, delimiter=delimiter)
        for row in reader:
            if cells := _cells(row):
                yield reader.line_num, cells


def _encoding(path: Path) -> str:
    """The first encoding that fits the whole file; UTF-8 where none does, to fail there."""
    for encoding in _ENCODINGS:
        try:
            with path.open(encoding=encoding) as text:
                while text.read(_CHUNK):
                    pass
        except UnicodeDecodeError:
            continue
        except OSError:
            break
        return encoding
    return _ENCODINGS[0]


def _cells(row: Mapping[str | Any, Any]) -> dict[str, Any]:
    """The filled cells of a row under their headings."""
    return {
        key: _cell(key, value)
        for name, value in row.items()
        if isinstance(name, str) and isinstance(value, str) and value.strip()
        for key in (_heading(name),)
    }


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


# --- Hugging Face -----------------------------------------------------------------------------------------


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
