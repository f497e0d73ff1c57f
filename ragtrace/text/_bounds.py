"""How strictly a quantity is meant: at least, at most, about.

"Never more than 20", "up to 20" and "不得超过20" are the same bound: a negated comparative is turned round.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Literal

from ragtrace.text.lexicon import units

Bound = Literal["", "at_least", "at_most"]

_BEFORE, _AFTER = 26, 9
"""Characters around a quantity in which the words of its bound stand."""
_NOT = (
    r"(?:\b(?:no|not|never|cannot|without)\s(?:(?:be|exceed|go|get|cost|last|take|have|any)\s)?|n't\s(?:be\s)?"
    r"|不(?:会|得|能|可以?|应|许|允许)?|未|没有?)"
)
_JOINS = r"\s?(?:the\s|a\s|is\s|of\s|[为是]\s?)?"
"""What may stand between such a word and the quantity."""
_TURNED: dict[Bound, Bound] = {"at_least": "at_most", "at_most": "at_least"}


def bound_of(text: str, start: int, end: int) -> Bound:
    """The bound of the quantity at characters [start, end) of the normalised ``text``."""
    after = text[end : end + _AFTER]
    before = text[max(0, start - _BEFORE) : start]
    match = _before().search(before) if _any_before().search(before) else None
    if match is not None:
        bound: Bound = "at_most" if match["at_most"] else "at_least"
        return _TURNED[bound] if match["not"] else bound
    if _behind("at_least_after").match(after):
        return "at_least"
    return "at_most" if _behind("at_most_after").match(after) else ""


def is_approximate(text: str, start: int, end: int) -> bool:
    """Whether the quantity at characters [start, end) of ``text`` is said to be about right."""
    if text[end : end + 2] in {"左右", "上下"}:
        return True
    before = text[max(0, start - _BEFORE) : start]
    return _any_about().search(before) is not None and _about().search(before) is not None


def negated_bounds(normal: str) -> int:
    """How many negations of ``normal`` only turn a comparative round: "no more than" denies nothing."""
    return sum(1 for _ in _negated().finditer(normal))


def without_bounds(normal: str, stop: str) -> str:
    """``normal`` with ``stop`` in the place of every word that bounds a quantity."""
    return _any_bound().sub(f" {stop} ", normal) if _any_word().search(normal) else normal


# A pattern whose alternatives all begin with a letter is looked for many times faster than one that begins
# with an optional negation or a word boundary: these are tried only where the first kind found something.


@cache
def _any_word() -> re.Pattern[str]:
    """Any word that bounds a quantity, if only as a piece of another."""
    return re.compile("|".join(map(re.escape, (*units()["at_most"], *units()["at_least"]))))


@cache
def _any_before() -> re.Pattern[str]:
    """As :func:`_before`, without the negation."""
    return re.compile(rf"(?:{_any_word().pattern}){_JOINS}$")


@cache
def _any_bound() -> re.Pattern[str]:
    return re.compile(rf"(?:{_NOT})?(?:{_any_of('at_most')}|{_any_of('at_least')})")


@cache
def _before() -> re.Pattern[str]:
    most, least = _any_of("at_most"), _any_of("at_least")
    return re.compile(rf"(?P<not>{_NOT})?(?:(?P<at_most>{most})|(?P<at_least>{least})){_JOINS}$")


@cache
def _negated() -> re.Pattern[str]:
    return re.compile(rf"{_NOT}(?:{_any_of('comparatives')})")


@cache
def _behind(name: str) -> re.Pattern[str]:
    return re.compile(rf"\s?(?:{_any_of(name)})")


@cache
def _about() -> re.Pattern[str]:
    return re.compile(rf"(?:{_any_of('approximate')})\s?(?:the\s)?$")


@cache
def _any_about() -> re.Pattern[str]:
    listed = "|".join(map(re.escape, units()["approximate"]))
    return re.compile(rf"(?:{listed})\s?(?:the\s)?$")


def _any_of(name: str) -> str:
    listed: Iterable[str] = units()[name]
    words = sorted(listed, key=len, reverse=True)
    return "|".join(_edge(word) + re.escape(word) for word in words)


def _edge(word: str) -> str:
    return r"\b" if word[0].isascii() and word[0].isalpha() else ""
