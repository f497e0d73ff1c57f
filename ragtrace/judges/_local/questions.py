"""Questions as the embedded judge reads them: their needs, what kind of answer each wants, their content."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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
    """The tokens that tell it from an earlier need of the same question; empty where it stands for itself."""

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
    pieces = [piece.strip(" ,，、") for piece in _splitter(_is_zh(question)).split(question)]
    pieces = [piece for piece in pieces if _asks(piece)]
    if len(pieces) < 2:
        return (read_question(question),)
    first = _need(pieces[0], ())
    return (first, *(_need(piece, first.tokens) for piece in pieces[1:]))


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
