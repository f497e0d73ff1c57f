"""Find citation markers as they are written, before anyone asks which document is meant.

A marker carries its labels as text: ``[1, 3-4]`` carries ``1``, ``3`` and ``4``, ``(Source: Refund policy)``
carries ``Refund policy``. Whether a label names a document is decided in :mod:`ragtrace.text.citations`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from ragtrace.text import _marker_patterns as patterns


class Form(StrEnum):
    """How sure a marker's look makes us that it is a citation."""

    NUMBERED = "numbered"
    """Numbers in square brackets and the like: always a citation."""
    NAMED = "named"
    """A label behind a word that says so (``Source:``, ``cite``): always a citation."""
    BRACKETED = "bracketed"
    """Any other text in square brackets: a citation if it is, or looks like, a document's id."""
    PARENTHESISED = "parenthesised"
    """``(1)``: a citation only where documents are numbered so."""
    LINK = "link"
    """A markdown link: a citation if its address is a document's."""


@dataclass(frozen=True, slots=True)
class Marker:
    """One written marker at characters [start, end) with its labels; ``url`` is a link's address."""

    form: Form
    labels: tuple[str, ...]
    start: int
    end: int
    url: str | None = None


_LONGEST_RANGE = 50
_LOOK_BACK = 40
"""Characters before a marker that decide what it is."""


def find_markers(text: str) -> list[Marker]:
    """Every marker written in ``text`` (code already blanked), left to right.

    Of two that overlap, the one whose form is more surely a citation wins.
    """
    folded = _fold(text)
    taken = bytearray(len(text))
    found: list[Marker] = []
    for pattern, read in _FORMS:
        for match in pattern.finditer(folded):
            marker = read(match, text)
            if marker is not None and not any(taken[marker.start : marker.end]):
                taken[marker.start : marker.end] = b"\1" * (marker.end - marker.start)
                found.append(marker)
    return sorted(found, key=lambda marker: marker.start)


def expand(numbers: str) -> tuple[str, ...]:
    """The single numbers of a list like ``1, 3-4`` → ``("1", "3", "4")``."""
    plain = _NO_NUMBER.sub("", numbers)
    return tuple(label for part in re.split(patterns.SEPARATOR, plain) for label in _expand_range(part))


_NO_NUMBER = re.compile(rf"{patterns.WORD}\s*[:：#]?|[\^#]|{patterns.OPEN}|{patterns.CLOSE}", re.IGNORECASE)


def _expand_range(part: str) -> Iterator[str]:
    ends = [int(number) for number in re.findall(r"\d+", part)]
    if len(ends) == 2 and 0 <= ends[1] - ends[0] <= _LONGEST_RANGE:
        ends = list(range(ends[0], ends[1] + 1))
    return map(str, ends)


def _fold(text: str) -> str:
    """Full-width digits and Latin signs as ASCII, character for character, so that offsets stay."""
    if text.isascii():
        return text
    return "".join(chr(ord(c) - 0xFEE0) if "０" <= c <= "９" or c in "＾－＃" else c for c in text)


# --- readers: a match of a form's pattern, in its text → the marker, or None where it is something else ----


def _numbered(match: re.Match[str], _: str) -> Marker:
    return Marker(Form.NUMBERED, expand(match["n"]), match.start(), match.end())


def _wrapped(match: re.Match[str], _: str) -> Marker:
    between = rf"({patterns.CLOSE})\s*[,;、，；]?\s*(?={patterns.OPEN})"
    return Marker(Form.NUMBERED, expand(re.sub(between, r"\1,", match["n"])), match.start(), match.end())


def _provider(match: re.Match[str], _: str) -> Marker:
    """``【4:0†source】`` is message 4's annotation 0, counted from 0."""
    label = str(int(match["sub"]) + 1) if match["sub"] else match["n"]
    return Marker(Form.NUMBERED, (label,), match.start(), match.end())


def _named(match: re.Match[str], text: str) -> Marker:
    if _ONLY_NUMBERS.fullmatch(match["name"].strip()):
        labels = expand(match["name"])
    else:
        parts = re.split(r"[;；]", text[match.start("name") : match.end("name")])
        labels = tuple(label for part in parts if (label := part.strip(_QUOTES)))
    return Marker(Form.NAMED, labels, match.start(), match.end())


