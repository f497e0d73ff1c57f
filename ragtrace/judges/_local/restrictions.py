"""Only this, only that: a claim and a passage that restrict the same to different things."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ragtrace.judges._local.passages import Passage, clauses
from ragtrace.text.lexicon import english
from ragtrace.text.tokens import content, stem, words

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


def reserved_for_another(text: str, normal: str, passage: Passage) -> tuple[str, str] | None:
    """The name of which a claim says what ``passage`` says only of another, and the other: "Pro includes SSO"
    against "SSO is on the Enterprise plan only". ``None`` where the claim restricts or denies, speaks of the
    other as well, or names nothing of its kind."""
    only = _only_in(passage.normal)
    if only is None or is_restriction(normal) or _DENIES.search(normal):
        return None
    if only[0].isascii():
        return _reserved_en(text, normal, passage)
    return _reserved_zh(normal, passage.normal, only.end())


def _reserved_en(text: str, normal: str, passage: Passage) -> tuple[str, str] | None:
    holders = [name for name in _names_in(passage.text) if _is_near_only(name, passage.text)]
    if not holders or any(name.lower() in normal for name in holders):
        return None
    others = [name for name in _names_in(text) if name.lower() not in passage.normal]
    if len(others) != 1 or not _shares_feature(normal, others[0], passage.vocabulary):
        return None
    return others[0], holders[0]


def _shares_feature(normal: str, name: str, vocabulary: frozenset[str]) -> bool:
    """Whether all content of a clause of the claim, but its name and words for having, is in the passage."""
    for clause in clauses(normal):
        kept = [t for t in content(words(clause.replace(name.lower(), " "))) if t not in _having()]
        if kept and all(token in vocabulary for token in kept):
            return True
    return False


@cache
def _having() -> frozenset[str]:
    """Stems of words that say that something has something."""
    return frozenset(
        map(stem, ("include", "support", "offer", "provide", "come", "feature", "available", "plan"))
    )


def _names_in(text: str) -> list[str]:
    return [name for name in _NAME.findall(text) if name.lower() not in english().stop]


_NAME = re.compile(r"\b[A-Z][a-z]\w+")
_NEAR_ONLY = (
    r"\b(?:only|solely|exclusively)\b(?: \w+){0,4}? %s\b|\b%s\b(?: \w+){0,2}[ -](?:only|exclusively)\b"
)


def _is_near_only(name: str, text: str) -> bool:
    return re.search(_NEAR_ONLY % (name, name), text, re.IGNORECASE) is not None


def _reserved_zh(normal: str, passage: str, end: int) -> tuple[str, str] | None:
    found = _HOLDER_ZH.match(passage, end)
    if found is None or found["name"] in normal:
        return None
    holder, kind = found["name"], found["name"][-1]
    others = {m[1] for m in re.finditer(rf"([\u4e00-\u9fff]{{{len(holder) - 1}}}{kind})", normal)}
    if len(others) != 1:
        return None
    feature = frozenset(content(words(passage.replace(found[0], ""))))
    for clause in clauses(normal):
        kept = content(words(clause.replace(next(iter(others)), "")))
        if len(kept) >= _FEWEST and sum(token in feature for token in kept) >= _FEATURE_HELD * len(kept):
            return others.pop(), holder
    return None


_HOLDER_ZH = re.compile(
    r"(?:支持|限于?|在|由|供|向|对|面向|适用于?)?(?P<name>[\u4e00-\u9fff]{1,5}?[版型款级档员户者])(?![本号的])"
)
_FEATURE_HELD = 0.8
_DENIES = re.compile(r"\b(?:not|no|never|without|cannot|\w+n't)\b|[不无未没非]")


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
