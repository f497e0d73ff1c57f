"""Find citation markers as they are written: the grammar, before anyone asks which document is meant.

Each form is one pattern. A marker carries its labels as text: ``[1, 3-4]`` carries ``1``, ``3`` and ``4``,
``(Source: Refund policy)`` carries ``Refund policy``. Whether a label names a document is decided in
:mod:`ragtrace.text.citations`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum


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
_WORD = (
    r"(?:sources?|citations?|cites?|refs?|references?|docs?|documents?|passages?|contexts?|chunks?"
    r"|来源|资料|文档|文件|引用|参考(?:资料|文献)?|出处|文献|片段|段落)"
)
_NUMBER = r"\d{1,3}"
_SEPARATOR = r"\s*[,;、，；&]\s*"
_RANGE = r"\s*(?:[-–—~～至到]|\.\.)\s*"
_ITEM = rf"(?:{_WORD}\s*[:：#]?\s*)?\^?#?{_NUMBER}(?:{_RANGE}\^?{_NUMBER})?"
_NUMBERS = rf"{_ITEM}(?:{_SEPARATOR}{_ITEM})*"
_OPEN, _CLOSE = r"[\[［【〔]", r"[\]］】〕]"
_CIRCLED = "①-⑳㉑-㉟❶-❿⓵-⓾"
_CIRCLE = re.compile(f"[{_CIRCLED}]")
_SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_TAG = r"(?:cite|ref|citation|source)"
_LEAD = (
    r"(?:\*{0,2}(?:\b(?:sources?|references?|citations?)|来源|出处|参考资料|引用)"
    r"\*{0,2}\s*[:：]\s*\*{0,2}\s*)"
)
_UNIT_WITH_POWER = re.compile(r"(?:^|[^A-Za-z])(?:[kcmdnµμ]?m|ft|in|yd|mi|sec|mc|[A-Za-z])$", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d$")
_COUNTED = re.compile(
    r"(?:\b(?:section|sections|step|item|option|article|clause|paragraph|part|rule|point|figure|table|equation"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|twelve)|[第条款步项])\s*$",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"\s*(?:$|[.,;:!?。，；：！？、)）\n\]|]|[(（]\s*\d)")


def find_markers(text: str) -> list[Marker]:
    """Every marker written in ``text`` (code already blanked), left to right; of two that overlap the
    first form wins."""
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


def expand(labels: str) -> Iterator[str]:
    """The single numbers of a list like ``1, 3-4`` → ``1``, ``3``, ``4``."""
    plain = re.sub(rf"{_WORD}\s*[:：#]?|[\^#]|{_OPEN}|{_CLOSE}", "", labels, flags=re.IGNORECASE)
    for part in re.split(_SEPARATOR, plain):
        first, *rest = (int(number) for number in re.findall(r"\d+", part))
        last = rest[0] if rest else first
        yield from map(
            str, range(first, last + 1) if first <= last <= first + _LONGEST_RANGE else (first, *rest)
        )


def _fold(text: str) -> str:
    """Full-width digits and Latin signs as ASCII, character for character, so that offsets stay."""
    return "".join(chr(ord(c) - 0xFEE0) if "０" <= c <= "９" or c in "＾－＃" else c for c in text)


def _numbered(match: re.Match[str], _: str) -> Marker:
    return Marker(Form.NUMBERED, tuple(expand(match["n"])), match.start(), match.end())


def _wrapped(match: re.Match[str]) -> Marker:
    labels = re.sub(rf"({_CLOSE})\s*[,;、，；]?\s*(?={_OPEN})", r"\1,", match["n"])
    return Marker(Form.NUMBERED, tuple(expand(labels)), match.start(), match.end())


def _openai_file(match: re.Match[str], _: str) -> Marker:
    """``【4:0†source】``: message 4, its annotation 0, counted from 0."""
    label = str(int(match["sub"]) + 1) if match["sub"] else match["n"]
    return Marker(Form.NUMBERED, (label,), match.start(), match.end())


def _named(match: re.Match[str], text: str) -> Marker:
    written = text[match.start("name") : match.end("name")].strip().strip("\"“”《》'`")
    if re.fullmatch(_NUMBERS, match["name"].strip(), re.IGNORECASE):
        labels = tuple(expand(match["name"]))
    else:
        labels = tuple(label for part in re.split(r"[;；]", written) if (label := part.strip(" \"“”《》'`")))
    return Marker(Form.NAMED, labels, match.start(), match.end())


def _bracketed(match: re.Match[str], text: str) -> Marker:
    written = text[match.start("name") : match.end("name")]
    return Marker(Form.BRACKETED, (written.strip().lstrip("^@#"),), match.start(), match.end())


def _link(match: re.Match[str], text: str) -> Marker | None:
    if match.start() and text[match.start() - 1] == "!":
        return None
    label = text[match.start("name") : match.end("name")].strip().strip("[]^ ")
    return Marker(
        Form.LINK, (label,), match.start(), match.end(), text[match.start("url") : match.end("url")]
    )


def _circled(match: re.Match[str], text: str) -> Marker | None:
    line_start = text.rfind("\n", 0, match.start()) + 1
    line_end = text.find("\n", match.end())
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    if _enumerates(line):
        return None
    labels = tuple(str(int(unicodedata.numeric(char))) for char in match[0] if not char.isspace())
    return Marker(Form.NUMBERED, labels, match.start(), match.end())


def _enumerates(line: str) -> bool:
    """Whether the circled numbers of ``line`` number its steps: the first one opens a clause and text
    follows it."""
    first = next(match.start() for match in _CIRCLE.finditer(line))
    before, after = line[:first].rstrip(" *-"), line[first + 1 :].lstrip()
    opens = not before or before[-1] in "：:。；;.!?！？，,"
    return opens and bool(after) and after[0].isalnum()


def _superscript(match: re.Match[str], text: str) -> Marker | None:
    if _is_power(text, match.start()):
        return None
    labels = tuple(
        str(int(unicodedata.normalize("NFKC", part))) for part in re.findall(rf"[{_SUPERSCRIPT}]+", match[0])
    )
    return Marker(Form.NUMBERED, labels, match.start(), match.end())


def _raised(match: re.Match[str], text: str) -> Marker | None:
    return None if _is_power(text, match.start()) else _numbered(match, text)


def _is_power(text: str, position: int) -> bool:
    """Whether a raised number at ``position`` is an exponent: behind a number, a unit or a single letter."""
    before = text[max(0, position - 12) : position]
    if not before.strip() or (before[-1].isdigit() and not _YEAR.search(before)):
        return True
    return before[-1] in "^_=" or bool(_UNIT_WITH_POWER.search(before))


def _parenthesised(match: re.Match[str], text: str) -> Marker | None:
    line_start = text.rfind("\n", 0, match.start()) + 1
    before = text[line_start : match.start()]
    if not before.strip(" *->") or _COUNTED.search(before) or not _CLAUSE_END.match(text, match.end()):
        return None
    return Marker(Form.PARENTHESISED, tuple(expand(match["n"])), match.start(), match.end())


_Reader = Callable[[re.Match[str], str], "Marker | None"]
_FORMS: tuple[tuple[re.Pattern[str], _Reader], ...] = (
    (re.compile(rf"【(?P<n>{_NUMBER})(?::(?P<sub>{_NUMBER}))?†[^】\n]{{0,80}}】"), _openai_file),
    (
        re.compile(
            rf"[(（]\s*(?:see\s+)?{_LEAD}?(?P<n>{_OPEN}\s*{_NUMBERS}\s*{_CLOSE}(?:\s*[,;、，；]?\s*{_OPEN}\s*{_NUMBERS}\s*{_CLOSE})*)\s*[)）]",
            re.IGNORECASE,
        ),
        lambda m, _: _wrapped(m),
    ),
    (re.compile(rf"\[\[\s*\^?(?P<n>{_NUMBERS})\s*\]\](?:\([^)\n]*\))?", re.IGNORECASE), _numbered),
    (
        re.compile(
            r"\[(?P<name>[^\[\]\n]{1,200}|\[[^\[\]\n]{1,40}\])\]\(\s*<?(?P<url>[^()\s<>]{1,500}(?:\([^()\s<>]{0,80}\)[^()\s<>]{0,80})?)>?(?:\s+\"[^\"\n]*\")?\s*\)"
        ),
        _link,
    ),
    (re.compile(rf"{_LEAD}?{_OPEN}\s*(?P<n>{_NUMBERS})\s*{_CLOSE}", re.IGNORECASE), _numbered),
    (
        re.compile(
            rf"<{_TAG}\b[^<>\n]*>\s*\[?\s*(?P<name>[^<>\n]{{1,120}}?)\s*\]?\s*</{_TAG}\s*>", re.IGNORECASE
        ),
        _named,
    ),
    (
        re.compile(
            rf"<{_TAG}\s+(?:id|doc|ref|source|n|index)\s*=\s*[\"']?(?P<name>[^\"'<>/\s]{{1,120}})[\"']?\s*/\s*>",
            re.IGNORECASE,
        ),
        _named,
    ),
    (
        re.compile(
            rf"[(（\[【]\s*(?:see\s+|参见|见)?{_WORD}\s*[:：]\s*(?P<name>[^()（）\[\]【】\n]{{1,200}}?)\s*[)）\]】]",
            re.IGNORECASE,
        ),
        _named,
    ),
    (
        re.compile(rf"[(（]\s*(?:see\s+|参见|见)?{_WORD}\s*#?(?P<n>{_NUMBERS})\s*[)）]", re.IGNORECASE),
        _numbered,
    ),
    (re.compile(rf"{_OPEN}(?P<name>[^\[\]［］【】〔〕\n]{{1,120}}){_CLOSE}"), _bracketed),
    (re.compile(rf"<sup>\s*\[?(?P<n>{_NUMBERS})\]?\s*</sup>", re.IGNORECASE), _raised),
    (
        re.compile(
            rf"\^\[?(?P<n>{_NUMBERS})\]?\^|(?:(?<=[^\W\d_]{{2}})|(?<=[㐀-鿿]))\^(?P<m>{_NUMBER})(?![\w^])"
        ),
        lambda m, t: _caret(m),
    ),
    (re.compile(rf"[{_CIRCLED}](?:\s*[{_CIRCLED}])*"), _circled),
    (re.compile(rf"[{_SUPERSCRIPT}]+(?:[,˒⸴ʼ’·][{_SUPERSCRIPT}]+)*"), _superscript),
    (re.compile(rf"[(（]\s*(?P<n>{_NUMBERS})\s*[)）]"), _parenthesised),
)
"""In order of trust: a later form never reads characters that an earlier one has read."""


def _caret(match: re.Match[str]) -> Marker:
    return Marker(Form.NUMBERED, tuple(expand(match["n"] or match["m"])), match.start(), match.end())
