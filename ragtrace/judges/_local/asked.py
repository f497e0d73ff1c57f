"""One need of the question, held against the documents of the interaction."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from ragtrace.judges._local.corpus import Corpus
from ragtrace.judges._local.estimate import constants, logistic
from ragtrace.judges._local.fit import Answer, Fit, answer_fit, nearest
from ragtrace.judges._local.passages import clauses
from ragtrace.judges._local.questions import NeedText
from ragtrace.judges._local.relevance import coverage, gives_kind, known_tokens, relevance_features
from ragtrace.text.tokens import content, words

_ECHO = 2.0
"""What it adds to a document's log odds of relevance that the answer is taken from it, or contradicts it,
and no other document is nearer to the question: two weak signs that agree."""
_ECHO_FROM = 0.12
_ECLIPSE = 1.5
"""What it takes from a document's log odds that another holds all that it holds of the question, and far
more."""
_ECLIPSED_BELOW = 0.6
_TIE = 0.05
_STRANGE = 0.2
"""A document that holds less of the question shares nothing with it but by chance."""


class Asked:
    """A need with what the documents hold of it, each thing measured once however often it is asked for.

    ``single`` maps the rank of a document to it alone, ``corpus`` are all of them.
    """

    def __init__(self, need: NeedText, single: Mapping[int, Corpus], corpus: Corpus) -> None:
        self.need, self._single, self._corpus = need, single, corpus

    @cached_property
    def known(self) -> Mapping[int, Mapping[str, float]]:
        """Rank → which tokens of the need the document holds, as :func:`known_tokens` gives them."""
        return {rank: known_tokens(self.need, corpus) for rank, corpus in self._single.items()}

    @cached_property
    def _shares(self) -> Mapping[int, float]:
        """Rank → the share of the need that the document holds."""
        return {rank: coverage(self.need, known) for rank, known in self.known.items()}

    @cached_property
    def _nearest(self) -> Sequence[int]:
        return nearest(self.need, self._corpus)

    @property
    def is_strange(self) -> bool:
        """Whether no document shares anything with the need but by chance."""
        return all(share < _STRANGE for share in self._shares.values())

    def gives(self, rank: int) -> bool:
        """Whether the document at ``rank`` has the wanted kind of answer, and what is special to the need."""
        special = self._is_special(self.known[rank])
        return special and gives_kind(self.need.kind, (self._single[rank].text,)) is not False

    def fit(self, answer: Answer) -> Fit:
        """How ``answer``, which was given with documents, stands to the need."""
        return answer_fit(self.need, answer, (self._corpus, self._nearest))

    def is_met_by(self, answer: Answer) -> bool:
        """Whether ``answer`` meets the need, and what is special to it."""
        special = self._is_special(known_tokens(self.need, answer.corpus))
        return special and self.fit(answer).probability >= constants().thresholds["answered"]

    def is_touched_by(self, answer: Answer) -> bool:
        """Whether ``answer`` says anything of what is special to the need: a word of it, or what a clause of
        the documents says that holds one."""
        if self._is_special(known_tokens(self.need, answer.corpus)):
            return True
        asked = frozenset(self.need.tokens)
        for index in self._nearest:
            for clause in clauses(self._corpus.passages[index].normal):
                said = frozenset(content(words(clause)))
                if not self.need.own.isdisjoint(said) and not answer.vocabulary.isdisjoint(said - asked):
                    return True
        return False

    def _is_special(self, known: Mapping[str, float]) -> bool:
        return not self.need.own or not self.need.own.isdisjoint(known)

    def relevance(self, echoed: Collection[int]) -> dict[int, float]:
        """Rank → probability that the document helps with the need; ``echoed`` are those that the answer is
        taken from, or contradicts."""
        estimate = constants().relevance[self.need.language]
        raw = {
            rank: estimate.probability(relevance_features(self.need, corpus, self.known[rank]))
            for rank, corpus in self._single.items()
        }
        best = max(raw.values(), default=0.0)
        heard = {
            rank: _shifted(p, _ECHO) if rank in echoed and p >= max(_ECHO_FROM, best - _TIE) else p
            for rank, p in raw.items()
        }
        return self._eclipsed(heard)

    def _eclipsed(self, found: dict[int, float]) -> dict[int, float]:
        """``found`` with less for documents that another outdoes in all that they hold of the need."""
        if len(found) < 2:
            return found
        shares, known = self._shares, self.known
        best = max(shares, key=lambda rank: (shares[rank], -rank))
        return {
            rank: _shifted(p, -_ECLIPSE)
            if shares[rank] <= _ECLIPSED_BELOW * shares[best] and known[rank].keys() <= known[best].keys()
            else p
            for rank, p in found.items()
        }


def _shifted(p: float, by: float) -> float:
    """``p`` with ``by`` added to its log odds."""
    p = min(max(p, 1e-6), 1 - 1e-6)
    return logistic(math.log(p / (1 - p)) + by)
