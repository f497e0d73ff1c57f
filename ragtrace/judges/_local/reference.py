"""With a reference: what of it the documents hold, what of it the answer says, what the answer adds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ragtrace.judges._local.case import Case
from ragtrace.judges._local.claims import ClaimText, read_claim
from ragtrace.judges._local.corpus import Corpus
from ragtrace.judges._local.likeness import is_taken_from, likeness, numbers_differ
from ragtrace.judges._local.passages import Reader
from ragtrace.judges._local.support import CONTRADICTED_AT_MOST, judge_claim
from ragtrace.judges.base import JudgeReply, ReferenceClaim
from ragtrace.model import Support, Unit
from ragtrace.text.segment import units as cut

_BRIEF = 8
"""A reference of one statement with no more content tokens is a bare answer: what an answer says beyond it is
elaboration, which such a reference can neither hold nor refute."""
_SAYS = 0.5
_TAKEN = 0.8
"""How likely a brief answer is right that consists of words of a longer reference, in its order: six of seven
are in the sets that the likeness is fitted on."""


def judge_reference(case: Case, units: Sequence[Unit]) -> JudgeReply:
    """The reference's part of a reply; empty without one. Of several references the likest counts."""
    given = (case.interaction.reference, *case.interaction.other_references)
    references = [text for text in given if text]
    if not references:
        return JudgeReply()
    sides = [_Comparison(case, text, units) for text in references]
    likest = max(sides, key=lambda side: side.similarity)
    return JudgeReply(
        reference_claims=likest.reference_claims(),
        unsupported_answer_claims=likest.unsupported(),
        reference_relevance=case.relevance(likest.text),
        reference_similarity=round(likest.similarity, 4),
    )


class _Comparison:
    """The answer held against one reference."""

    def __init__(self, case: Case, text: str, units: Sequence[Unit]) -> None:
        self.text = text
        self._case = case
        self._question = read_claim(case.question or "")
        self._answer = read_claim(case.interaction.answer or "")
        self._said = [read_claim(unit.text) for unit in units if unit.check_worthy]
        self._wanted = [read_claim(unit.text) for unit in cut(text)] or [read_claim(text)]

    @cached_property
    def similarity(self) -> float:
        """The probability that the answer, as a whole, says what the reference says."""
        return self._says(self._answer, read_claim(self.text))

    def reference_claims(self) -> tuple[ReferenceClaim, ...]:
        """Every claim of the reference: is it in the documents, is it in the answer?"""
        return tuple(self._reference_claim(claim) for claim in self._wanted)

    def _reference_claim(self, claim: ClaimText) -> ReferenceClaim:
        found = self._case.verdict(claim, self._case.corpus)
        attributed = found.support is Support.SUPPORTED
        return ReferenceClaim(
            claim.text,
            attributed if self._case.interaction.documents is not None else None,
            found.documents if attributed else (),
            self._in_answer(claim),
        )

    def _in_answer(self, claim: ClaimText) -> bool:
        return any(self._says(said, claim) >= _SAYS for said in (self._answer, *self._said))

    def unsupported(self) -> tuple[str, ...]:
        """The claims of the answer that the reference does not hold."""
        if self._is_brief and self._in_answer(self._wanted[0]):
            return ()
        return tuple(said.text for said in self._said if not self._held(said))

    @property
    def _is_brief(self) -> bool:
        return len(self._wanted) == 1 and len(self._wanted[0].tokens) <= _BRIEF

    def _held(self, said: ClaimText) -> bool:
        if judge_claim(said, self._reference).support is Support.SUPPORTED:
            return True
        return any(self._says(said, wanted) >= _SAYS for wanted in self._wanted)

    @cached_property
    def _reference(self) -> Corpus:
        return Corpus((Reader(0).read(self.text, 1),))

    def _says(self, said: ClaimText, wanted: ClaimText) -> float:
        probability = likeness(said, wanted, self._question)
        if is_taken_from(said, wanted, self._question):
            return max(probability, _TAKEN)
        brief = len(wanted.tokens) <= _BRIEF
        if numbers_differ(said, wanted, measured=not brief):
            return min(probability, CONTRADICTED_AT_MOST)
        if brief:
            return probability
        found = judge_claim(wanted, Corpus((Reader(0).read(said.text, 1),)))
        if found.support is Support.CONTRADICTED:
            return min(probability, CONTRADICTED_AT_MOST)
        return probability
