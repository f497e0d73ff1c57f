"""The documents of one interaction together, indexed so that each claim is matched in little time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice

from ragtrace.judges._local.passages import ROOT, Document, Passage

_BUDGET = 100_000
"""Claims times passages from which on each claim is held against candidates only."""
_FEWEST = 64


def places_a_claim(claims: int, passages: int) -> int | None:
    """How many places of its tokens each of ``claims`` may be looked up at in ``passages``; ``None`` = all.

    Without a bound an answer as long as its document costs the square of its length.
    """
    return max(_FEWEST, _BUDGET // claims) if claims * passages > _BUDGET else None


class Corpus:
    """What the claims and the question of one interaction are held against.

    ``limit`` bounds the places that are looked up for a claim: those of its rarest tokens come first, and
    passages that share only more common ones with it are passed over. ``None`` = no bound.
    """

    def __init__(self, documents: Sequence[Document], limit: int | None = None) -> None:
        self.limit = limit
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
            before = -1
            for place in document.places.get(token, ()):
                number = document.homes[place]
                if number != before:
                    yield first + number
                    before = number

    def occurrences(self, token: str) -> int:
        """At how many places a content token stands."""
        return sum([len(document.places.get(token, ())) for document in self.documents])

    def looked_up(self, tokens: Iterable[str]) -> dict[str, int]:
        """Which of ``tokens`` are looked up, and at how many places each: the rarest ones as far as the limit
        goes, the rarest in any case."""
        occurring = sorted([(count, token) for token in tokens if (count := self.occurrences(token))])
        found: dict[str, int] = {}
        left = self.limit if self.limit is not None else sum([count for count, _ in occurring])
        for count, token in occurring:
            if found and count > left:
                break
            found[token] = min(count, left)
            left -= found[token]
        return found

    def kept(self, tokens: Iterable[str]) -> tuple[int, int]:
        """At how many places a claim with these ``tokens`` was looked up, and at how many they stand."""
        tokens = list(tokens)
        return sum(self.looked_up(tokens).values()), sum(map(self.occurrences, tokens))

    def held(self, weights: Mapping[str, float]) -> dict[int, float]:
        """Index of a passage → what it holds of the ``weights`` of tokens, where that is anything."""
        return self._held_by_all(weights) if self.limit is None else self._held_by_candidates(weights)

    def _held_by_candidates(self, weights: Mapping[str, float]) -> dict[int, float]:
        looked_up = self.looked_up(weights)
        candidates = dict.fromkeys(
            index for token, count in looked_up.items() for index in islice(self.holders(token), count)
        )
        return {
            index: sum([weight for token, weight in weights.items() if token in vocabulary])
            for index in candidates
            if (vocabulary := self.passages[index].vocabulary)
        }

    def _held_by_all(self, weights: Mapping[str, float]) -> dict[int, float]:
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
