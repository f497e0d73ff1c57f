"""One interaction, read once: its claims, the relevance of its documents, the needs of its question."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ragtrace.judges._local.asked import Asked
from ragtrace.judges._local.claims import ClaimText, read_claim
from ragtrace.judges._local.corpus import Corpus, places_a_claim
from ragtrace.judges._local.estimate import constants
from ragtrace.judges._local.explain import together
from ragtrace.judges._local.fit import Answer, Fit, answer_fit, read_answer
from ragtrace.judges._local.passages import Document
from ragtrace.judges._local.polarity import judge_polarity, says_yes
from ragtrace.judges._local.questions import NeedText, read_question, split_needs
from ragtrace.judges._local.restrictions import is_restriction
from ragtrace.judges._local.subjects import Name, names_in, plans_in, without_rivals
from ragtrace.judges._local.support import judge_claim, verdict
from ragtrace.model import Claim, Interaction, JudgedClaim, Language, Need, Support, Unit, Verdict
from ragtrace.text.checkworthy import is_yes_or_no
from ragtrace.text.language import detect_language
from ragtrace.text.tokens import normalise

_TAKEN_FROM = 0.6
"""How relevant a document is held to be, and how fitting an answer, that can be told by the claims alone."""
_SAID_YES_OR_NO = 0.9
"""A bare yes or no fits a question that asks for one."""

_UNTOUCHED = 0.2
"""How fitting an answer may be held that says nothing of what is special to a need."""
_STOPS = re.compile(r"[.!?。！？;；,，\n]")
_OPENING = re.compile(
    r"\W*(?:(?:yes|yeah|no|nope|是的|不是的?|不|对|否)[,，]\s*(?=\w)"
    r"|(?:i'm|i am) not (?:\w+ )?(?:sure|certain),? but |i (?:think|believe|guess) (?:that )?"
    r"|(?:我)?不(?:太|是很)?确定[,，]但是?|我(?:想|认为|觉得)[,，]?)",
    re.IGNORECASE,
)
"""What stands before a statement and states nothing: a yes or no before the explanation, a hedge."""


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
        self._worthy = tuple(unit for unit in units if unit.check_worthy)
        limit = places_a_claim(len(self._worthy), sum(len(document.passages) for document in documents))
        self.corpus = Corpus(documents, limit)
        self.single = {document.rank: Corpus((document,), limit) for document in documents}
        self.question = interaction.rewritten_question or interaction.question
        self._judged: list[JudgedClaim] = []
        self._narrowed: dict[tuple[frozenset[Name], tuple[Document, ...]], Corpus] = {}

    # --- claims

    @cached_property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """Every claim of the answer with its verdicts."""
        return tuple(self.judging())

    def judging(self) -> Iterator[JudgedClaim]:
        """Judge claim by claim, for a caller who has other things to do between two of them; what was judged
        is not judged again."""
        for number, unit in enumerate(self._worthy):
            if number == len(self._judged):
                self._judged.append(self._claim(unit))
            yield self._judged[number]

    @cached_property
    def kept_ratio(self) -> float:
        """The share that was looked up of the places where words of the claims stand in the documents."""
        if self.corpus.limit is None:
            return 1.0
        kept = [self.corpus.kept(frozenset(read_claim(unit.text).tokens)) for unit in self._worthy]
        places = sum(all_places for _, all_places in kept)
        return sum(looked_up for looked_up, _ in kept) / places if places else 1.0

    def _claim(self, unit: Unit) -> JudgedClaim:
        opening = None if is_yes_or_no(unit.text) else _OPENING.match(unit.text)
        read = read_claim(unit.text[opening.end() :] if opening else unit.text)
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
        return verdict(claim, judge_claim(claim, self._on_the_same(claim, corpus)), self.language)

    def _on_the_same(self, claim: ClaimText, corpus: Corpus) -> Corpus:
        """``corpus`` without what is said of rivals of the product that ``claim``, or else the question,
        names."""
        about = names_in(claim.text, self._plans) or self._asked_about
        if not about:
            return corpus
        key = about, corpus.documents
        if key not in self._narrowed:
            self._narrowed[key] = without_rivals(corpus, about, self._plans)
        return self._narrowed[key]

    @cached_property
    def _plans(self) -> frozenset[str]:
        return plans_in(self.corpus)

    @cached_property
    def _asked_about(self) -> frozenset[Name]:
        """What the question names, where the answer names nothing of its kind."""
        answered = names_in(self.interaction.answer or "", self._plans)
        return frozenset() if answered else names_in(self.question or "", self._plans)

    @cached_property
    def _yes_or_no(self) -> NeedText | None:
        return next((asked.need for asked in self.needs_asked if asked.need.kind == "yes_no"), None)

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

    # --- what is in another language than the documents

    @cached_property
    def is_question_foreign(self) -> bool:
        """Whether the question shares no word with the documents because they are in another language, and no
        claim tells which of them was of use."""
        if not self.question or not self.needs_asked or self._decided:
            return False
        return all(asked.is_strange for asked in self.needs_asked) and self._is_foreign(self.question)

    @cached_property
    def are_claims_foreign(self) -> bool:
        """Whether nothing can be said of any claim because the documents are in another language."""
        if not self.claims or self._decided:
            return False
        return all(self._is_foreign(judged.claim.text) for judged in self.claims)

    def _is_foreign(self, text: str) -> bool:
        """Whether ``text`` is Chinese and no document is, or the other way round."""
        if not self.single or not any(map(str.isalpha, text)):
            return False
        return (detect_language(text) == "zh") not in self._are_documents_chinese

    @cached_property
    def _are_documents_chinese(self) -> frozenset[bool]:
        """Which of both there is among the documents."""
        return frozenset(map(_is_chinese, self.corpus.documents))

    # --- relevance

    @cached_property
    def needs_asked(self) -> tuple[Asked, ...]:
        """The needs of the question; empty without one."""
        return tuple(map(self._asked, split_needs(self.question))) if self.question else ()

    def _asked(self, need: NeedText) -> Asked:
        return Asked(need, self.single, self.corpus)

    @cached_property
    def _by_need(self) -> tuple[Mapping[int, float], ...]:
        return tuple(map(self._relevance_to, self.needs_asked))

    def relevance(self, reference: str | None = None) -> dict[int, float | None]:
        """Rank → probability that the document helps with the question (and holds ``reference``, where
        given)."""
        if not self.question:
            return {}
        if self.is_question_foreign:
            return dict.fromkeys(document.rank for document in self.interaction.documents or ())
        by_need = self._by_need
        if reference:
            by_need = (*by_need, self._asked(read_question(reference)).relevance(self._echoed))
        found: dict[int, float | None] = {d.rank: None for d in self.interaction.documents or ()}
        found.update({rank: round(max(one[rank] for one in by_need), 4) for rank in self.single})
        return found

    def _relevance_to(self, asked: Asked) -> dict[int, float]:
        """Rank → probability that the document helps with a need of the question."""
        found = asked.relevance(self._echoed)
        low = any(found.get(rank, 1.0) < _TAKEN_FROM for rank in self._echoed)
        if not low or not (self._is_in_other_words(asked) or self._is_settled(asked)):
            return found
        return {rank: max(p, _TAKEN_FROM) if rank in self._echoed else p for rank, p in found.items()}

    # --- needs and fit

    def needs(self) -> tuple[Need, ...]:
        """Every need of the question: do the documents cover it, does the answer meet it?"""
        return tuple(
            Need(asked.need.text, self._covered(asked, found), self._answered(asked))
            for asked, found in zip(self.needs_asked, self._by_need, strict=True)
        )

    def _covered(self, asked: Asked, found: Mapping[int, float]) -> bool | None:
        if self.interaction.documents is None or self.is_question_foreign:
            return None
        threshold = constants().thresholds["covered"]
        covered = any(p >= threshold and asked.gives(rank) for rank, p in found.items())
        return covered or self._is_in_other_words(asked) or self._is_settled(asked)

    def _is_settled(self, asked: Asked) -> bool:
        """Whether claims that the documents support meet the need: then the documents spoke of it."""
        if all(found.support is not Support.SUPPORTED for found in self._decided):
            return False
        return asked.is_met_by(self._supported_part)

    @cached_property
    def _supported_part(self) -> Answer:
        """The claims that the documents support, as if they were the answer."""
        supported = (
            c.claim.text for c in self.claims if c.verdict and c.verdict.support is Support.SUPPORTED
        )
        return read_answer("\n".join(supported))

    def _is_in_other_words(self, asked: Asked) -> bool:
        """Whether the only question shares nothing with any document although the answer is taken from them.

        Such an answer gets the benefit of the doubt: wording cannot tell whether it fits, and a model that
        found its answer in the documents had them to find it in.
        """
        if len(self.needs_asked) > 1 or not self.claims or not asked.is_strange:
            return False
        return all(map(_is_taken, self.claims)) and self._fit_of(asked).kind is not False

    def _answered(self, asked: Asked) -> bool | None:
        if not self.interaction.answer:
            return None
        return self._fit(asked) >= constants().thresholds["answered"]

    def _fit(self, asked: Asked) -> float:
        """The probability that the answer meets the need."""
        if asked.need is self._yes_or_no and self._says_yes_or_no:
            return _SAID_YES_OR_NO
        if not asked.is_touched_by(self._answer):
            return min(_UNTOUCHED, self._fit_of(asked).probability)
        if self._is_in_other_words(asked):
            return max(_TAKEN_FROM, self._fit_of(asked).probability)
        return self._fit_of(asked).probability

    @cached_property
    def _says_yes_or_no(self) -> bool:
        """Whether a sentence of the answer is, or begins with, a bare yes or no."""
        return any(map(is_yes_or_no, _STOPS.split(self.interaction.answer or "")))

    def _fit_of(self, asked: Asked) -> Fit:
        return self._fits[asked.need.text]

    @cached_property
    def _fits(self) -> Mapping[str, Fit]:
        if not self.interaction.documents:
            return {asked.need.text: answer_fit(asked.need, self._answer, None) for asked in self.needs_asked}
        return {asked.need.text: asked.fit(self._answer) for asked in self.needs_asked}

    @cached_property
    def _answer(self) -> Answer:
        return read_answer(self.interaction.answer or "")

    def answer_fit(self) -> float | None:
        """The probability that the answer addresses the question, the mean over its needs."""
        if not self.needs_asked or not self.interaction.answer:
            return None
        return round(math.fsum(map(self._fit, self.needs_asked)) / len(self.needs_asked), 4)


def _is_chinese(document: Document) -> bool:
    return detect_language("".join(passage.normal for passage in document.passages[:_ENOUGH_TO_TELL])) == "zh"


_ENOUGH_TO_TELL = 5
"""Passages that tell the language of a document."""


def _is_taken(judged: JudgedClaim) -> bool:
    """Whether a claim is taken from a document, or restricts what the document restricts otherwise: another
    contradicted number may stand for something else."""
    support = judged.verdict.support if judged.verdict else Support.NOT_FOUND
    return support is Support.SUPPORTED or (
        support is Support.CONTRADICTED and is_restriction(normalise(judged.claim.text))
    )
