"""Documents as the embedded judge reads them: passages of about a sentence, their tokens, where each token occurs."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from threading import Lock

from ragtrace.text.numbers import Quantity, quantities
from ragtrace.text.tokens import content, normalise, words

_END = re.compile(
    r"[。！？；!?]+[”」』\"')）]*|(?<=[^\W\d_]{2})\.[\"')\]]*(?=\s)|(?<=[\d)\]\"'])\.[\"')\]]*(?=\s+[A-Z])|\n+"
)
"""Coarser and ten times faster than :mod:`ragtrace.text.sentences`: a wrong cut costs an estimate little."""

_ABBREVIATION = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|vs|No|Inc|Ltd|Co|Jr|Sr|approx|Art|Sec|Fig))$")
_LONGEST = 600


@dataclass(frozen=True, eq=False)
class Passage:
    """About a sentence: characters [start, end) of document ``rank`` (1-based)."""

    rank: int
    text: str
    start: int
    end: int
    normal: str
    words: tuple[str, ...]
    tokens: tuple[str, ...]

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The distinct content tokens."""
        return frozenset(self.tokens)

    @cached_property
    def all_words(self) -> frozenset[str]:
        """The distinct words, stop words among them."""
        return frozenset(self.words)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The quantities that are written in it."""
        return quantities(self.normal)


@dataclass(frozen=True)
class Document:
    """One document's passages, in order."""

    rank: int
    passages: tuple[Passage, ...]

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """All content tokens, in order."""
        return tuple(token for passage in self.passages for token in passage.tokens)

    @cached_property
    def normal(self) -> str:
        """The words of all passages, one space between, for looking up pieces of words."""
        return " " + " ".join(" ".join(passage.words) for passage in self.passages) + " "


class Reader:
    """Reads documents, and remembers the last ones read by the hash of their text: retrieval repeats itself.

    Thread-safe. ``limit`` is in characters of remembered text.
    """

    def __init__(self, limit: int = 400_000) -> None:
        self._limit = limit
        self._size = 0
        self._seen: OrderedDict[bytes, tuple[int, tuple[Passage, ...]]] = OrderedDict()
        self._lock = Lock()

    def read(self, text: str, rank: int) -> Document:
        """The document ``text`` that stands at ``rank``."""
        key = blake2b(b"%d:" % rank + text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            if key in self._seen:
                self._seen.move_to_end(key)
                return Document(rank, self._seen[key][1])
        found = tuple(passages(text, rank))
        with self._lock:
            if key not in self._seen:
                self._seen[key] = (len(text), found)
                self._size += len(text)
            while self._size > self._limit and len(self._seen) > 1:
                self._size -= self._seen.popitem(last=False)[1][0]
        return Document(rank, found)


def passages(text: str, rank: int) -> Iterator[Passage]:
    """Cut ``text`` into passages; pieces without a word or digit are dropped."""
    for start, end in _cuts(text):
        normal = normalise(text[start:end])
        tokens = words(normal)
        if tokens:
            yield Passage(
                rank, text[start:end].strip(), start, end, normal, tuple(tokens), tuple(content(tokens))
            )


def _cuts(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _END.finditer(text):
        if _ABBREVIATION.search(text, max(start, match.start() - 8), match.start()):
            continue
        yield from _pieces(start, match.end())
        start = match.end()
    yield from _pieces(start, len(text))


def _pieces(start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > _LONGEST:
        yield start, start + _LONGEST
        start += _LONGEST
    if end > start:
        yield start, end


def flat(documents: Sequence[Document]) -> list[Passage]:
    """The passages of all documents, in order."""
    return [passage for document in documents for passage in document.passages]
