"""How much of a claim's wording a text holds: longest common subsequence, windows, pieces of words."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from ragtrace.judges._local.corpus import Corpus
from ragtrace.judges._local.passages import Document


def common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence of two token sequences.

    Bit-parallel (Hyyrö 2004): one addition of long integers for each token of ``other``.
    """
    masks: dict[str, int] = defaultdict(int)
    for place, token in enumerate(one):
        masks[token] |= 1 << place
    full = (1 << len(one)) - 1
    row = full
    for mask in [masks[token] for token in other if token in masks]:
        matched = row & mask
        row = (row + matched) | (row - matched)
    return len(one) - (row & full).bit_count()


def best_window(weights: Mapping[str, float], length: int, corpus: Corpus) -> float:
    """The largest share of a claim's weight inside any window of ``length`` content tokens of a document."""
    total = sum(weights.values())
    best = 0.0
    left = None if corpus.limit is None else corpus.looked_up(weights)
    for document in corpus.documents:
        if best < total:
            best = max(best, _best_window_of(weights, length, document, best, left))
    return best / total


def _best_window_of(
    weights: Mapping[str, float], length: int, document: Document, enough: float, left: dict[str, int] | None
) -> float:
    """The largest weight inside a window of one document; 0 where it cannot be more than ``enough``.

    ``left`` says of which tokens places may still be looked up, and how many; those that are lower it.
    """
    places = document.places
    if sum([weight for token, weight in weights.items() if token in places]) <= enough:
        return 0.0
    if left is None:
        hits = sorted([(place, token) for token in weights for place in places.get(token, ())])
    else:
        hits = _hits_about(weights, length, document, left)
    best = current = 0.0
    inside = dict.fromkeys(weights, 0)
    first = 0
    for place, token in hits:
        if not inside[token]:
            current += weights[token]
        inside[token] += 1
        while place - hits[first][0] >= length:
            gone = hits[first][1]
            inside[gone] -= 1
            if not inside[gone]:
                current -= weights[gone]
            first += 1
        best = max(best, current)
    return best


def _hits_about(
    weights: Mapping[str, float], length: int, document: Document, left: dict[str, int]
) -> list[tuple[int, str]]:
    """Where the tokens of ``left`` stand, and where the others do less than ``length`` away from them."""
    near: set[int] = set()
    for token, most in left.items():
        found = document.places.get(token, ())[:most]
        left[token] = most - len(found)
        for place in found:
            near.update(range(max(0, place - length + 1), min(place + length, len(document.tokens))))
    tokens = document.tokens
    return [(place, tokens[place]) for place in sorted(near) if tokens[place] in weights]


def cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Cosine of two bags of tokens."""
    dot = sum(weight * other.get(token, 0.0) for token, weight in one.items())
    norms = math.sqrt(sum(w * w for w in one.values()) * sum(w * w for w in other.values()))
    return dot / norms if norms else 0.0


def longest_missing_run(tokens: Sequence[str], known: frozenset[str]) -> int:
    """The longest run of ``tokens`` none of which is ``known``."""
    longest = run = 0
    for token in tokens:
        run = 0 if token in known else run + 1
        longest = max(longest, run)
    return longest
