"""Files in → interactions: OTLP JSON, OTLP protobuf and interaction JSONL, told apart by content.

All files of one call are read together, since an instrumentation may put spans and logs in different files
and an exporter may cut one trace over several requests. What cannot be read is a :class:`Problem` that names
file, line and reason; everything else is still read.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragtrace import extract
from ragtrace.errors import InputError
from ragtrace.model import Interaction, LogRecord, SpanRecord
from ragtrace.rows import interaction_from_row
from ragtrace_collector import otlp


@dataclass(frozen=True, slots=True)
class Problem:
    """A line (1-based; ``None`` for a whole file) that cannot be read, and why."""

    source: str
    line: int | None
    reason: str

    def __str__(self) -> str:
        return f"{self.source}{'' if self.line is None else f':{self.line}'}: {self.reason}"


@dataclass(slots=True)
class Inputs:
    """What was read: spans and logs still to be extracted, rows, and problems."""

    spans: list[SpanRecord] = field(default_factory=list)
    logs: list[LogRecord] = field(default_factory=list)
    rows: list[tuple[int, Interaction]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _trace_positions: dict[str, int] = field(default_factory=dict)
    _position: int = 0

    def interactions(
        self, *, mapping: extract.AttributeMapping | None = None, stitch: bool = False
    ) -> list[Interaction]:
        """Every interaction, in the order in which its first line was read."""
        found = extract.interactions(self.spans, self.logs, mapping=mapping, stitch=stitch)
        last = self._position
        placed = [(self._trace_positions.get(one.trace_id or "", last), one) for one in found]
        return [one for _, one in sorted([*placed, *self.rows], key=lambda pair: pair[0])]

    def read(self, path: Path) -> None:
        """Add one file.

        Args:
            path: OTLP JSON (one document, or one request a line), OTLP protobuf, or interaction JSONL; each
                may be gzipped.
        """
        try:
            body = path.read_bytes()
            if body[:2] == b"\x1f\x8b":
                body = gzip.decompress(body)
        except (OSError, EOFError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self.problems.append(Problem(str(path), None, reason))
            return
        if not body.strip():
            self.problems.append(Problem(str(path), None, "the file is empty"))
        elif body.lstrip()[:1] in {b"{", b"["}:
            self._read_json(str(path), body)
        else:
            self._read_protobuf(str(path), body)

    def _read_protobuf(self, source: str, body: bytes) -> None:
        try:
            if otlp.kind_of_protobuf(body) == "logs":
                self.logs.extend(otlp.read_logs(body))
            else:
                self._add_spans(otlp.read_spans(body))
        except InputError as error:
            self.problems.append(Problem(source, None, f"neither JSON nor OTLP protobuf ({error})"))

    def _read_json(self, source: str, body: bytes) -> None:
        try:
            text = body.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self.problems.append(Problem(source, body.count(b"\n", 0, error.start) + 1, "not UTF-8"))
            return
        for line, document in _documents(text):
            self._position += 1
            if isinstance(document, ValueError):
                self.problems.append(Problem(source, line, f"not JSON: {document}"))
                continue
            try:
                self._add_document(document, source, line)
            except InputError as error:
                self.problems.append(Problem(source, line, _without_place(error)))

    def _add_document(self, document: object, source: str, line: int) -> None:
        if not isinstance(document, Mapping):
            raise InputError(f"expected an object, found {type(document).__name__}")
        if "resourceSpans" in document or "resource_spans" in document:
            self._add_spans(otlp.read_spans(otlp.trace_request_from_json(document)))
        elif "resourceLogs" in document or "resource_logs" in document:
            self.logs.extend(otlp.read_logs(otlp.logs_request_from_json(document)))
        else:
            self.rows.append((self._position, interaction_from_row(document, source=source, line=line)))

    def _add_spans(self, spans: Sequence[SpanRecord]) -> None:
        for span in spans:
            self._trace_positions.setdefault(span.trace_id, self._position)
        self.spans.extend(spans)


def _documents(text: str) -> Iterator[tuple[int, Any]]:
    """(line, document or the ValueError) of JSON lines, of one document over many lines, or of one array."""
    lines = text.splitlines()
    if len(lines) > 1 and not _is_json(lines[0]):
        try:
            whole = json.loads(text)
        except ValueError:
            pass
        else:
            yield from ((1, one) for one in (whole if isinstance(whole, list) else [whole]))
            return
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except ValueError as error:
            yield number, error
        else:
            yield from ((number, one) for one in (document if isinstance(document, list) else [document]))


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _without_place(error: InputError) -> str:
    """The error's message without the place that its problem names already."""
    message = str(error)
    place = error.source + (f":{error.line}" if error.line is not None else "")
    return message.removeprefix(f"{place}: ")
