"""Documents as the embedded judge reads them: passages of about a sentence, their tokens, where each token
occurs."""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import chain, pairwise
from threading import Lock

from ragtrace.text.numbers import Quantity, quantities
from ragtrace.text.tokens import content, normalise, words

_END = re.compile(
    r"[。！？；!?.\n](?:(?<=[^.\n])[。！？；!?]*[”」』\"')）]*|(?<=\n)\n*"
    r"|(?<=[^\W\d_]{2}\.)[\"')\]]*(?=\s)|(?<=[\d)\]\"']\.)[\"')\]]*(?=\s+[A-Z]))"
)
"""Coarser and ten times faster than :mod:`ragtrace.text.sentences`: a wrong cut costs an estimate little. One
class of characters in front is what the engine looks for fastest."""

_ABBREVIATION = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|vs|No|Inc|Ltd|Co|Jr|Sr|approx|Art|Sec|Fig))$")
_LONGEST = 600


class Passage:
    """About a sentence of the document at ``rank`` (1-based), never changed once it is read.

    ``text`` is how it is written, ``normal`` its normal form, ``words`` are all its words, ``tokens`` the
    content tokens among them, ``vocabulary`` the distinct ones. Thousands are read a second, hence no
    dataclass: a frozen one takes four times as long to make.
    """

    def __init__(self, rank: int, text: str, normal: str) -> None:
        self.rank, self.text, self.normal = rank, text, normal
        self.words = tuple(words(normal))
        self.tokens = tuple(content(self.words))
        self.vocabulary = frozenset(self.tokens)

    @cached_property
    def all_words(self) -> frozenset[str]:
        """The distinct words, stop words among them."""
        return frozenset(self.words)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The quantities that are written in it."""
        return quantities(self.normal)

    def around(self, quantity: Quantity) -> frozenset[str]:
        """The content tokens of the clause that ``quantity``, one of its own, stands in, without numbers."""
        found = self._around.get(quantity.start)
        if found is None:
            found = self._around[quantity.start] = clause_tokens(self.normal, quantity)
        return found

    @cached_property
    def _around(self) -> dict[int, frozenset[str]]:
        return {}


_CLAUSE = re.compile(r"[,;:，；、：。()（）]|\s(?:and|but|while|whereas|or)\s")


def clauses(normal: str) -> Iterator[str]:
    """The clauses of a normalised text."""
    return (clause for clause in _CLAUSE.split(normal) if clause.strip())


def in_one_clause(normal: str, one: Quantity, other: Quantity) -> bool:
    """Whether two quantities of ``normal`` stand in the same clause."""
    first, second = sorted((one, other), key=lambda quantity: quantity.start)
    return _CLAUSE.search(normal, first.end, max(first.end, second.start)) is None


def clause_tokens(normal: str, quantity: Quantity) -> frozenset[str]:
    """The content tokens of the clause of ``normal`` that ``quantity`` stands in, without numbers."""
    start = end = None
    for cut in _CLAUSE.finditer(normal):
        if cut.end() <= quantity.start:
            start = cut.end()
        elif cut.start() >= quantity.end:
            end = cut.start()
            break
    return frozenset(token for token in content(words(normal[start:end])) if not token[0].isdigit())


ROOT = 5
"""Words that are built alike share so many first letters."""
_LENGTH_PENALTY = 0.12


class Document:
    """One document's passages, in order, with an index of their content tokens.

    The index is built once, however often the document is retrieved, and makes what a claim costs hang on the
    claim's length and not on the document's.

    ``tokens`` are the content tokens of all passages laid end to end; a place in the document is an index of
    it. ``places`` maps a token to the places where it stands, ``homes`` a place to the number of its passage.
    ``lengths`` are, for each passage, what its worth is divided by: long ones hold some of everything.
    """

    def __init__(self, rank: int, passages: Sequence[Passage]) -> None:
        self.rank, self.passages = rank, tuple(passages)
        self.tokens = tuple(chain.from_iterable(passage.tokens for passage in self.passages))
        self.homes = [number for number, passage in enumerate(self.passages) for _ in passage.tokens]
        self.lengths = [1.0 + _LENGTH_PENALTY * math.log1p(len(passage.tokens)) for passage in self.passages]
        self.places: dict[str, list[int]] = {token: [] for token in self.tokens}
        for place, token in enumerate(self.tokens):
            self.places[token].append(place)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The neighbouring content tokens of every passage."""
        return frozenset(chain.from_iterable(pairwise(passage.tokens) for passage in self.passages))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The distinct content tokens."""
        return frozenset(self.places)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word as it is written, in lower case."""
        return frozenset(chain.from_iterable(passage.words for passage in self.passages))

    @cached_property
    def roots(self) -> frozenset[str]:
        """The first letters of every content token."""
        return frozenset([token[:ROOT] for token in self.places])

    @cached_property
    def text(self) -> str:
        """The normal form of all passages."""
        return "\n".join([passage.normal for passage in self.passages])


class Reader:
    """Reads documents, and remembers the last ones read by the hash of their text: retrieval repeats itself.

    Thread-safe. ``limit`` is in bytes of remembered text.
    """

    def __init__(self, limit: int = 400_000) -> None:
        self._limit = limit
        self._size = 0
        self._seen: OrderedDict[bytes, tuple[int, Document]] = OrderedDict()
        self._lock = Lock()

    def read(self, text: str, rank: int) -> Document:
        """The document ``text`` that stands at ``rank``."""
        encoded = text.encode("utf-8", "surrogatepass")
        key = blake2b(b"%d:" % rank + encoded, digest_size=16).digest()
        with self._lock:
            if key in self._seen:
                self._seen.move_to_end(key)
                return self._seen[key][1]
        found = Document(rank, tuple(passages(text, rank)))
        with self._lock:
            if key not in self._seen:
                self._seen[key] = (len(encoded), found)
                self._size += len(encoded)
            while self._size > self._limit and len(self._seen) > 1:
                self._size -= self._seen.popitem(last=False)[1][0]
        return found


def passages(text: str, rank: int) -> Iterator[Passage]:
    """Cut ``text`` into passages; pieces without a word or digit are dropped."""
    for start, end in _cuts(text):
        piece = text[start:end]
        passage = Passage(rank, piece.strip(), normalise(piece))
        if passage.words:
            yield passage


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
