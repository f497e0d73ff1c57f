"""From the parts of a judgement to the judge's reply: what was found, and a fault for what was not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ragtrace.judges._chat.entries import Entry
from ragtrace.judges._chat.parts import (
    ClaimsPart,
    QuestionsPart,
    reference_units,
    says_the_same,
    shown_documents,
)
from ragtrace.judges._chat.quotes import Evidence
from ragtrace.judges._chat.rounds import STEERED
from ragtrace.judges.base import Fault, JudgeReply, JudgeRequest, ReferenceClaim, Usage, Want
from ragtrace.model import Claim, JudgedClaim, Need, Status, Support, Unit, Verdict


def assemble(
    request: JudgeRequest,
    grounding: ClaimsPart,
    questions: QuestionsPart,
    reference: ClaimsPart,
    usage: Usage,
) -> JudgeReply:
    """The reply to ``request``."""
    wants, ranks = request.wants, [d.rank for d in request.interaction.documents or ()]
    claims = _claims(request, grounding) if Want.VERDICTS in wants else ()
    references = _reference_claims(request, reference) if Want.REFERENCE in wants else ()
    same = says_the_same(request.interaction.answer, request.interaction.reference)
    reply = JudgeReply(
        claims=claims,
        relevance=_relevance(grounding.relevance, ranks) if Want.RELEVANCE in wants else {},
        needs=_needs(request, grounding) if Want.NEEDS in wants else (),
        questions=questions.questions,
        noncommittal=(questions.evasive,) * len(questions.questions),
        reference_claims=references,
        unsupported_answer_claims=() if same else reference.extra_claims,
        reference_relevance=_relevance(reference.relevance, ranks) if Want.REFERENCE in wants else {},
        kept_ratio=min(grounding.kept_ratio, reference.kept_ratio),
        usage=usage,
        ignored=grounding.ignored + reference.ignored,
    )
    return replace(reply, faults=tuple(_faults(request, reply, grounding, questions, reference)))


def _claims(request: JudgeRequest, part: ClaimsPart) -> tuple[JudgedClaim, ...]:
    """Every claim of every check-worthy unit; a unit that was not judged is one claim without a verdict."""
    interaction = request.interaction
    documents = shown_documents(interaction)
    evidence = Evidence(documents)
    nothing_to_find = interaction.documents is not None and not (documents or interaction.history)
    judged: list[JudgedClaim] = []
    for unit in request.units:
        if not unit.check_worthy:
            continue
        known = part.entries.get(unit.index)
        if nothing_to_find and known is None:
            judged.append(_judged(unit, unit.text, Verdict(Support.NOT_FOUND), {}))
        elif known is None:
            judged.append(_judged(unit, unit.text, None, {}))
        else:
            judged += [_from_entry(unit, entry, evidence) for entry in known if entry.support is not None]
    return tuple(judged)


def _from_entry(unit: Unit, entry: Entry, evidence: Evidence) -> JudgedClaim:
    if entry.support is None or not entry.decided:
        return _judged(unit, entry.text, None, {})
    quoted = evidence.holding(entry.quote)
    if entry.support is Support.NOT_FOUND:
        verdict = Verdict(entry.support, confidence=entry.confidence)
    else:
        verdict = Verdict(entry.support, quoted, entry.quote or None, entry.confidence)
    return _judged(unit, entry.text, verdict, _pair_verdicts(unit, entry, quoted))


def _pair_verdicts(unit: Unit, entry: Entry, quoted: tuple[int, ...]) -> Mapping[int, Verdict]:
    """Verdicts on cited documents: the judge's, else the claim's own where its quote is in that document."""
    pairs: dict[int, Verdict] = {}
    for rank in unit.cites:
        says = entry.pairs.get(rank, entry.support if rank in quoted else None)
        if says is not None:
            pairs[rank] = Verdict(says, (rank,), entry.quote if rank in quoted else None)
    return pairs


def _judged(unit: Unit, text: str, verdict: Verdict | None, pairs: Mapping[int, Verdict]) -> JudgedClaim:
    claim = Claim(text, unit.index, unit.start, unit.end, unit.cites, unit.check_worthy)
    found_nowhere = verdict is not None and verdict.support is Support.NOT_FOUND
    nowhere = Verdict(Support.NOT_FOUND) if found_nowhere else None
    return JudgedClaim(claim, verdict, {rank: pairs.get(rank, nowhere) for rank in unit.cites})


def _relevance(found: Mapping[int, bool], ranks: Iterable[int]) -> dict[int, float | None]:
    return {rank: float(found[rank]) if rank in found else None for rank in ranks}


def _needs(request: JudgeRequest, part: ClaimsPart) -> tuple[Need, ...]:
    """The needs; nothing is said of documents that were not recorded, and none covers a need from nothing."""
    documents = request.interaction.documents
    if documents is not None and shown_documents(request.interaction):
        return part.needs or ()
    covered = False if documents == () else None
    return tuple(replace(need, covered=covered) for need in part.needs or ())


def _reference_claims(request: JudgeRequest, part: ClaimsPart) -> tuple[ReferenceClaim, ...]:
    interaction = request.interaction
    same = says_the_same(interaction.answer, interaction.reference)
    nothing_to_find = interaction.documents == ()
    evidence = Evidence(shown_documents(interaction))
    claims: list[ReferenceClaim] = []
    for unit in reference_units(interaction):
        if not unit.check_worthy:
            continue
        unknown = ReferenceClaim(
            unit.text, False if nothing_to_find else None, in_answer=True if same else None
        )
        known = part.entries.get(unit.index)
        if known is None:
            claims.append(unknown)
            continue
        claims += [_reference_claim(entry, same, evidence) for entry in known if entry.support is not None]
    return tuple(claims)


def _reference_claim(entry: Entry, same: bool, evidence: Evidence) -> ReferenceClaim:
    attributed = entry.support is Support.SUPPORTED if entry.decided else None
    documents = evidence.holding(entry.quote) if attributed else ()
    return ReferenceClaim(entry.text, attributed, documents, True if same else entry.in_answer)


def _faults(
    request: JudgeRequest,
    reply: JudgeReply,
    grounding: ClaimsPart,
    questions: QuestionsPart,
    reference: ClaimsPart,
) -> Iterable[Fault]:
    """A fault for each want of which nothing at all was found, though something should have been."""
    wants = request.wants
    judged = [claim for claim in reply.claims if claim.verdict is not None]
    texts = shown_documents(request.interaction)
    by_relevance = reference if Want.REFERENCE in wants and request.interaction.reference else grounding
    known = [c for c in reply.reference_claims if c.attributed is not None or c.in_answer is not None]
    empty: dict[Want, tuple[bool, ClaimsPart | QuestionsPart]] = {
        Want.VERDICTS: (bool(reply.claims) and not judged, grounding),
        Want.RELEVANCE: (bool(texts) and not (grounding.relevance or reference.relevance), by_relevance),
        Want.NEEDS: (bool(request.interaction.question) and not grounding.needs, grounding),
        Want.QUESTIONS: (not reply.questions, questions),
        Want.REFERENCE: (bool(reply.reference_claims) and not known, reference),
    }
    for want in sorted(wants):
        missing, part = empty[want]
        if missing or (part.error == STEERED):
            status = Status.TIMED_OUT if part.timed_out else Status.JUDGE_ERROR
            yield Fault(want, status, part.error or "incomplete")
