"""Cut text into sentences, English and Chinese.

A sentence ends at 。！？；… (with the closing quotes behind it), at . ! ? before white space or Chinese,
and at the end of a line that does not run on. It does not end inside paired quotes, after an abbreviation
or an initial, or in a number.
"""

from __future__ import annotations

import re

from ragtrace.model import Language
from ragtrace.text.language import is_cjk
from ragtrace.text.structure import Line, LineKind, lines

_ENDERS = ".!?。！？；…｡．"
_CLOSERS = "\"'”’」』）)]】》〉*_"
_PAIRS = {"“": "”", "「": "」", "『": "』", "‘": "’", "《": "》"}
_TURN = re.compile(f"[{re.escape(_ENDERS + ''.join(_PAIRS))}]")
"""Where a sentence may end, or a quote begin."""
_QUOTE_LIMIT = 300
"""A quote mark that is not closed within so many characters is a slip of the pen, not a quote."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEVER_ENDS = _words(
    "mr mrs ms dr prof st vs e.g i.e eg ie cf ca approx gen col sgt capt rev hon mt messrs viz resp incl excl"
)
_BEFORE_NUMBER = _words("no nos fig figs sec sect art p pp vol ch eq ref tab para nr ver v")
_MAY_END = _words(
    "etc inc ltd co corp jr sr al u.s u.k u.n a.m p.m ph.d dept est assn bros llc min max hr hrs sec avg"
    " jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun"
)
_LONGEST_WORD = 40
_WORD_BEFORE = re.compile(r"[A-Za-z][A-Za-z.]*$")
_NOT_SPACE = re.compile(r"\S")


def sentences(text: str, language: Language | None = None) -> list[tuple[int, int]]:
    """Offsets (start, end) of the sentences of ``text``, without outer white space, list bullets and
    heading marks.

    Sentences never overlap and hold every letter and digit of ``text``, save list numbers. ``language``
    is accepted for callers that know it; both languages' rules apply to mixed text, so it decides nothing
    here.
    """
    return [(start, end) for start, end, _ in kinded_sentences(text)]


def kinded_sentences(text: str) -> list[tuple[int, int, LineKind]]:
    """As :func:`sentences`, each with the kind of the line where it begins."""
    found: list[tuple[int, int, LineKind]] = []
    for start, end, kind in _paragraphs(text):
        if kind is LineKind.CODE:
            found.append((start, end, kind))
            continue
        found.extend((s, e, kind) for s, e in _split(text, start, end))
    return found


def _paragraphs(text: str) -> list[tuple[int, int, LineKind]]:
    """Join the lines of ``text`` that run on into stretches that are split as one."""
    stretches: list[tuple[int, int, LineKind]] = []
    previous: Line | None = None
    for line in lines(text):
        if previous is not None and _runs_on(text, previous, line):
            start, _, kind = stretches[-1]
            stretches[-1] = (start, line.end, kind)
        elif line.kind is not LineKind.BLANK:
            stretches.append((line.content, line.end, line.kind))
        previous = line
    return stretches


def _runs_on(text: str, previous: Line, line: Line) -> bool:
    if line.kind is LineKind.CODE or previous.kind is LineKind.CODE:
        return line.kind is previous.kind
    if line.kind is not LineKind.TEXT or previous.kind not in (LineKind.TEXT, LineKind.LIST):
        return False
    return text[line.content : line.content + 1].islower()


def _split(text: str, start: int, end: int) -> list[tuple[int, int]]:
    pieces, begin, position = [], start, start
    while found := _TURN.search(text, position, end):
        position = found.start()
        if text[position] in _PAIRS:
            position = _skip_quote(text, position, end)
            if _ends_quote(text, position, end):
                pieces.append((begin, position))
                begin = position
            continue
        stop = _run_end(text, position + 1, end)
        if _is_end(text, position, stop, start, end):
            pieces.append((begin, stop))
            begin = stop
        position = stop
    pieces.append((begin, end))
    trimmed = (_trim(text, s, e) for s, e in pieces)
    return [(s, e) for s, e in trimmed if any(map(str.isalnum, text[s:e]))]


def _skip_quote(text: str, position: int, end: int) -> int:
    """Behind the quote that opens at ``position``, or behind its opening mark if it never closes."""
    closing = text.find(_PAIRS[text[position]], position, min(end, position + _QUOTE_LIMIT))
    return closing + 1 if closing > 0 else position + 1


def _ends_quote(text: str, position: int, end: int) -> bool:
    """Whether the sentence ends with the quote that closed just before ``position``."""
    if position < 2 or text[position - 1] not in _CLOSERS or text[position - 2] not in _ENDERS:
        return False
    if text[position - 2] in "。！？；…｡":
        return position == end or text[position] not in "，,、。！？；：）的地"
    following = _NOT_SPACE.search(text, position, end)
    return following is None or (following.start() > position and not following[0].islower())


def _run_end(text: str, position: int, end: int) -> int:
    """Behind the enders and closing marks that follow ``position``."""
    while position < end and text[position] in _ENDERS:
        position += 1
    while position < end and text[position] in _CLOSERS:
        position += 1
    return position


def _is_end(text: str, position: int, stop: int, start: int, end: int) -> bool:
    """Whether the ender at ``position``, whose run stops at ``stop``, ends a sentence."""
    char = text[position]
    if stop >= end or char in "。！？；…｡":
        return True
    following = text[stop]
    if char == "．" or is_cjk(following):
        return not (text[position - 1 : position].isdigit() and (following.isdigit() or char == "."))
    if not following.isspace():
        return False
    next_word = _NOT_SPACE.search(text, stop, end)
    if next_word is None:
        return True
    if next_word[0].islower():
        return False
    return char != "." or not _is_abbreviation(
        text[max(start, position - _LONGEST_WORD) : position], next_word[0]
    )


def _is_abbreviation(before: str, following: str) -> bool:
    """Whether the full stop behind ``before`` belongs to an abbreviation or initial, not to the sentence."""
    match = _WORD_BEFORE.search(before)
    if match is None:
        return False
    word = match[0]
    folded = word.lower()
    if folded in _NEVER_ENDS:
        return True
    if folded in _BEFORE_NUMBER and following.isdigit():
        return True
    if folded in _MAY_END:
        return following.isdigit() or not following.isupper()
    if len(word) == 1 and word.isupper() and word != "I":
        earlier = before[: match.start()].split()
        return not earlier or earlier[-1][0].isupper()
    return False


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
