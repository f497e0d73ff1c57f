"""Which product a passage is about: a claim on the TL-900 must not take its value from what is said of the
TL-700.

Told apart are names with a number ("TL-900" and "TL-700", "K30" and "K20") and plans ("the Pro plan" and "the
Starter plan", 专业版 and 企业版). Other names are left to the estimate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ragtrace.judges._local.corpus import Corpus
from ragtrace.judges._local.passages import Document, Passage
from ragtrace.judges._local.restrictions import is_restriction

Name: TypeAlias = tuple[str, str]
"""The family whose members exclude each other ("tl", "plan"), and the member ("900", "pro")."""

_CODE = re.compile(
    r"(?<![A-Za-z0-9])(?!(?i:usd|eur|gbp|cny|rmb|hkd))([A-Za-z]{1,8})-?(\d{1,5}[A-Za-z]?)(?![A-Za-z0-9]|[.,]\d)"
)
_PLAN = re.compile(
    r"\b([A-Z][a-z]+) (?:plan|edition|tier|package)\b"
    r"|([\u4e00-\u9fff]{2})(?<![出改排再盗正绝初新旧原翻模])版(?![本权块面图税])"
)
_PLAN_SIGNS = ("plan", "edition", "tier", "package", "版")
_NO_NAMES = frozenset(("the", "this", "our", "your", "each", "every", "any", "no", "one", "that", "all"))
_GOES_ON = re.compile(r"\W*(?:(?:it|its|this|they|their|these)\b|[它其该])", re.IGNORECASE)
_SUBJECT_WITHIN = 30
"""Characters from the start of a passage in which stands what it is about."""


def plans_in(corpus: Corpus) -> frozenset[str]:
    """The plans that the documents name, in lower case."""
    text = corpus.text
    if not any(sign in text for sign in _PLAN_SIGNS):
        return frozenset()
    found = (match for passage in corpus.passages for match in _PLAN.finditer(passage.text))
    return frozenset((match[1] or match[2]).lower() for match in found) - _NO_NAMES


def names_in(text: str, plans: frozenset[str]) -> frozenset[Name]:
    """What ``text`` names of the two kinds, ``plans`` being those that the documents name."""
    return frozenset(name for _, name in _places(text, plans))


def without_rivals(corpus: Corpus, about: frozenset[Name], plans: frozenset[str]) -> Corpus:
    """``corpus`` without the passages that are about rivals of what ``about`` names; itself where it has
    none. What is reserved for a rival is denied of the others: those passages stay."""
    kept = [(document, tuple(_kept(document.passages, about, plans))) for document in corpus.documents]
    if all(len(passages) == len(document.passages) for document, passages in kept):
        return corpus
    return Corpus([Document(document.rank, passages) for document, passages in kept], corpus.limit)


def _kept(passages: Sequence[Passage], about: frozenset[Name], plans: frozenset[str]) -> Iterator[Passage]:
    families = {family for family, _ in about}
    before: list[tuple[int, Name]] = []
    for passage in passages:
        found = [(place, name) for place, name in _places(passage.text, plans) if name[0] in families]
        if found or not _GOES_ON.match(passage.text):
            before = found
        own = any(name in about for _, name in before)
        if own or is_restriction(passage.normal) or not any(place < _SUBJECT_WITHIN for place, _ in before):
            yield passage


def _places(text: str, plans: frozenset[str]) -> Iterator[tuple[int, Name]]:
    for match in _CODE.finditer(text):
        yield match.start(), (match[1].lower(), match[2].lower())
    if plans:
        lowered = text.lower()
        for plan in plans:
            place = _place_of(plan, lowered)
            if place >= 0:
                yield place, ("plan", plan)


def _place_of(plan: str, text: str) -> int:
    if not plan.isascii():
        return text.find(f"{plan}版")
    found = re.search(rf"\b{plan}\b", text) if plan in text else None
    return found.start() if found else -1