_ONLY_NUMBERS = re.compile(patterns.NUMBERS, re.IGNORECASE)
_QUOTES = " \t\"“”《》'`"


def _bracketed(match: re.Match[str], text: str) -> Marker:
    label = text[match.start("name") : match.end("name")].strip().lstrip("^@#")
    return Marker(Form.BRACKETED, (label,), match.start(), match.end())


def _link(match: re.Match[str], text: str) -> Marker | None:
    if text[match.start() - 1 : match.start()] == "!":
        return None  # a picture
    label = text[match.start("name") : match.end("name")].strip("[]^ \t")
    url = text[match.start("url") : match.end("url")]
    return Marker(Form.LINK, (label,), match.start(), match.end(), url)


def _circled(match: re.Match[str], text: str) -> Marker | None:
    start, end = match.span()
    in_number = text[start - 1 : start].isdigit() and text[end : end + 1].isdigit()
    if in_number or _enumerates(_line_at(text, start)):
        return None
    labels = tuple(str(int(unicodedata.numeric(char))) for char in match[0] if not char.isspace())
    return Marker(Form.NUMBERED, labels, start, end)


def _line_at(text: str, position: int) -> str:
    end = text.find("\n", position)
    return text[text.rfind("\n", 0, position) + 1 : end if end >= 0 else len(text)]


def _enumerates(line: str) -> bool:
    """Whether the circled numbers of ``line`` number its steps: the first opens a clause before text."""
    first = patterns.CIRCLE.search(line)
    if first is None:
        return False
    before, after = line[: first.start()].rstrip(" *-"), line[first.end() :].lstrip()
    opens = not before or before[-1] in "：:。；;.!?！？，,"
    return opens and bool(after) and after[0].isalnum()


def _superscript(match: re.Match[str], text: str) -> Marker | None:
    if _is_power(text, match.start()):
        return None
    runs = re.findall(rf"[{patterns.SUPERSCRIPT}]+", match[0])
    labels = tuple(str(int(unicodedata.normalize("NFKC", run))) for run in runs)
    return Marker(Form.NUMBERED, labels, match.start(), match.end())


def _raised(match: re.Match[str], text: str) -> Marker | None:
    return None if _is_power(text, match.start()) else _numbered(match, text)


def _caret(match: re.Match[str], text: str) -> Marker | None:
    if _is_power(text, match.start()):
        return None
    return Marker(Form.NUMBERED, expand(match["n"] or match["m"]), match.start(), match.end())


def _is_power(text: str, position: int) -> bool:
    """Whether a raised number at ``position`` is an exponent: behind a number, a unit or a single letter."""
    before = text[max(0, position - _LOOK_BACK) : position]
    if not before.strip() or (before[-1].isdigit() and not patterns.YEAR.search(before)):
        return True
    return before[-1] in "^_=" or bool(patterns.UNIT_BEFORE_POWER.search(before))


def _parenthesised(match: re.Match[str], text: str) -> Marker | None:
    line_start = text.rfind("\n", 0, match.start()) + 1
    before = text[max(line_start, match.start() - _LOOK_BACK) : match.start()]
    called = match[0].startswith("(") and patterns.CALLED.search(before)
    if not before.strip(" *->") or called or patterns.COUNTED.search(before):
        return None
    if not patterns.CLAUSE_END.match(text, match.end()):
        return None
    return Marker(Form.PARENTHESISED, expand(match["n"]), match.start(), match.end())


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], str], Marker | None]], ...] = (
    (patterns.PROVIDER, _provider),
    (patterns.WRAPPED, _wrapped),
    (patterns.DOUBLE, _numbered),
    (patterns.LINK, _link),
    (patterns.SQUARE, _numbered),
    (patterns.TAG, _named),
    (patterns.EMPTY_TAG, _named),
    (patterns.NAMED, _named),
    (patterns.ROUND_WITH_WORD, _numbered),
    (patterns.BRACKETED, _bracketed),
    (patterns.RAISED_TAG, _raised),
    (patterns.CARET, _caret),
    (patterns.CIRCLES, _circled),
    (patterns.RAISED, _superscript),
    (patterns.ROUND, _parenthesised),
)
"""In order of trust: a later form never takes characters that an earlier one has taken."""
