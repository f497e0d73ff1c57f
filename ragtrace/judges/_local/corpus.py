"""The documents of one interaction together, indexed so that each claim is matched in little time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from ragtrace.judges._local.passages import ROOT, Document, Passage


class Corpus:
    """What the claims and the question of one interaction are held against."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = tuple(document for document in documents if document.passages)
        self.passages = [passage for document in self.documents for passage in document.passages]
        counts = accumulate((len(document.passages) for document in self.documents), initial=0)
        self._numbered = tuple(zip(self.documents, counts, strict=False))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The distinct content tokens."""
        return _united([document.vocabulary for document in self.documents])

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word as it is written, in lower case."""
        return _united([document.words for document in self.documents])

    @cached_property
    def text(self) -> str:
        """The normal form of all passages."""
        return "\n".join(document.text for document in self.documents)

    @cached_property
    def lengths(self) -> list[float]:
        """For each passage what its worth is divided by."""
        return [length for document in self.documents for length in document.lengths]

    @cached_property
    def bag(self) -> Mapping[str, int]:
        """Content token → how often it occurs."""
        found: Counter[str] = Counter()
        for document in self.documents:
            counts = {token: len(places) for token, places in document.places.items()}
            found.update(counts)
        return found

    def has_root(self, token: str) -> bool:
        """Whether a word of the documents begins like ``token``: cancel and cancellation."""
        root = token[:ROOT]
        return any(root in document.roots for document in self.documents)

    def has_pair(self, pair: tuple[str, str]) -> bool:
        """Whether two content tokens are neighbours in a passage."""
        return any(pair in document.pairs for document in self.documents)

    def holders(self, token: str) -> Iterator[int]:
        """The indexes of the passages that hold a content token, in order."""
        for document, first in self._numbered:
            for number in document.holders(token):
                yield first + number

    def held(self, weights: Mapping[str, float]) -> dict[int, float]:
        """Index of a passage → what it holds of the ``weights`` of tokens, where that is anything."""
        found: dict[int, float] = {}
        for document, first in self._numbered:
            places, homes = document.places, document.homes
            for token, weight in weights.items():
                before = -1
                for place in places.get(token, ()):
                    number = homes[place]
                    if number != before:  # a passage that holds it twice holds it
                        found[first + number] = found.get(first + number, 0.0) + weight
                        before = number
        return found


def _united(sets: Sequence[frozenset[str]]) -> frozenset[str]:
    return sets[0] if len(sets) == 1 else frozenset().union(*sets)


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
    held, passages = corpus.held(weights), corpus.passages
    if not held:
        return None
    ranked = _ranked(held, corpus)
    best = ranked[0]
    known = passages[best].vocabulary
    missing = {token: weight for token, weight in weights.items() if token not in known}
    adding = next(iter(_ranked(corpus.held(missing), corpus)), best)
    chosen = dict.fromkeys((best, adding, *ranked[1:4]))
    return Evidence(tuple(passages[index] for index in chosen)[:limit], held[best] / sum(weights.values()))


def _ranked(held: Mapping[int, float], corpus: Corpus) -> list[int]:
    """The indexes of passages by what they hold, long ones discounted; of equals the earlier first."""
    lengths = corpus.lengths
    return [index for _, index in sorted([(-value / lengths[index], index) for index, value in held.items()])]
