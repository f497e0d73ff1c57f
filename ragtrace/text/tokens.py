"""Words of a text: normal form, tokens, content tokens.

English words are lower-cased and reduced to a stem, Chinese is cut into single characters, in simplified
form. The stemmer is a light one of our own: the one library for it costs 0.3 s to import and 60 µs a word,
and a full Porter stemmer did not rank claims better.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from ragtrace.text.lexicon import chinese, english, to_simplified

_WORD = re.compile(
    r"[\u3400-\u9fff\uf900-\ufaff]|[^\W\d_\u3400-\u9fff\uf900-\ufaff]+(?:'[a-z]+)?|\d+(?:[.,]\d+)*"
)
_ASCII_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|\d+(?:[.,]\d+)*")
"""What the other pattern finds in ASCII, in a third of the time."""
_FULL_WIDTH = tuple(zip("，：；！？（）％", ",:;!?()%", strict=True))
"""The commonest characters that NFKC rewrites: most Chinese without them needs no more rewriting."""
_QUOTES = {ord("’"): "'", ord("‘"): "'", ord("“"): '"', ord("”"): '"', 0xA0: " "}


def normalise(text: str) -> str:
    """NFKC (full-width forms become ASCII), straight quotes, simplified characters, lower case."""
    if text.isascii():
        return text.lower()
    for full, plain in _FULL_WIDTH:
        text = text.replace(full, plain)
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    text = text.lower()
    table, rewritten = _rewriting()
    return text.translate(table) if rewritten.search(text) else text


@cache
def _rewriting() -> tuple[Mapping[int, str], re.Pattern[str]]:
    """What is written otherwise, for ``str.translate``, and a pattern that finds whether there is any: most
    texts have none, and translating looks every character up."""
    table = {**to_simplified(), **_QUOTES}
    return table, re.compile(f"[{re.escape(''.join(map(chr, table)))}]")


def words(normal: str) -> list[str]:
    """All tokens of a normalised text: words, numbers (thousands separators dropped), Chinese characters."""
    return (_ASCII_WORD if normal.isascii() else _WORD).findall(normal)


def content(tokens: Iterable[str]) -> list[str]:
    """The content tokens among ``tokens``: stop words out, words as stems, number words as digits."""
    return list(filter(None, map(_contents.__getitem__, tokens)))


class _Contents(dict[str, str]):
    """Token → its content token, ``""`` where it has none. Looked up for every word of every text, hence a
    dictionary, which answers in half the time of a cached function; when it is full, it begins anew."""

    def __missing__(self, token: str) -> str:
        if len(self) >= _MOST_TOKENS:
            self.clear()
        found = self[token] = _content(token)
        return found


_MOST_TOKENS = 65_536
_contents = _Contents()


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


@lru_cache(maxsize=16384)
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
