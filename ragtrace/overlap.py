"""How much two texts share, by plain counts over words and Chinese characters: nothing is fitted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from ragtrace.text.tokens import content, normalise, words

Weights = Callable[[str], float]
"""Word → how much it counts."""


def content_of(text: str) -> list[str]:
    """The content words of ``text``, as stems."""
    return content(words(normalise(text)))


def document_weights(documents: Sequence[str]) -> Weights:
    """log((1 + documents) / (1 + documents with the word)) + 1: what is rare counts more."""
    holding = Counter(token for text in documents for token in set(content_of(text)))
    return lambda token: math.log((1 + len(documents)) / (1 + holding[token])) + 1.0


def token_f1(answer: Sequence[str], reference: Sequence[str]) -> float:
    """F1 of two bags of words (Rajpurkar et al. 2016)."""
    shared = sum((Counter(answer) & Counter(reference)).values())
    return 2 * shared / (len(answer) + len(reference)) if shared else 0.0


def recall(wanted: Sequence[str], said: Sequence[str]) -> float:
    """The share of the distinct words ``wanted`` that were ``said``."""
    return len(set(wanted) & set(said)) / len(set(wanted)) if wanted else 0.0


def cosine(one: Sequence[str], other: Sequence[str], weigh: Weights) -> float:
    """The cosine of two bags of weighted words; 0 where one is empty."""
    a, b = ({token: n * weigh(token) for token, n in Counter(side).items()} for side in (one, other))
    product = math.fsum(value * b[token] for token, value in a.items() if token in b)
    norms = math.sqrt(math.fsum(v * v for v in a.values()) * math.fsum(v * v for v in b.values()))
    return product / norms if norms else 0.0


def longest_shared(one: Sequence[str], other: Sequence[str], weigh: Weights) -> float:
    """The weight of the heaviest common subsequence: what ``other`` holds of ``one`` in its order."""
    row = [0.0] * (len(other) + 1)
    for token in one:
        weight, before = weigh(token), 0.0
        for place, found in enumerate(other, start=1):
            reached = before + weight if token == found else max(row[place], row[place - 1])
            before, row[place] = row[place], reached
    return row[-1]
