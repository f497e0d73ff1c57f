"""Only this, only that: a claim and a passage that restrict the same to different things."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragtrace.judges._local.passages import Passage
from ragtrace.text.tokens import content, words

_ONLY = re.compile(r"\b(?:only|solely|exclusively)\b|仅限?|只(?:有|能|可|限|接受|支持|收)?")
_SIGNS = ("only", "solely", "exclusively", "仅", "只")
"""One of these is in every text that restricts: most have none, which is seen at once."""
_REACH = 24
"""Characters before and behind such a word in which stands what it restricts to."""
_REACH_ZH = 10
_STOP = re.compile(r"[,;.:，；。：、!?！？]")
_REST_HELD = 0.6
_FEWEST = 2
"""Single tokens differ for other reasons as well."""


def is_restriction(normal: str) -> bool:
    """Whether a normalised text restricts something."""
    return _only_in(normal) is not None


def _only_in(normal: str) -> re.Match[str] | None:
    return _ONLY.search(normal) if any(word in normal for word in _SIGNS) else None


def without_only(normal: str) -> str:
    """What a short normalised text restricts to."""
    return _ONLY.sub("", normal).strip(" .。")


def other_restriction(normal: str, tokens: Sequence[str], passage: Passage) -> tuple[str, str] | None:
    """What the claim ``normal`` with its content ``tokens`` restricts to and what ``passage`` does; ``None``
    where they agree, or speak of different things."""
    said = _only_in(normal)
    found = _only_in(passage.normal) if said is not None else None
    if said is None or found is None:
        return None
    claimed = _restricted(normal, said, passage.vocabulary)
    stated = _restricted(passage.normal, found, frozenset(tokens))
    if min(len(claimed), len(stated)) < _FEWEST:
        return None
    unknown = frozenset(content(claimed))
    rest = [token for token in tokens if token not in unknown]
    held = sum(token in passage.vocabulary for token in rest)
    return (_join(claimed), _join(stated)) if rest and held >= _REST_HELD * len(rest) else None


def _restricted(normal: str, only: re.Match[str], known: frozenset[str]) -> list[str]:
    """The first words in a row near ``only`` whose content the other side does not know."""
    behind = _STOP.split(normal[only.end() : only.end() + _REACH])[0]
    if only.end() + _REACH < len(normal) and behind.isascii():
        behind = behind.rpartition(" ")[0]
    if only[0].isascii():
        before = _STOP.split(normal[max(0, only.start() - _REACH) : only.start()].partition(" ")[2])[-1]
        return _unknown_row(words(behind), known) or _unknown_row(words(before), known)
    return _unknown_row(words(behind[:_REACH_ZH]), known)


def _unknown_row(near: Sequence[str], known: frozenset[str]) -> list[str]:
    row: list[str] = []
    for word in near:
        kept = content((word,))
        if kept and kept[0] not in known:
            row.append(word)
        elif len(row) >= _FEWEST:
            return row
        elif kept or row:
            row = []
    return row if len(row) >= _FEWEST else []


def _join(tokens: Sequence[str]) -> str:
    return "".join(tokens) if tokens[0] > "\u2fff" else " ".join(tokens)
