"""Cut an answer into units: the pieces that claims and citations are told by.

A unit ends at a sentence end and behind a run of citation markers; the run belongs to the unit before it.
A marker that is spoken of inside its sentence ("according to [1], …", "文档[1]指出…") or that opens a
line belongs to what follows.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragtrace.model import Citation, Language, Unit
from ragtrace.text.abstain import is_neutral
from ragtrace.text.checkworthy import is_check_worthy, is_evasive, is_yes_or_no
from ragtrace.text.language import detect_language
from ragtrace.text.sentences import kinded_sentences, sentences
from ragtrace.text.structure import LineKind

__all__ = ["detect_language", "sentences", "units"]

_JOINS = re.compile(r"[^\S\n]*[,，、;；]?[^\S\n]*(?:and|&|和|及|以及|或|or)?[^\S\n]*", re.IGNORECASE)
_ATTRIBUTES = (
    r"according to|as (?:stated|noted|described|mentioned|shown|reported) (?:in|by)|based on|per|in|from"
)
_ATTRIBUTES_ZH = "根据|依据|基于|按照|据|在|从"
_SPOKEN_OF = re.compile(
    rf"(?:\b(?:{_ATTRIBUTES}|see|by|both|documents?|docs?|sources?|passages?|citing|via)"
    rf"|{_ATTRIBUTES_ZH}|参见|参考|详见|见|如|由|文档|文件|资料|来源|文献|片段|段落)\s*(?:the )?$",
    re.IGNORECASE,
)
_EMPTY_SPOKEN_OF = re.compile(rf"^(?:{_ATTRIBUTES}|{_ATTRIBUTES_ZH})\s*[,，]\s*", re.IGNORECASE)
_EDGE = " \t\n\r\u3000|"
_LEADING = re.compile(r"[\s,，、;；:：.。!！?？)）\]】…|—–-]+")
_SHORT_TAIL = re.compile(r"\W*(?:[A-Za-z'’]+\W+){0,1}[A-Za-z'’]*\W*|[\W㐀-鿿]{1,5}")
"""What is left of a sentence behind its last marker and is too short to stand alone: "(see above).",
"等。"."""


_LONGEST_JOIN, _LONGEST_LEAD, _LONGEST_TAIL = 12, 60, 40
"""Characters beyond which these patterns are not tried: text may be hostile, and they look back and forth."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Markers with nothing but commas and "and" between them, at characters [start, end)."""

    start: int
    end: int
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """Characters [start, end) of the answer, on a line of ``kind``."""

    start: int
    end: int
    kind: LineKind


def units(
    answer: str, citations: Sequence[Citation] = (), language: Language | None = None
) -> tuple[Unit, ...]:
    """Cut ``answer`` at sentence ends and marker runs.

    ``citations`` are those of :func:`ragtrace.text.citations.parse` for the same answer. Units are in
    order, do not overlap, and each holds at least one letter or digit. ``language`` is accepted for
    callers that know it; the rules of both apply to any text.
    """
    masked = _mask(answer, citations)
    runs = _runs(masked, citations)
    pieces = [
        piece
        for start, end, kind in kinded_sentences(masked)
        for piece in _cut(masked, _Piece(start, end, kind), runs)
    ]
    cited: dict[int, list[Citation]] = defaultdict(list)
    for run in runs:
        cited[_owner(masked, run, pieces)].extend(run.citations)
    found: list[Unit] = []
    for number, piece in enumerate(pieces):
        text = answer[piece.start : piece.end]
        if any(run.end > run.start for run in _within(piece, runs)):
            text = _without_markers(masked, piece)
        worthy = is_check_worthy(text, piece.kind)
        found.append(Unit(number + 1, text, piece.start, piece.end, tuple(cited[number]), worthy))
    return _settle_evasion(_settle_yes_or_no(found))


def _mask(answer: str, citations: Sequence[Citation]) -> str:
    """``answer`` with white space where its markers are, so that a sentence still ends before them."""
    chars = list(answer)
    for citation in citations:
        chars[citation.start : citation.end] = " " * (citation.end - citation.start)
    return "".join(chars)


