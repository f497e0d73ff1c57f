"""Attribute values as they really arrive: JSON in strings, JSON in JSON, JSON that was cut, Python reprs.

Everything here is total (never raises) and linear in the length of its input.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import Any

from ragtrace.semconv import OI_REDACTED, TRUNCATION_MARKER

_MAX_CHARS = 20_000_000
"""Longer strings are taken as text, not decoded."""
_MAX_LITERAL_CHARS = 200_000
"""``ast`` needs far more memory than JSON does."""
_MAX_NESTING = 100
_MARK = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
"""A string (to the end of the text where its quote is missing), a mark, or a number or word."""
_JSON_START = re.compile(r'\{\s*"|\[\s*["{\[]')
_LONE_ESCAPE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
_OBJECT_REPR = re.compile(r"^<[\w.\[\]<>, ]+ (?:object|at 0x)[^<>]*>$")
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded value. ``cut``: it was JSON whose end is missing, and ``value`` is what was whole."""

    value: Any
    cut: bool = False


def decode(raw: Any, *, quoted: bool = True) -> Decoded:
    """An attribute value → Python values: a string of JSON, or the repr of plain Python values, is parsed.

    A string that is neither stays as it is. ``__REDACTED__`` is ``None``: what was masked is missing.
    ``quoted``: text in JSON quotes is unquoted too (not so where a writer leaves plain text bare).
    """
    if not isinstance(raw, str):
        return Decoded(raw)
    text = raw.strip()
    if text in (OI_REDACTED, "null"):
        return Decoded(None)
    if not text or text[0] not in ('{["(' if quoted else "{[(") or len(text) > _MAX_CHARS:
        return Decoded(raw)
    try:
        return Decoded(_DECODER.decode(text))
    except (ValueError, RecursionError):
        pass
    if (literal := _literal(text)) is not None:
        return Decoded(literal)
    whole = whole_part(text)
    return Decoded(raw) if whole is None else Decoded(whole, cut=True)


def _literal(text: str) -> Any:
    """``{'question': '…'}`` and ``('…',)``: reprs of plain Python values; ``None`` for all else."""
    if text[0] == '"' or len(text) > _MAX_LITERAL_CHARS or "'" not in text or text[-1] not in "}])":
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return list(value) if isinstance(value, tuple) else value


def whole_part(text: str) -> Any:
    """The values that are whole in JSON whose end is missing; ``None`` where ``text`` is no such JSON.

    A list keeps its whole items, an object its whole members; a string that was cut is left out.
    """
    text = text.removesuffix(TRUNCATION_MARKER)
    if not _JSON_START.match(text):
        return None
    end, closers = _last_whole(text)
    if not end:
        return None
    try:
        return _DECODER.decode(text[:end] + closers) or None
    except (ValueError, RecursionError):
        return None


def _last_whole(text: str) -> tuple[int, str]:
    """Where the last whole value of cut JSON ends, and what closes it; ``(0, "")`` if it is not cut."""
    stack: list[str] = []
    end, closers, expects_value = 0, "", False
    for match in _MARK.finditer(text):
        mark = match.group()
        if mark == ":":
            expects_value = True
            continue
        if mark == ",":
            expects_value = False
            continue
        if mark in ("{", "["):
            stack.append("}" if mark == "{" else "]")
        elif mark in ("}", "]"):
            if not stack or stack.pop() != mark or not stack:
                return 0, ""
        elif not _is_whole(mark, match.end() < len(text)) or not (expects_value or stack[-1] == "]"):
            continue
        if len(stack) > _MAX_NESTING:
            return 0, ""
        end, closers, expects_value = match.end(), "".join(reversed(stack)), False
    return end, closers


def _is_whole(mark: str, followed: bool) -> bool:
    """A string needs its closing quote; a number or word may go on unless something follows it."""
    return (len(mark) > 1 and mark[-1] == '"') if mark[0] == '"' else followed


def unwrap(value: Any, depth: int = 3) -> Any:
    """Decode strings that hold JSON inside ``value`` itself, up to ``depth`` times (JSON in JSON)."""
    while depth and isinstance(value, str):
        inner = decode(value).value
        if inner is value or inner == value:
            return value
        value, depth = inner, depth - 1
    return value


def unescape(text: str) -> str:
    r"""Turn ``\u9000`` sequences that were left in a text back into characters."""
    if "\\u" not in text or not _LONE_ESCAPE.search(text):
        return text
    return _LONE_ESCAPE.sub(lambda run: str(json.loads(f'"{run.group()}"')), text)


def text_or_none(value: Any) -> str | None:
    """``value`` where it is text that someone wrote: not empty, not masked, not the repr of an object."""
    if not isinstance(value, str) or not value.strip() or value == OI_REDACTED:
        return None
    return None if value[0] == "<" and _OBJECT_REPR.match(value[:500]) else value
