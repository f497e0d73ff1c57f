"""One interaction, read once: its claims, the relevance of its documents, the needs of its question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ragtrace.judges._local.claims import ClaimText, read_claim
from ragtrace.judges._local.corpus import Corpus
from ragtrace.judges._local.estimate import constants, logistic
from ragtrace.judges._local.explain import together
from ragtrace.judges._local.fit import Answer, Fit, answer_fit, read_answer
from ragtrace.judges._local.passages import Document
from ragtrace.judges._local.polarity import judge_polarity, says_yes
from ragtrace.judges._local.questions import NeedText, read_question, split_needs
from ragtrace.judges._local.relevance import coverage, gives_kind, known_tokens, relevance_features
from ragtrace.judges._local.restrictions import is_restriction
from ragtrace.judges._local.support import judge_claim, verdict
from ragtrace.model import Claim, Interaction, JudgedClaim, Language, Need, Support, Unit, Verdict
from ragtrace.text.checkworthy import is_yes_or_no
from ragtrace.text.tokens import normalise

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
_TAKEN_FROM = 0.6
"""How relevant a document is held to be, and how fitting an answer, that can be told by the claims alone."""
_SAID_YES_OR_NO = 0.9
"""A bare yes or no fits a question that asks for one."""


class Case:
    """An interaction with its documents. ``units`` are the units of the answer, ``()`` where nobody asks
    for them."""

    def __init__(
        self,
        interaction: Interaction,
        documents: Sequence[Document],
        units: Sequence[Unit],
        language: Language,
    ) -> None:
        self.interaction, self.language = interaction, language
        self.corpus = Corpus(documents)
        self.single = {document.rank: Corpus((document,)) for document in documents}
        self.question = interaction.rewritten_question or interaction.question
        self._units = units

    # --- claims

    @cached_property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """Every claim of the answer with its verdicts."""
        return tuple(self._claim(unit) for unit in self._units if unit.check_worthy)

    def _claim(self, unit: Unit) -> JudgedClaim:
        read = read_claim(unit.text)
        pairs: Mapping[int, Verdict | None] = {
            rank: self.verdict(read, self.single[rank]) for rank in unit.cites if rank in self.single
        }
        claim = Claim(unit.text, unit.index, unit.start, unit.end, unit.cites)
        return JudgedClaim(claim, self._named(read, self.verdict(read, self.corpus), pairs), pairs)

    def verdict(self, claim: ClaimText, corpus: Corpus) -> Verdict:
        """What the documents of ``corpus`` say of ``claim``; a bare yes or no takes its content from the
        question."""
        if self._yes_or_no is not None and is_yes_or_no(claim.text):
            found = judge_polarity(says_yes(claim.text), self._yes_or_no, corpus)
            return verdict(self._yes_or_no_claim, found, self.language)
        return verdict(claim, judge_claim(claim, corpus), self.language)

    @cached_property
    def _yes_or_no(self) -> NeedText | None:
        return next((need for need in self.needs_asked if need.kind == "yes_no"), None)

    @cached_property
    def _yes_or_no_claim(self) -> ClaimText:
        return read_claim(self._yes_or_no.text if self._yes_or_no else "")

    def _named(self, claim: ClaimText, whole: Verdict, pairs: Mapping[int, Verdict | None]) -> Verdict:
        """``whole`` with the documents that support ``claim`` each alone, where there are any: a claim must
        not be told to rest on other documents than its citations are told."""
        ranks = dict.fromkeys((*whole.documents, *pairs))
        if whole.support is not Support.SUPPORTED or len(ranks) < 2:
            return whole
        each = {rank: pairs.get(rank) or self.verdict(claim, self.single[rank]) for rank in ranks}
        alone = [rank for rank, one in each.items() if one.support is Support.SUPPORTED]
        if not alone:
            return replace(whole, explanation=together(whole.documents, self.language))
        if whole.documents[0] in alone:
            return replace(whole, documents=tuple(alone))
        first = each[alone[0]]
        return replace(whole, documents=tuple(alone), quote=first.quote, explanation=first.explanation)

    @cached_property
    def _echoed(self) -> frozenset[int]:
        """Ranks of the documents that the answer is taken from, or contradicts."""
        return frozenset(found.documents[0] for found in self._decided if found.documents)

    @cached_property
    def _decided(self) -> tuple[Verdict, ...]:
        """The verdicts on claims that the documents support or contradict."""
        found = (claim.verdict for claim in self.claims)
        return tuple(v for v in found if v is not None and v.support is not Support.NOT_FOUND)

    # --- relevance

    @cached_property
    def needs_asked(self) -> tuple[NeedText, ...]:
        """The needs of the question; empty without one."""
        return split_needs(self.question) if self.question else ()

    @cached_property
    def _by_need(self) -> tuple[Mapping[int, float], ...]:
        return tuple(self._relevance_to(need) for need in self.needs_asked)

    def relevance(self, reference: str | None = None) -> dict[int, float | None]:
        """Rank → probability that the document helps with the question (and holds ``reference``, where
        given)."""
        if not self.question:
            return {}
        by_need = self._by_need
        if reference:
            by_need = (*by_need, self._relevance_to(read_question(reference)))
        found: dict[int, float | None] = {d.rank: None for d in self.interaction.documents or ()}
        found.update({rank: round(max(one[rank] for one in by_need), 4) for rank in self.single})
        return found

    def _relevance_to(self, need: NeedText) -> dict[int, float]:
        estimate = constants().relevance[need.language]
        known = {rank: known_tokens(need, corpus) for rank, corpus in self.single.items()}
        raw = {
            rank: estimate.probability(relevance_features(need, corpus, known[rank]))
            for rank, corpus in self.single.items()
        }
        found = _eclipsed(need, self._echo(raw), known)
        asked = any(need is one for one in self.needs_asked)
        low = any(found.get(rank, 1.0) < _TAKEN_FROM for rank in self._echoed)
        if not (asked and low) or not (self._is_in_other_words(need) or self._is_settled(need)):
            return found
        return {rank: max(p, _TAKEN_FROM) if rank in self._echoed else p for rank, p in found.items()}

    def _echo(self, raw: Mapping[int, float]) -> dict[int, float]:
        best = max(raw.values(), default=0.0)
        return {
            rank: _shifted(p, _ECHO) if rank in self._echoed and p >= max(_ECHO_FROM, best - _TIE) else p
            for rank, p in raw.items()
        }

    # --- needs and fit

    def needs(self) -> tuple[Need, ...]:
        """Every need of the question: do the documents cover it, does the answer meet it?"""
        return tuple(
            Need(need.text, self._covered(need, found), self._answered(need))
            for need, found in zip(self.needs_asked, self._by_need, strict=True)
        )

    def _covered(self, need: NeedText, found: Mapping[int, float]) -> bool | None:
        if self.interaction.documents is None:
            return None
        threshold = constants().thresholds["covered"]
        covered = any(p >= threshold and self._gives(need, rank) for rank, p in found.items())
        return covered or self._is_in_other_words(need) or self._is_settled(need)

    def _is_settled(self, need: NeedText) -> bool:
        """Whether claims that the documents support meet ``need``: then the documents spoke of it."""
        if all(found.support is not Support.SUPPORTED for found in self._decided):
            return False
        special = not need.own or not need.own.isdisjoint(known_tokens(need, self._supported_part.corpus))
        fit = answer_fit(need, self._supported_part, self.corpus)
        return special and fit.probability >= constants().thresholds["answered"]

    @cached_property
    def _supported_part(self) -> Answer:
        """The claims that the documents support, as if they were the answer."""
        supported = (
            c.claim.text for c in self.claims if c.verdict and c.verdict.support is Support.SUPPORTED
        )
        return read_answer("\n".join(supported))

    def _is_in_other_words(self, need: NeedText) -> bool:
        """Whether the only question shares nothing with any document although the answer is taken from them.

        Such an answer gets the benefit of the doubt: wording cannot tell whether it fits, and a model that
        found its answer in the documents had them to find it in.
        """
        if len(self.needs_asked) > 1 or not self.claims or not all(map(_is_taken, self.claims)):
            return False
        if any(coverage(need, known_tokens(need, corpus)) >= _STRANGE for corpus in self.single.values()):
            return False
        return self._fit_of(need).kind is not False

    def _gives(self, need: NeedText, rank: int) -> bool:
        """Whether the document at ``rank`` has the wanted kind of answer, and what is special to the need."""
        corpus = self.single[rank]
        special = not need.own or not need.own.isdisjoint(known_tokens(need, corpus))
        return special and gives_kind(need.kind, (corpus.text,)) is not False

    def _answered(self, need: NeedText) -> bool | None:
        if not self.interaction.answer:
            return None
        return self._fit(need) >= constants().thresholds["answered"]

    def _fit(self, need: NeedText) -> float:
        """The probability that the answer meets ``need``."""
        if need is self._yes_or_no and any(is_yes_or_no(claim.claim.text) for claim in self.claims):
            return _SAID_YES_OR_NO
        if self._is_in_other_words(need):
            return max(_TAKEN_FROM, self._fit_of(need).probability)
        return self._fit_of(need).probability

    def _fit_of(self, need: NeedText) -> Fit:
        return self._fits[need.text]

    @cached_property
    def _fits(self) -> Mapping[str, Fit]:
        corpus = self.corpus if self.interaction.documents else None
        return {need.text: answer_fit(need, self._answer, corpus) for need in self.needs_asked}

    @cached_property
    def _answer(self) -> Answer:
        return read_answer(self.interaction.answer or "")

    def answer_fit(self) -> float | None:
        """The probability that the answer addresses the question, the mean over its needs."""
        if not self.needs_asked or not self.interaction.answer:
            return None
        return round(math.fsum(self._fit(need) for need in self.needs_asked) / len(self.needs_asked), 4)


def _is_taken(judged: JudgedClaim) -> bool:
    """Whether a claim is taken from a document, or restricts what the document restricts otherwise: another
    contradicted number may stand for something else."""
    support = judged.verdict.support if judged.verdict else Support.NOT_FOUND
    restricts = is_restriction(normalise(judged.claim.text))
    return support is Support.SUPPORTED or (support is Support.CONTRADICTED and restricts)


def _eclipsed(
    need: NeedText, found: dict[int, float], known: Mapping[int, Mapping[str, float]]
) -> dict[int, float]:
    """``found`` with less for documents that another outdoes in all that they hold of the need."""
    if len(found) < 2:
        return found
    shares = {rank: coverage(need, held) for rank, held in known.items()}
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
