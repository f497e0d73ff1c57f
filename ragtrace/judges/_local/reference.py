"""With a reference: what of it the documents hold, what of it the answer says, what the answer adds."""

from __future__ import annotations

from collections.abc import Sequence

from ragtrace.judges._local.case import Case
from ragtrace.judges._local.claims import read_claim
from ragtrace.judges._local.corpus import Corpus
from ragtrace.judges._local.passages import Reader
from ragtrace.judges._local.support import judge_claim
from ragtrace.judges.base import JudgeReply, ReferenceClaim
from ragtrace.model import Support, Unit
from ragtrace.text.segment import units as cut


def judge_reference(case: Case, units: Sequence[Unit]) -> JudgeReply:
    """The reference's part of a reply; empty without a reference."""
    reference = case.interaction.reference
    if not reference:
        return JudgeReply()
    answer, held = _as_corpus(case.interaction.answer or ""), _as_corpus(reference)
    return JudgeReply(
        reference_claims=tuple(_reference_claim(unit.text, case, answer) for unit in cut(reference)),
        unsupported_answer_claims=tuple(
            unit.text for unit in units if unit.check_worthy and not _says(held, unit.text)
        ),
        reference_relevance=case.relevance(reference),
    )


def _reference_claim(text: str, case: Case, answer: Corpus) -> ReferenceClaim:
    found = case.verdict(read_claim(text), case.corpus)
    attributed = found.support is Support.SUPPORTED
    return ReferenceClaim(
        text,
        attributed if case.interaction.documents is not None else None,
        found.documents if attributed else (),
        _says(answer, text),
    )


def _says(corpus: Corpus, text: str) -> bool:
    return judge_claim(read_claim(text), corpus).support is Support.SUPPORTED


def _as_corpus(text: str) -> Corpus:
    return Corpus((Reader(0).read(text, 1),))
