"""Words of a text: normal form, tokens, content tokens.

English words are lower-cased and reduced to a stem, Chinese is cut into single characters, in simplified
form. The stemmer is a light one of our own: the one library for it costs 0.3 s to import and 60 µs a word,
and a full Porter stemmer did not rank claims better.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from ragtrace.text.lexicon import chinese, english, to_simplified

_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_WORD = re.compile(
    r"[^\W\d_\u3400-\u9fff\uf900-\ufaff]+(?:'[a-z]+)?|\d+(?:[.,]\d+)*|[\u3400-\u9fff\uf900-\ufaff]"
)
_QUOTES = {ord("’"): "'", ord("‘"): "'", ord("“"): '"', ord("”"): '"', 0xA0: " "}


def normalise(text: str) -> str:
    """NFKC (full-width forms become ASCII), straight quotes, simplified characters, lower case."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES).lower()
    return text.translate(to_simplified()) if _CJK.search(text) else text


def words(normal: str) -> list[str]:
    """All tokens of a normalised text: words, numbers (thousands separators dropped), Chinese characters."""
    return _WORD.findall(normal)


def content(tokens: Iterable[str]) -> list[str]:
    """The content tokens among ``tokens``: stop words out, words as stems, number words as digits."""
    return [stem for token in tokens if (stem := _content(token))]


@lru_cache(maxsize=65536)
def _content(token: str) -> str:
    first = token[0]
    if first > "\u2fff":
        return "" if token in chinese().stop else token
    if first.isdigit():
        return _digits(token)
    lexicon = english()
    if token in lexicon.stop:
        return ""
    if token.endswith("'s"):
        token = token[:-2]
    number = lexicon.number_words.get(token)
    if number is None:
        number = lexicon.ordinals.get(token)
    return str(number) if number is not None else stem(token)


def _digits(token: str) -> str:
    token = token.replace(",", "")
    if "." in token and token.count(".") == 1:
        token = token.rstrip("0").rstrip(".")
    return token.lstrip("0") or "0"


_VOWEL = re.compile(r"[aeiouy]")
_SUFFIXES = {
    "s": (("ities", "ity"), ("ments", "ment"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"),
          ("ies", "y"), ("s", "")),
    "y": (("ically", "ic"), ("ally", "al"), ("ly", "")),
    "n": (("ization", "ize"), ("isation", "ize"), ("ation", "ate")),
    "l": (("ational", "ate"),),
}  # fmt: skip
"""Last letter → (suffix, what stays in its place), longest first."""


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A short form shared by the inflections of an English ``word`` (and of little else)."""
    base = english().irregular.get(word)
    if base is not None:
        return base
    if len(word) <= 3 or not word.isascii():
        return word
    if not word.endswith(("ss", "us", "is")):
        for suffix, put in _SUFFIXES.get(word[-1], ()):
            if word.endswith(suffix) and len(word) - len(suffix) >= 2:
                word = word[: len(word) - len(suffix)] + put
                break
    return _without_participle(word)


def _without_participle(word: str) -> str:
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for suffix in ("ing", "ed"):
        root = word[: -len(suffix)]
        if word.endswith(suffix) and len(root) >= 3 and _VOWEL.search(root):
            if root[-1] == root[-2] and root[-1] not in "lsz":
                return root[:-1]
            word = root
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
