"""The documents of one interaction together, indexed so that each claim is matched in little time."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ragtrace.judges._local.passages import Document, Passage, flat

GRAM = 5
ROOT = 6
_LENGTH_PENALTY = 0.12


class Corpus:
    """What the claims and the question of one interaction are held against."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = tuple(documents)
        self.passages = flat(documents)

    @cached_property
    def postings(self) -> Mapping[str, list[int]]:
        """Content token → indexes into ``passages``."""
        found: dict[str, list[int]] = defaultdict(list)
        for index, passage in enumerate(self.passages):
            for token in passage.vocabulary:
                found[token].append(index)
        return found

    @cached_property
    def places(self) -> Mapping[str, list[int]]:
        """Content token → its places in the documents' content tokens, laid end to end with gaps between."""
        found: dict[str, list[int]] = defaultdict(list)
        place = 0
        for document in self.documents:
            for token in document.tokens:
                found[token].append(place)
                place += 1
            place += _GAP
        return found

    @cached_property
    def grams(self) -> frozenset[str]:
        """All pieces of :data:`GRAM` characters of the documents' words, spaces between."""
        return frozenset(
            document.normal[i : i + GRAM]
            for document in self.documents
            for i in range(len(document.normal) - GRAM + 1)
        )

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Content tokens that are neighbours in a passage."""
        return frozenset(pair for passage in self.passages for pair in pairwise(passage.tokens))

    @cached_property
    def penalties(self) -> list[float]:
        """What a passage's length takes from its match."""
        return [1.0 + _LENGTH_PENALTY * math.log1p(len(passage.tokens)) for passage in self.passages]

    @cached_property
    def text(self) -> str:
        """The normal form of all passages."""
        return "\n".join(passage.normal for passage in self.passages)

    def has_root(self, token: str) -> bool:
        """Whether a word of the documents begins like ``token``: bag and baggage, back up and backup."""
        root = token[:ROOT]
        return any(
            other.startswith(token) or (len(other) >= ROOT and token.startswith(other)) or other[:ROOT] == root
            for other in self._by_initials.get(token[:3], ())
        )

    @cached_property
    def _by_initials(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for token in self.postings:
            found[token[:3]].append(token)
        return found

    @cached_property
    def raw_words(self) -> frozenset[str]:
        """Every word of the documents as it is written, in lower case."""
        return frozenset(word for passage in self.passages for word in passage.words)


_GAP = 1000
"""Wider than any window, so that no window spans two documents."""


@dataclass(frozen=True)
class Evidence:
    """The passages that a claim is held against: best first, then the one that adds most, then the next best."""

    passages: tuple[Passage, ...]
    coverage: float
    """Share of the claim's weight that the best passage holds."""

    @property
    def best(self) -> Passage:
        """The passage that holds most of the claim."""
        return self.passages[0]

    @property
    def pair(self) -> tuple[Passage, ...]:
        """The best passage and the one that adds most to it."""
        return self.passages[:2]


def find_evidence(weights: Mapping[str, float], corpus: Corpus, limit: int = 5) -> Evidence | None:
    """The passages that hold most of a claim with these token ``weights``; ``None`` where none shares a token."""
    held: Counter[int] = Counter()
    for token, weight in weights.items():
        for index in corpus.postings.get(token, ()):
            held[index] += weight  # type: ignore[assignment]
    if not held:
        return None
    penalties = corpus.penalties
    ranked = sorted(held, key=lambda index: (-held[index] / penalties[index], index))
    best = ranked[0]
    missing = {
        token: weight for token, weight in weights.items() if token not in corpus.passages[best].vocabulary
    }
    order = [best, *_adding_most(missing, corpus), *ranked[1:4]]
    chosen = tuple(corpus.passages[index] for index in dict.fromkeys(order))[:limit]
    return Evidence(chosen, held[best] / sum(weights.values()))


def _adding_most(missing: Mapping[str, float], corpus: Corpus) -> Iterable[int]:
    added: dict[int, float] = defaultdict(float)
    for token, weight in missing.items():
        for index in corpus.postings.get(token, ()):
            added[index] += weight
    if added:
        yield max(added, key=lambda index: (added[index] / corpus.penalties[index], -index))
