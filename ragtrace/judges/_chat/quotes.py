"""Is a quote really in a document? Tolerant of form, never of content."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from ragtrace.judges._chat.entries import Shown
from ragtrace.judges._chat.fence import visible

_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:\.{3}|…)\s*\]|\(\s*(?:\.{3}|…)\s*\)|\.{3,}|…+)\s*")
_MARKUP = re.compile(r"[*`]|(?<!\w)_+|_+(?!\w)")
_SPACE = re.compile(r"\s+")
_GLUE = re.compile(r"(?<![a-z0-9]) | (?![a-z0-9])")
_EDGE = " \t\n.,;:!?\"'()[]。、"
_SAME = str.maketrans("“”„«»「」『』‘’‚–—−‐‑", '"' * 9 + "'" * 3 + "-" * 5)


@lru_cache(maxsize=256)
def normalised(text: str) -> str:
    """``text`` for comparison: full-width folded, case folded, markup and needless spaces gone.

    A space stays between two ASCII letters or digits, so ``1 5`` never equals ``15``.
    """
    folded = unicodedata.normalize("NFKC", visible(text).translate(_SAME)).casefold()
    return _GLUE.sub("", _SPACE.sub(" ", _MARKUP.sub("", folded)))


class Evidence:
    """Documents made ready for looking up many quotes."""

    def __init__(self, documents: Iterable[Shown]) -> None:
        self._texts = [(document.rank, normalised(document.text)) for document in documents]

    def holding(self, quote: str) -> tuple[int, ...]:
        """Ranks of the documents that hold ``quote``: all its parts (split at ellipses), in order."""
        parts = [part for raw in _ELLIPSIS.split(quote) if len(part := normalised(raw).strip(_EDGE)) > 1]
        return tuple(rank for rank, text in self._texts if parts and _in_order(parts, text))


def _in_order(parts: list[str], text: str) -> bool:
    position = 0
    for part in parts:
        found = _find_whole(part, text, position)
        if found < 0:
            return False
        position = found + len(part)
    return True


def _find_whole(part: str, text: str, start: int) -> int:
    """Where ``part`` stands in ``text`` without cutting a number or a Latin word at either end, else -1."""
    while (found := text.find(part, start)) >= 0:
        before, after = text[found - 1 : found], text[found + len(part) : found + len(part) + 1]
        if not (_one_word(before, part[0]) or _one_word(part[-1], after)):
            return found
        start = found + 1
    return -1


def _one_word(left: str, right: str) -> bool:
    return left.isascii() and right.isascii() and left.isalnum() and right.isalnum()
