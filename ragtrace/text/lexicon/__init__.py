"""Word lists, loaded once: what the estimators know of English and Chinese.

The lists are data files beside this module, so that a reader can check and extend them without reading code.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What is known of one language.

    ``stop``         words (Chinese: characters) without content of their own
    ``negators``     words that turn a statement round
    ``universals``   words that claim there is no exception
    ``antonyms``     word → its opposites, both ways
    ``irregular``    inflected form → base form (English)
    ``number_words``, ``magnitudes``, ``ordinals``, ``months``  word → number (English)
    ``stop_words``, ``negator_exceptions``  multi-character words (Chinese)
    """

    stop: frozenset[str]
    negators: frozenset[str]
    universals: frozenset[str]
    antonyms: Mapping[str, frozenset[str]]
    irregular: Mapping[str, str]
    number_words: Mapping[str, int]
    magnitudes: Mapping[str, int]
    ordinals: Mapping[str, int]
    months: Mapping[str, int]
    stop_words: tuple[str, ...]
    negator_exceptions: tuple[str, ...]


@cache
def english() -> Lexicon:
    """The English lists."""
    return _lexicon("en.json")


@cache
def chinese() -> Lexicon:
    """The Chinese lists, in simplified characters."""
    return _lexicon("zh.json")


@cache
def units() -> Mapping[str, Any]:
    """Units of measurement: dimension → unit → factor and names; currency signs; words of bounds."""
    return _read("units.json")


@cache
def to_simplified() -> Mapping[int, str]:
    """Translation table of ``str.translate`` from traditional to simplified characters."""
    table = _read("traditional.json")
    return {ord(a): b for a, b in zip(table["traditional"], table["simplified"], strict=True)}


def _lexicon(name: str) -> Lexicon:
    raw = _read(name)
    return Lexicon(
        stop=frozenset(raw["stop"]),
        negators=frozenset(raw["negators"]),
        universals=frozenset(raw["universals"]),
        antonyms=_both_ways(raw["antonyms"]),
        irregular=raw.get("irregular", {}),
        number_words=raw.get("number_words", {}),
        magnitudes=raw.get("magnitudes", {}),
        ordinals=raw.get("ordinals", {}),
        months=raw.get("months", {}),
        stop_words=_longest_first(raw.get("stop_words", ())),
        negator_exceptions=_longest_first(raw.get("negator_exceptions", ())),
    )


def _both_ways(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for one, other in pairs:
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(opposites) for word, opposites in found.items()}


def _longest_first(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(words, key=len, reverse=True))


def _read(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((files(__package__) / name).read_text(encoding="utf-8"))
    return loaded
