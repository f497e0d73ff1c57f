"""Questions as the embedded judge reads them: their needs, what kind of answer each wants, their content."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from ragtrace.judges._local.passages import Passage
from ragtrace.model import Language
from ragtrace.text import lexicon
from ragtrace.text.language import detect_language
from ragtrace.text.tokens import content, normalise, stem, words


@dataclass(frozen=True)
class NeedText:
    """One information need of a question. ``kind`` is what it asks for: ``when``, ``who``, ``how_many`` …"""

    text: str
    kind: str
    tokens: tuple[str, ...]
    alternatives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Token → words that mean the same as a word it is part of (Chinese)."""
    own: frozenset[str] = frozenset()
    """The tokens that tell it from the other needs of the same question; empty where it is the only one."""

    @cached_property
    def forms(self) -> Mapping[str, str]:
        """Content token or synonym → the token of the need that it stands for."""
        own = {token: token for token in self.tokens}
        return {other: token for token in self.tokens for other in synonyms().get(token, ())} | own

    @cached_property
    def language(self) -> Language:
        """The language of the need."""
        return detect_language(self.text)

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """Content token → weight: longer words say more, a Chinese character counts one."""
        return {token: token_weight(token) for token in self.tokens}

    @cached_property
    def weight(self) -> float:
        """The weight of all its tokens."""
        return sum(self.weights.values())


def read_question(question: str) -> NeedText:
    """The whole ``question`` as one need."""
    return _need(question, ())


def split_needs(question: str) -> tuple[NeedText, ...]:
    """The information needs of ``question``, in order; at least one. A short later one keeps the subject of
    the first."""
    listed = _listed_needs(question)
    if listed:
        return listed
    pieces = [piece.strip(" ,，、") for piece in _splitter(_is_zh(question)).split(question)]
    pieces = [piece for piece in pieces if _asks(piece)]
    if len(pieces) < 2:
        return (read_question(question),)
    first = _need(pieces[0], ())
    return _told_apart((first, *(_need(piece, first.tokens) for piece in pieces[1:])))


def _told_apart(needs: tuple[NeedText, ...]) -> tuple[NeedText, ...]:
    """``needs`` with what each has that no earlier one has; the first: that no later one has."""
    first, *later = needs
    others = frozenset(token for need in later for token in need.own or need.tokens)
    known = _light().union(first.tokens)
    return (
        replace(first, own=frozenset(first.tokens) - others - _light()),
        *(replace(need, own=need.own or frozenset(need.tokens) - known) for need in later),
    )


def _listed_needs(question: str) -> tuple[NeedText, ...]:
    """A question for several things of one subject, a need each: "What are the price, the storage limit and
    the support hours of Pro?" Empty for any other."""
    zh = _is_zh(question)
    found = (_LIST_ZH if zh else _LIST_EN).match(question.strip())
    if found is None:
        return ()
    listed = found["items"]
    splitter = _ITEMS_ZH if zh else _ITEMS_EN if "," in listed else _TWO_EN
    items = [item.strip() for item in splitter.split(listed) if item.strip()]
    if len(items) < 2 or any(_MORE_THAN_A_NAME.search(item) for item in items):
        return ()
    of = found["of"] or ""
    subject = tuple(content(words(normalise(of))))
    return tuple(_listed_need(item, of, subject, zh) for item in items)


def _listed_need(item: str, of: str, subject: tuple[str, ...], zh: bool) -> NeedText:
    own = content(words(normalise(item)))
    tokens = tuple(dict.fromkeys((*own, *subject)))
    text, asked = (of + item, of + item) if zh else (item + of, f"what is the {item}")
    return NeedText(text, kind_of(asked), tokens, _alternatives(normalise(item)), frozenset(own) - {*subject})


_LIST_EN = re.compile(
    r"what (?:is|are|was|were) (?:the |its )(?!differen|relation|connection)(?P<items>[^?]+?)"
    r"(?P<of> (?:of|for) (?:(?! and )[^,?])+)?\W*$",
    re.IGNORECASE,
)
_ITEMS_EN = re.compile(r"(?:,|\s+and\s)\s*(?:and\s+)?(?:the\s+|its\s+)?")
_TWO_EN = re.compile(r"\s+and\s+(?:the|its)\s+")
_LIST_ZH = re.compile(
    r"(?P<of>[^，,、？?的]{1,16}的)(?P<items>[^，,？?的]*(?:、[^，,？?的]*|[^，,？?的]和[^，,？?的]*(?=分别|各是)))"
    r"(?:分别|各)?(?:是|有|为)?(?:什么|多少|怎样|怎么样|如何|哪些)[^，,]{0,4}$"
)
_ITEMS_ZH = re.compile(r"、|以及|和|与|及")
_MORE_THAN_A_NAME = re.compile(r"\s(?:of|for|in|on|that|who)\s|(?:\S+\s+){4}\S")


