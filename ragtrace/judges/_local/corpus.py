"""The documents of one interaction together, indexed so that each claim is matched in little time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ragtrace.judges._local.passages import ROOT, Document, Passage

_LENGTH_PENALTY = 0.12
_GAP = 1000
"""Wider than any window, so that no window spans two documents."""


class Corpus:
    """What the claims and the question of one interaction are held against."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = tuple(documents)
        self.passages = [passage for document in documents for passage in document.passages]

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The distinct content tokens."""
        return frozenset().union(*(passage.vocabulary for passage in self.passages))

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word as it is written, in lower case."""
        return frozenset().union(*(passage.words for passage in self.passages))

    @cached_property
    def offsets(self) -> list[int]:
        """Where each passage begins when all content tokens are laid end to end, documents far apart."""
        found, place, rank = [], 0, None
        for passage in self.passages:
            place += _GAP * (rank is not None and passage.rank != rank)
            found.append(place)
            place, rank = place + len(passage.tokens), passage.rank
        return found

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Content tokens that are neighbours in a passage."""
        return frozenset(pair for passage in self.passages for pair in pairwise(passage.tokens))

    @cached_property
    def text(self) -> str:
        """The normal form of all passages."""
        return "\n".join(passage.normal for passage in self.passages)

    @cached_property
    def roots(self) -> frozenset[str]:
        """The first letters of every content token."""
        return frozenset(token[:ROOT] for token in self.vocabulary)

    def has_root(self, token: str) -> bool:
        """Whether a word of the documents begins like ``token``: cancel and cancellation."""
        return token[:ROOT] in self.roots


@dataclass(frozen=True)
class Evidence:
    """The passages that a claim is held against: best first, then the one that adds most, then the next best.

    ``coverage`` is the share of the claim's weight that the best passage holds.
    """

    passages: tuple[Passage, ...]
    coverage: float

    @property
    def best(self) -> Passage:
        """The passage that holds most of the claim."""
        return self.passages[0]

    @property
    def pair(self) -> tuple[Passage, ...]:
        """The best passage and the one that adds most to it."""
        return self.passages[:2]


def find_evidence(weights: Mapping[str, float], corpus: Corpus, limit: int = 5) -> Evidence | None:
    """The passages that hold most of a claim with these token ``weights``; ``None`` where none shares any."""
    held = _held(weights, corpus.passages)
    if not held:
        return None
    ranked = sorted(held, key=lambda index: (-_rank_value(held[index], corpus.passages[index]), index))
    best = corpus.passages[ranked[0]]
    missing = {token: weight for token, weight in weights.items() if token not in best.vocabulary}
    added = _held(missing, corpus.passages) if missing else {}
    adding = max(added, key=lambda i: (_rank_value(added[i], corpus.passages[i]), -i), default=ranked[0])
    chosen = dict.fromkeys((ranked[0], adding, *ranked[1:4]))
    return Evidence(
        tuple(corpus.passages[index] for index in chosen)[:limit], held[ranked[0]] / sum(weights.values())
    )


def _held(weights: Mapping[str, float], passages: Sequence[Passage]) -> dict[int, float]:
    """Index of a passage → the weight that it holds, where that is anything."""
    wanted = weights.keys()
    found: dict[int, float] = {}
    for index, passage in enumerate(passages):
        shared = wanted & passage.vocabulary
        if shared:
            found[index] = sum(map(weights.__getitem__, shared))
    return found


def _rank_value(held: float, passage: Passage) -> float:
    """What is held, less for long passages: they hold some of everything."""
    return held / (1.0 + _LENGTH_PENALTY * math.log1p(len(passage.tokens)))
