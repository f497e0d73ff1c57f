"""The structure of a markdown answer: which characters are code, which lines are what.

Answers are rarely valid markdown, so this reads lines, not a grammar: good enough to keep code, headings and
source lists out of the claims, and total for any text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class LineKind(StrEnum):
    """What a line of an answer is."""

    TEXT = "text"
    BLANK = "blank"
    LIST = "list"
    HEADING = "heading"
    TABLE = "table"
    TABLE_HEADER = "table_header"
    CODE = "code"
    SOURCE = "source"
    """A line of a source list at the end: it defines what a marker means and claims nothing."""


@dataclass(frozen=True, slots=True)
class Line:
    """Characters [start, end) of one line without its line break; ``content`` is where its text begins."""

    kind: LineKind
    start: int
    content: int
    end: int


_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_INLINE_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]|(?<=[^`])`(?=[^`]))+?\1(?!`)")
_PREFIX = re.compile(
    r"\s*(?:>\s?)*\s*(?:(?:[-*+•·▪–]|\(?\d{1,2}[.)、．]|（\d{1,2}）|[一二三四五六七八九十]{1,3}、)(?:\s+|(?<=、)|(?<=．)))?"
)
_HEADING = re.compile(r"\s*(?:#{1,6}\s|(\*\*|__)[^*_]+\1\s*[:：]?\s*$)")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_SOURCE_TITLE = re.compile(
    r"\s*(?:#{1,6}\s*)?(?:\*\*|__)?\s*(?:sources?|references?|citations?|footnotes?|works cited|bibliography"
    r"|参考(?:资料|文献|来源|文档|内容)?|资料来源|引用(?:来源|文档)?|来源|出处|脚注)\s*[:：]?\s*(?:\*\*|__)?\s*[:：]?\s*$",
    re.IGNORECASE,
)
_DEFINITION = re.compile(r"\s*\[\^?[^\]\n]{1,80}\]:\s")
_LINE = re.compile(r"[^\n]*")


def code_spans(text: str) -> list[tuple[int, int]]:
    """Characters of ``text`` inside fenced blocks and inline code, as sorted (start, end); an open fence
    runs to the end."""
    spans: list[tuple[int, int]] = []
    position = 0
    while opening := _FENCE.search(text, position):
        fence = opening[1]
        closing = re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE).search(
            text, opening.end()
        )
        position = closing.end() if closing else len(text)
        spans.append((opening.start(), position))
    spans.extend(
        match.span()
        for match in _INLINE_CODE.finditer(text)
        if not any(s <= match.start() < e for s, e in spans)
    )
    return sorted(spans)


def lines(text: str) -> list[Line]:
    """Every line of ``text`` with its kind, in order."""
    fenced = [(s, e) for s, e in code_spans(text) if _FENCE.match(text, s)]
    found: list[Line] = []
    in_sources = False
    for start, end in _line_spans(text):
        raw = text[start:end]
        if any(s <= start < e for s, e in fenced):
            found.append(Line(LineKind.CODE, start, start, end))
            continue
        kind, content = _kind(raw)
        if kind is LineKind.TABLE and _TABLE_RULE.match(raw):
            found = _mark_header(found)
            kind = LineKind.BLANK
        in_sources = bool(_SOURCE_TITLE.match(raw)) or (in_sources and kind is not LineKind.HEADING)
        if kind is not LineKind.BLANK and (in_sources or _DEFINITION.match(raw)):
            kind = LineKind.SOURCE
        found.append(Line(kind, start, start + content, end))
    return found


def _line_spans(text: str) -> list[tuple[int, int]]:
    spans, position = [], 0
    for raw in text.split("\n"):
        spans.append((position, position + len(raw.rstrip("\r"))))
        position += len(raw) + 1
    return spans


def _kind(raw: str) -> tuple[LineKind, int]:
    if not raw.strip():
        return LineKind.BLANK, 0
    if raw.lstrip().startswith("|") or (_TABLE_RULE.match(raw) and "|" in raw):
        return LineKind.TABLE, len(raw) - len(raw.lstrip())
    if _HEADING.match(raw):
        return LineKind.HEADING, len(raw) - len(raw.lstrip(" #"))
    prefix = _PREFIX.match(raw)
    content = prefix.end() if prefix else 0
    indent = len(raw) - len(raw.lstrip())
    return (LineKind.LIST if content > indent else LineKind.TEXT), content


def _mark_header(found: list[Line]) -> list[Line]:
    if not found or found[-1].kind is not LineKind.TABLE:
        return found
    header = found[-1]
    return [*found[:-1], Line(LineKind.TABLE_HEADER, header.start, header.content, header.end)]