def _runs(masked: str, citations: Sequence[Citation]) -> list[_Run]:
    groups: list[list[Citation]] = []
    end = 0
    for citation in sorted(citations, key=lambda c: (c.start, c.end)):
        if groups and _joins(masked, end, citation.start):
            groups[-1].append(citation)
            end = max(end, citation.end)
        else:
            groups.append([citation])
            end = citation.end
    return [_Run(group[0].start, max(c.end for c in group), tuple(group)) for group in groups]


def _joins(masked: str, end: int, start: int) -> bool:
    """Whether a marker at ``start`` continues the run that ends at ``end``."""
    return start < end or (start - end <= _LONGEST_JOIN and bool(_JOINS.fullmatch(masked, end, start)))


def _cut(masked: str, sentence: _Piece, runs: Sequence[_Run]) -> list[_Piece]:
    """Cut one sentence behind its marker runs."""
    pieces: list[_Piece] = []
    begin = sentence.start
    for run in _within(sentence, runs):
        before = masked[begin : run.start]
        if any(map(str.isalnum, before)) and not _SPOKEN_OF.search(before[-_LONGEST_LEAD:]):
            pieces.append(_Piece(begin, run.start, sentence.kind))
            begin = run.end
    rest = _Piece(begin, sentence.end, sentence.kind)
    if (
        pieces
        and rest.end - rest.start <= _LONGEST_TAIL
        and _SHORT_TAIL.fullmatch(masked, rest.start, rest.end)
    ):
        pieces[-1] = _Piece(
            pieces[-1].start, sentence.end if _has_letters(masked, rest) else pieces[-1].end, sentence.kind
        )
    else:
        pieces.append(rest)
    trimmed = (_trim(masked, piece) for piece in pieces)
    return [piece for piece in trimmed if _has_letters(masked, piece)]


def _owner(masked: str, run: _Run, pieces: Sequence[_Piece]) -> int:
    """The number of the piece that ``run`` belongs to; -1 where there are no pieces.

    That is the piece that holds it, else the one before it, else (where it opens a line) the one after it.
    """
    after = bisect_left(pieces, run.start, key=lambda piece: piece.start)
    before = after - 1
    if not pieces or (before >= 0 and run.start < pieces[before].end):
        return before
    opens_line = before < 0 or "\n" in masked[pieces[before].end : run.start]
    text_follows = after < len(pieces) and "\n" not in masked[run.end : pieces[after].start]
    if before < 0 or (opens_line and text_follows):
        return min(after, len(pieces) - 1)
    return before


def _within(piece: _Piece, runs: Sequence[_Run]) -> Sequence[_Run]:
    """The runs that begin inside ``piece``, behind its first character."""
    first = bisect_right(runs, piece.start, key=lambda run: run.start)
    return runs[first : bisect_left(runs, piece.end, key=lambda run: run.start)]


def _without_markers(masked: str, piece: _Piece) -> str:
    return _EMPTY_SPOKEN_OF.sub("", " ".join(masked[piece.start : piece.end].split()))


def _settle_yes_or_no(found: Sequence[Unit]) -> tuple[Unit, ...]:
    """A bare yes or no is a claim only when nothing else is."""
    explained = any(unit.check_worthy and not is_yes_or_no(unit.text) for unit in found)
    return tuple(
        replace(unit, check_worthy=False) if explained and is_yes_or_no(unit.text) else unit for unit in found
    )


def _settle_evasion(found: Sequence[Unit]) -> tuple[Unit, ...]:
    """Behind "it depends", "please contact support" is no claim either, where nothing else is said."""
    if not any(is_evasive(unit.text) for unit in found):
        return tuple(found)
    if not all(is_evasive(unit.text) or is_neutral(unit.text) or not unit.check_worthy for unit in found):
        return tuple(found)
    return tuple(replace(unit, check_worthy=False) for unit in found)


def _has_letters(text: str, piece: _Piece) -> bool:
    return any(map(str.isalnum, text[piece.start : piece.end]))


def _trim(text: str, piece: _Piece) -> _Piece:
    """Without outer white space and table bars, and without the punctuation that a cut left at the front."""
    start, end = piece.start, piece.end
    if leading := _LEADING.match(text, start, end):
        start = leading.end()
    while end > start and text[end - 1] in _EDGE:
        end -= 1
    return _Piece(start, end, piece.kind)
