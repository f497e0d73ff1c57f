"""A set from any file that the other commands read too: rows, or recorded traces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragtrace.dataset import EvaluationSet, Rows, read_set, validated
from ragtrace.errors import ConfigError, InputError
from ragtrace.records import interaction_to_dict
from ragtrace.set_labels import LANGUAGE, label
from ragtrace_collector.evaluating.row_file import RowFile
from ragtrace_collector.inputs import Inputs

_PEEK = 1 << 16


def open_set(source: str, *, lenient: bool, needs_answers: bool, id_field: str | None) -> EvaluationSet:
    """The set in ``source``: see :func:`ragtrace.dataset.read_set`. OTLP files (what the collector's
    ``--out`` wrote, recorded traces) give one row an interaction.

    Raises:
        InputError: it cannot be read, or holds a bad row.
    """
    path = Path(source)
    options: dict[str, Any] = {"lenient": lenient, "needs_answers": needs_answers, "id_field": id_field}
    if not (path.is_file() and _is_otlp(path)):
        return read_set(source, **options, kept_in=RowFile)
    inputs = Inputs()
    inputs.read(path)
    errors = [InputError(problem.reason, problem.source, problem.line) for problem in inputs.problems]
    rows = enumerate([*inputs.interactions(), *errors], start=1)
    return validated(rows, source, **options, kept_in=RowFile)


def check_fields(rows: Rows, fields: Sequence[str]) -> None:
    """Whether some row has each of the ``fields`` of a breakdown.

    Raises:
        ConfigError: none has one of them; names those that there are.
    """
    unknown = {field for field in fields if field not in _ALWAYS}
    there: set[str] = set()
    for row in rows if unknown else ():
        record = {**interaction_to_dict(row), "language": row.language}
        unknown = {field for field in unknown if label(record, field) is None}
        if not unknown:
            return
        there.update(name for name in row.metadata if label(record, name) is not None)
    if unknown:
        known = ", ".join(sorted({*there, "lang"}))
        raise ConfigError(f"no row has {', '.join(sorted(unknown))}; there are {known}", "--by")


_ALWAYS = frozenset((*LANGUAGE, "dialect", "error", "partial"))
"""Fields of every judged row, whether the set has them or not."""


def _is_otlp(path: Path) -> bool:
    if path.suffix.lower() in (".csv", ".tsv"):
        return False
    with path.open("rb") as file:
        head = file.read(_PEEK)
    if head[:2] == b"\x1f\x8b" or head.lstrip()[:1] not in (b"{", b"[", b"\xef"):
        return bool(head.strip())
    line = head.lstrip().partition(b"\n")[0]
    try:
        first = json.loads(line)
    except ValueError:
        return b'"resourceSpans"' in head[:512] or b'"resource_spans"' in head[:512]
    return isinstance(first, dict) and not {"resourceSpans", "resource_spans", "resourceLogs"}.isdisjoint(
        first
    )
