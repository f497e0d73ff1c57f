"""Which passages bear on which sentences: shared rare words. Used only where not all text fits."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragtrace.judges._chat.entries import Shown
from ragtrace.judges._chat.tokens import estimate_tokens
from ragtrace.text.sentences import sentences
from ragtrace.text.tokens import content, normalise, words

PASSAGE_TOKENS = 120


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of whole sentences of a document (rank), number ``order`` in it, about ``size`` tokens."""

    rank: int
    order: int
    text: str
    terms: frozenset[str]
    size: int


def terms(text: str) -> frozenset[str]:
    """What two texts are compared by: stems and numbers; of Chinese, pairs of neighbouring characters."""
    found = content(words(normalise(text)))
    single = {token for token in found if token.isascii()}
    pairs = {a + b for a, b in pairwise(found) if not (a.isascii() or b.isascii())}
    return frozenset(single | pairs)


def passages(document: Shown, chars_per_token: float) -> list[Passage]:
    """``document`` cut into passages of about ``PASSAGE_TOKENS``; a longer sentence is cut by length."""
    made: list[Passage] = []
    run: list[str] = []
    size = 0
    for piece in _pieces(document.text, chars_per_token):
        tokens = estimate_tokens(piece, chars_per_token)
        if run and size + tokens > PASSAGE_TOKENS:
            made.append(_passage(document.rank, len(made), run, chars_per_token))
            run, size = [], 0
        run.append(piece)
        size += tokens
    if run:
        made.append(_passage(document.rank, len(made), run, chars_per_token))
    return made


class Relatedness:
    """Finds passages that bear on a text: summed inverse document frequencies of shared terms."""

    def __init__(self, all_passages: Sequence[Passage]) -> None:
        self._passages = all_passages
        self._holders: dict[str, list[int]] = {}
        self._of_rank: dict[int, list[int]] = {}
        self._scores: dict[frozenset[str], dict[int, float]] = {}
        for index, passage in enumerate(all_passages):
            self._of_rank.setdefault(passage.rank, []).append(index)
            for term in passage.terms:
                self._holders.setdefault(term, []).append(index)

    def best(self, wanted: frozenset[str], limit: int, rank: int | None = None) -> list[Passage]:
        """At most ``limit`` passages (of the document ``rank``) that share most with ``wanted``, best first.

        Ties go to the earlier passage; where fewer share anything, the first of the rest fill up.
        """
        scores = self._scores_for(wanted)
        allowed = range(len(self._passages)) if rank is None else self._of_rank.get(rank, ())
        order = heapq.nsmallest(limit, allowed, key=lambda index: (-scores.get(index, 0.0), index))
        return [self._passages[index] for index in order]

    def _scores_for(self, wanted: frozenset[str]) -> dict[int, float]:
        if wanted not in self._scores:
            scores: dict[int, float] = {}
            total = len(self._passages) + 1
            for term in wanted:
                holders = self._holders.get(term, ())
                for index in holders:
                    scores[index] = scores.get(index, 0.0) + math.log(total / len(holders))
            self._scores[wanted] = scores
        return self._scores[wanted]


def _passage(rank: int, order: int, run: list[str], chars_per_token: float) -> Passage:
    text = " ".join(run)
    return Passage(rank, order, text, terms(text), estimate_tokens(text, chars_per_token) + 1)


def _pieces(text: str, chars_per_token: float) -> Iterable[str]:
    for start, end in sentences(text):
        piece = text[start:end]
        tokens = estimate_tokens(piece, chars_per_token)
        step = len(piece) if tokens <= PASSAGE_TOKENS else max(1, len(piece) * PASSAGE_TOKENS // tokens)
        yield from (piece[at : at + step] for at in range(0, len(piece), step))
