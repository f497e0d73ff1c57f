"""The embedded judge: no key, no network, no model download.

A heuristic that says so. It sees copied and lightly edited claims, numbers, dates, units, names, antonyms and
negation; it does not see paraphrase, inference, or the wrong fact from the right paragraph. What it cannot tell
gets a middle probability. See ``docs/embedded-judge.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragtrace.judges._local.claims import ClaimText, read_claim
from ragtrace.judges._local.corpus import Corpus
from ragtrace.judges._local.estimate import constants
from ragtrace.judges._local.fit import answer_fit
from ragtrace.judges._local.passages import Document, Reader
from ragtrace.judges._local.questions import NeedText, read_question, split_needs
from ragtrace.judges._local.relevance import gives_kind, relevance_features
from ragtrace.judges._local.support import support, verdict
from ragtrace.judges.base import JudgeReply, JudgeRequest, ReferenceClaim, Want
from ragtrace.model import Claim, Interaction, JudgedClaim, Language, Need, Support, Unit, Verdict
from ragtrace.text.language import detect_language
from ragtrace.text.segment import units as cut_units

PROTOCOL = 1
"""Raised when the meaning of a verdict changes although no constant did."""


@dataclass(frozen=True)
class EmbeddedJudge:
    """Judges by measurement. Pure CPU work, a few milliseconds an interaction, safe in any thread.

    ``remember`` bounds the cache of read documents, in characters of their text.
    """

    remember: int = 400_000
    _reader: Reader = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_reader", Reader(self.remember))

    @property
    def kind(self) -> str:
        """Always ``embedded``."""
        return "embedded"

    @property
    def revision(self) -> str:
        """Hash of the shipped constants, and the protocol number."""
        return f"{constants().revision}-{PROTOCOL}"

    @property
    def model(self) -> str | None:
        """There is no model."""
        return None

    async def aclose(self) -> None:
        """Nothing to free."""

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Judge one interaction. Total: any text gives a reply."""
        return self.reply(request)

    def reply(self, request: JudgeRequest) -> JudgeReply:
        """As :meth:`judge`, for callers without an event loop."""
        case = _Case(request.interaction, request.language, self._read(request.interaction))
        wants = request.wants
        claims = tuple(_claims(request.units, case)) if Want.VERDICTS in wants else ()
        relevance = case.relevance(None) if wants & {Want.RELEVANCE, Want.NEEDS} else {}
        reference = _reference(case, request.units) if Want.REFERENCE in wants else JudgeReply()
        return JudgeReply(
            claims=claims,
            relevance=relevance if Want.RELEVANCE in wants else {},
            needs=_needs(case) if Want.NEEDS in wants else (),
            answer_fit=_fit(case) if Want.QUESTIONS in wants else None,
            reference_claims=reference.reference_claims,
            unsupported_answer_claims=reference.unsupported_answer_claims,
            reference_relevance=reference.reference_relevance,
        )

    def _read(self, interaction: Interaction) -> tuple[Document, ...]:
        found = interaction.documents or ()
        return tuple(self._reader.read(document.text, document.rank) for document in found if document.text)


class _Case:
    """One interaction, read once."""

    def __init__(self, interaction: Interaction, language: Language, documents: Sequence[Document]) -> None:
        self.interaction = interaction
        self.language = language
        self.corpus = Corpus(documents)
        self.single = {document.rank: Corpus((document,)) for document in documents}
        self.question = interaction.rewritten_question or interaction.question
        self.answer = read_claim(interaction.answer or "")

    def relevance(self, extra: str | None) -> dict[int, float | None]:
        """Rank → probability that the document helps with the question (and ``extra``, a reference)."""
        text = " ".join(part for part in (self.question, extra) if part)
        if not text:
            return {}
        needs = (read_question(text),) if extra else split_needs(text)
        found: dict[int, float | None] = {
            document.rank: None for document in self.interaction.documents or () if document.text is None
        }
        for rank, corpus in self.single.items():
            found[rank] = round(max(relevance(need, corpus) for need in needs), 4)
        return dict(sorted(found.items()))


def relevance(need: NeedText, corpus: Corpus) -> float:
    """The probability that the documents of ``corpus`` help with ``need``."""
    estimate = constants().relevance[detect_language(need.text)]
    return estimate.probability(relevance_features(need, corpus))


# --- claims -----------------------------------------------------------------------------------------------


def _claims(units: Sequence[Unit], case: _Case) -> Iterator[JudgedClaim]:
    for unit in units:
        if not unit.check_worthy:
            continue
        claim = Claim(unit.text, unit.index, unit.start, unit.end, unit.cites)
        read = read_claim(unit.text)
        pairs: Mapping[int, Verdict | None] = {
            rank: _judge(read, case.single[rank], case.language) for rank in unit.cites if rank in case.single
        }
        yield JudgedClaim(claim, _judge(read, case.corpus, case.language), pairs)


def _judge(claim: ClaimText, corpus: Corpus, language: Language) -> Verdict:
    return verdict(claim, support(claim, corpus), language)


# --- needs and fit ----------------------------------------------------------------------------------------


def _needs(case: _Case) -> tuple[Need, ...]:
    if not case.question:
        return ()
    return tuple(
        Need(need.text, _covered(need, case), _answered(need, case)) for need in split_needs(case.question)
    )


def _covered(need: NeedText, case: _Case) -> bool | None:
    if case.interaction.documents is None:
        return None
    best = max(case.single.values(), key=lambda corpus: relevance(need, corpus), default=None)
    if best is None:
        return False
    given = gives_kind(need.kind, [passage.normal for passage in best.passages])
    return relevance(need, best) >= constants().thresholds["covered"] and given is not False


def _answered(need: NeedText, case: _Case) -> bool | None:
    if not case.interaction.answer:
        return None
    corpus = case.corpus if case.interaction.documents else None
    return answer_fit(need, case.answer, corpus).probability >= constants().thresholds["answered"]


def _fit(case: _Case) -> float | None:
    if not case.question or not case.interaction.answer:
        return None
    corpus = case.corpus if case.interaction.documents else None
    fits = [answer_fit(need, case.answer, corpus).probability for need in split_needs(case.question)]
    return round(sum(fits) / len(fits), 4)


# --- with a reference -------------------------------------------------------------------------------------


def _reference(case: _Case, units: Sequence[Unit]) -> JudgeReply:
    reference = case.interaction.reference
    if not reference:
        return JudgeReply()
    answer = Corpus((_as_document(case.interaction.answer or ""),))
    held = Corpus((_as_document(reference),))
    return JudgeReply(
        reference_claims=tuple(
            _reference_claim(unit, case, answer) for unit in cut_units(reference) if unit.text.strip()
        ),
        unsupported_answer_claims=tuple(
            unit.text for unit in units if unit.check_worthy and not _supported(unit.text, held)
        ),
        reference_relevance=case.relevance(reference),
    )


def _reference_claim(unit: Unit, case: _Case, answer: Corpus) -> ReferenceClaim:
    found = _judge(read_claim(unit.text), case.corpus, case.language)
    return ReferenceClaim(
        unit.text,
        found.support is Support.SUPPORTED if case.interaction.documents is not None else None,
        found.documents if found.support is Support.SUPPORTED else (),
        _supported(unit.text, answer),
    )


def _supported(text: str, corpus: Corpus) -> bool:
    finding = support(read_claim(text), corpus)
    contradicted = finding.conflict is not None and finding.conflict.contradicts
    return not contradicted and finding.probability >= constants().thresholds["support"]


def _as_document(text: str) -> Document:
    return Reader(0).read(text, 1)
