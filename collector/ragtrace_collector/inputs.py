"""Files in → interactions: OTLP JSON, OTLP protobuf and interaction JSONL, told apart by content.

All files of one call are read together, since an instrumentation may put spans and logs in different files
and an exporter may cut one trace over several requests. What cannot be read is a :class:`Problem` that names
file, line and reason; everything else is still read.
"""

from __future__ import annotations

import codecs
import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragtrace import extract
from ragtrace.dataset import read_row
from ragtrace.errors import InputError
from ragtrace.model import Interaction, LogRecord, SpanRecord
from ragtrace.serialize import plain
from ragtrace_collector import otlp

_NOT_UTF8 = re.compile("[\udc80-\udcff]")
"""What bytes that are no UTF-8 become when they are read with ``surrogateescape``."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


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

    def spans_by_trace(self) -> dict[str, list[SpanRecord]]:
        """The spans of each trace, by its id."""
        found: dict[str, list[SpanRecord]] = {}
        for span in self.spans:
            found.setdefault(span.trace_id, []).append(span)
        return found

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
        body = _as_utf8(body)
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
            reason = f"neither JSON nor OTLP protobuf ({error})"
            if _is_text(body):
                reason = "text, but not JSON: one JSON object a line is read (`ragtrace evaluate` reads CSV)"
            self.problems.append(Problem(source, None, reason))

    def _read_json(self, source: str, body: bytes) -> None:
        text = body.decode("utf-8", errors="surrogateescape")
        for line, document in _documents(text):
            self._position += 1
            if isinstance(document, ValueError):
                self.problems.append(Problem(source, line, str(document)))
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
            self.rows.append((self._position, read_row(document, source, line)))

    def _add_spans(self, spans: Sequence[SpanRecord]) -> None:
        for span in spans:
            self._trace_positions.setdefault(span.trace_id, self._position)
        self.spans.extend(spans)


def _documents(text: str) -> Iterator[tuple[int, Any]]:
    """(line, document or the ValueError) of JSON lines, of one document over many lines, or of one array."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    first = _parsed(lines[0][1])
    if len(lines) > 1 and isinstance(first, ValueError):
        whole = _parsed(text)
        if not isinstance(whole, ValueError):
            yield from ((1, one) for one in (whole if isinstance(whole, list) else [whole]))
            return
    for place, (number, line) in enumerate(lines):
        document = _parsed(line) if place else first
        yield from ((number, one) for one in (document if isinstance(document, list) else [document]))


def _parsed(text: str) -> Any:
    """The JSON value of ``text``, or the ValueError that says why there is none."""
    if _NOT_UTF8.search(text):
        return ValueError("not UTF-8; convert the file, e.g. with iconv")
    try:
        value = json.loads(text)
    except RecursionError:
        return ValueError("not JSON: nested too deeply")
    except ValueError as error:
        return ValueError(f"not JSON: {error}")
    # A lone surrogate is legal in JSON and can be written nowhere.
    return plain(value) if _SURROGATE.search(text) else value


def _as_utf8(body: bytes) -> bytes:
    """``body`` without a byte order mark; UTF-16 with one is converted."""
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = body.decode("utf-16", errors="replace")
        return text.encode() if text.lstrip()[:1] in {"{", "["} else body
    return body.removeprefix(codecs.BOM_UTF8)


def _is_text(body: bytes) -> bool:
    try:
        return body.decode().replace("\n", "").replace("\r", "").replace("\t", "").isprintable()
    except UnicodeDecodeError:
        return False


def _without_place(error: InputError) -> str:
    """The error's message without the place that its problem names already."""
    message = str(error)
    place = error.source + (f":{error.line}" if error.line is not None else "")
    return message.removeprefix(f"{place}: ")