def share_held(need: NeedText, passage: Passage) -> float:
    """The share of the need's weight that ``passage`` holds, synonyms counting in full."""
    forms, weights = need.forms, need.weights
    held = {forms[form] for form in forms.keys() & passage.vocabulary}
    for token, others in need.alternatives.items():
        if token in weights and any(other in passage.normal for other in others):
            held.add(token)
    return math.fsum([weights[token] for token in held]) / need.weight if held else 0.0


def token_weight(token: str) -> float:
    """How much a content token says: the logarithm of its length, one for a Chinese character."""
    return _WEIGHTS[min(len(token), 15)] if token[0] < "\u2fff" else 1.0


_WEIGHTS = [0.0, 0.7, 0.9, 1.1, 1.3, 1.45, 1.55, 1.65, 1.75, 1.8, 1.85, 1.9, 1.95, 2.0, 2.0, 2.0]


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """Stem → the stems of words that mean the same in a question about a document (English)."""
    found: dict[str, set[str]] = {}
    for group in _table()["synonyms_en"]:
        stems = {stem(word) for word in group}
        for one in stems:
            found.setdefault(one, set()).update(stems - {one})
    return {word: frozenset(others) for word, others in found.items()}


def kind_of(question: str) -> str:
    """What kind of answer a question wants, ``which`` where nothing says."""
    normal = normalise(question)
    found = [(match.start(), place, kind) for place, kind, match in _matches(normal)]
    return min(found)[2] if found else "which"


def _matches(normal: str) -> Iterator[tuple[int, str, re.Match[str]]]:
    for place, (kind, pattern) in enumerate(_kinds()):
        match = pattern.search(normal)
        if match is not None:
            yield place, kind, match


def _need(piece: str, inherited: tuple[str, ...]) -> NeedText:
    normal = normalise(piece)
    tokens = [t for t in content(words(_question_only_zh().sub(" ", normal))) if t not in _question_only()]
    tokens = tokens or content(words(normal)) or words(normal)
    own = frozenset(tokens) - _light() if inherited and len(tokens) < _FEW else frozenset()
    if len(tokens) < _FEW:
        tokens = [*tokens, *inherited]
    return NeedText(piece, kind_of(piece), tuple(dict.fromkeys(tokens)), _alternatives(normal), own)


@cache
def _light() -> frozenset[str]:
    """Stems of verbs that say little: how long does it *take*, when does it *start*."""
    return frozenset(
        stem(word) for word in ("take", "last", "go", "come", "start", "begin", "end", "run", "apply")
    )


def _alternatives(normal: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for group in _table()["synonyms_zh"]:
        for word in group:
            if word in normal:
                others = tuple(other for other in group if other != word)
                for char in word:
                    found[char] = (*found.get(char, ()), *others)
    return found


_FEW = 3


def _asks(piece: str) -> bool:
    return len(words(normalise(piece))) >= 2 and (
        piece.endswith(("?", "？")) or any(pattern.search(normalise(piece)) for _, pattern in _kinds())
    )


def _is_zh(text: str) -> bool:
    return any("\u3400" <= char <= "\u9fff" for char in text)


@cache
def _table() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((files(lexicon) / "questions.json").read_text(encoding="utf-8"))
    return loaded


@cache
def _kinds() -> tuple[tuple[str, re.Pattern[str]], ...]:
    table = _table()
    return tuple((kind, re.compile("|".join(table["kinds"][kind]))) for kind in table["order"])


@cache
def _splitter(zh: bool) -> re.Pattern[str]:
    return re.compile(_table()["split_zh" if zh else "split_en"], re.IGNORECASE)


@cache
def _question_only() -> frozenset[str]:
    return frozenset(stem(word) for word in _table()["question_only"])


@cache
def _question_only_zh() -> re.Pattern[str]:
    return re.compile("|".join(sorted(_table()["question_only_zh"], key=len, reverse=True)))
