"""The structure of a markdown answer: which characters are code, which lines are what.

Answers are rarely valid markdown, so this reads lines, not a grammar: good enough to keep code, headings and
source lists out of the claims, and total for any text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
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
_INLINE_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)[^`\n]{1,400}\1(?!`)")
_PREFIX = re.compile(
    r"\s*(?:>\s?)*\s*"
    r"(?:(?:[-*+•·▪–]|\(?\d{1,2}[.)]|（\d{1,2}）)\s+|(?:\d{1,2}|[一二三四五六七八九十]{1,3})[、．])?"
)
_HEADING = re.compile(r"#{1,6}\s|(\*\*|__)[^*_]+\1\s*[:：]?$")
_TABLE_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?")
_SOURCE_TITLE = re.compile(
    r"[#*_\s]*"
    r"(?:sources?|references?|citations?|footnotes?|works cited|bibliography"
    r"|参考(?:资料|文献|来源|文档|内容)?|资料来源|引用(?:来源|文档)?|来源|出处|脚注)"
    r"[*_\s:：]*",
    re.IGNORECASE,
)
_LONGEST_TITLE = 40
_DEFINITION = re.compile(r"\[\^?[^\]\n]{1,80}\]:\s")


def code_spans(text: str) -> list[tuple[int, int]]:
    """Characters of ``text`` inside fenced blocks and inline code, as sorted (start, end).

    A fence that is never closed runs to the end, as it does where the answer is shown.
    """
    fenced = _fenced_spans(text)
    starts = [start for start, _ in fenced]

    def is_fenced(position: int) -> bool:
        before = bisect_right(starts, position) - 1
        return before >= 0 and position < fenced[before][1]

    inline = (match.span() for match in _INLINE_CODE.finditer(text) if not is_fenced(match.start()))
    return sorted([*fenced, *inline])


def lines(text: str) -> list[Line]:
    """Every line of ``text`` with its kind, in order."""
    found: list[Line] = []
    fences = iter([*_fenced_spans(text), (len(text) + 1, len(text) + 1)])
    fence = next(fences)
    in_sources = False
    for start, end in _line_spans(text):
        while start > fence[1]:
            fence = next(fences)
        if start >= fence[0]:
            found.append(Line(LineKind.CODE, start, start, end))
            continue
        raw = text[start:end]
        plain = raw.strip()
        kind, content = _kind(raw, plain)
        if kind is LineKind.TABLE and _TABLE_RULE.fullmatch(plain):
            _mark_header(found)
            kind = LineKind.BLANK
        in_sources = _is_source_title(plain) or (in_sources and kind is not LineKind.HEADING)
        if kind is not LineKind.BLANK and (in_sources or _DEFINITION.match(plain)):
            kind = LineKind.SOURCE
        found.append(Line(kind, start, start + content, end))
    return found


def _fenced_spans(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    position = 0
    while opening := _FENCE.search(text, position):
        fence = opening[1]
        closing = re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE).search(
            text, opening.end()
        )
        position = closing.end() if closing else len(text)
        spans.append((opening.start(), position))
    return spans


def _is_source_title(plain: str) -> bool:
    return len(plain) <= _LONGEST_TITLE and bool(_SOURCE_TITLE.fullmatch(plain))


def _line_spans(text: str) -> list[tuple[int, int]]:
    spans, position = [], 0
    for raw in text.split("\n"):
        spans.append((position, position + len(raw.rstrip("\r"))))
        position += len(raw) + 1
    return spans


def _kind(raw: str, plain: str) -> tuple[LineKind, int]:
    """The kind of the line ``raw`` (``plain`` without outer white space), and where its text begins."""
    indent = len(raw) - len(raw.lstrip())
    if not plain:
        return LineKind.BLANK, 0
    if plain.startswith("|") or ("|" in plain and _TABLE_RULE.fullmatch(plain)):
        return LineKind.TABLE, indent
    if _HEADING.match(plain):
        return LineKind.HEADING, len(raw) - len(raw.lstrip(" \t#"))
    prefix = _PREFIX.match(raw)
    content = prefix.end() if prefix else 0
    return (LineKind.LIST if content > indent else LineKind.TEXT), content


def _mark_header(found: list[Line]) -> None:
    """The line above a table's rule is its header."""
    if found and found[-1].kind is LineKind.TABLE:
        found[-1] = replace(found[-1], kind=LineKind.TABLE_HEADER)
