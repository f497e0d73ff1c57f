"""Labelled rows judged: what a judge makes of each, to be held against its label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean

from ragtrace.embedders.base import Embedder
from ragtrace.judges.base import Judge, JudgeReply, JudgeRequest, Usage, Want
from ragtrace.labelled import POSITIVE, LabelledRow
from ragtrace.metrics.answer_correctness import AnswerCorrectness
from ragtrace.metrics.base import Evidence
from ragtrace.model import Interaction, JudgedClaim, Support, Unit
from ragtrace.text.citations import parse
from ragtrace.text.segment import units


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """A row with the judge's score (0..1) and decision, both ``None`` where it gave none, and what word
    overlap says of it, where that is wanted (:mod:`ragtrace.baselines`). ``fault``: why it gave none.
    ``local``: whether a cascade decided it without the model; ``None`` for other judges."""

    row: LabelledRow
    score: float | None
    decision: bool | None
    usage: Usage = field(default_factory=Usage)
    baselines: Mapping[str, float] = field(default_factory=dict)
    fault: str | None = None
    local: bool | None = None


_WANTS = {
    "support": frozenset({Want.VERDICTS}),
    "relevance": frozenset({Want.RELEVANCE}),
    "correctness": frozenset({Want.REFERENCE}),
}


async def judge_row(judge: Judge, row: LabelledRow, embedder: Embedder | None = None) -> JudgedRow:
    """Judge one row. ``embedder`` compares answer and reference for a judge that does not."""
    if row.metric == "correctness" and not row.interaction.reference:
        return JudgedRow(row, None, None)
    asked = (_claim_unit(row),) if row.metric == "support" and row.claim else _units(row)
    request = JudgeRequest(row.interaction, asked, _WANTS[row.metric], row.language)
    reply = await judge.judge(request)
    if row.metric == "correctness" and embedder is not None and reply.reference_similarity is None:
        reply = replace(reply, reference_similarity=await _similarity(embedder, row.interaction))
    score, decision = _READ[row.metric](reply, row, asked)
    fault = reply.faults[0].reason if score is None and reply.faults else None
    local = 0 < len(reply.claims) == reply.usage.local_claims if judge.kind == "cascade" else None
    return JudgedRow(row, score, decision, reply.usage, fault=fault, local=local)


async def _similarity(embedder: Embedder, interaction: Interaction) -> float:
    vectors = await embedder.embed([interaction.answer or "", interaction.reference or ""])
    return max(0.0, float(vectors[0] @ vectors[1]))


def _units(row: LabelledRow) -> tuple[Unit, ...]:
    answer = row.interaction.answer or ""
    return units(answer, parse(answer, row.interaction.documents or ()), row.language)


def _claim_unit(row: LabelledRow) -> Unit:
    """The labelled claim as one unit, without its markers: people judged it as a whole."""
    claim = row.claim or ""
    text, last = "", 0
    for citation in parse(claim, row.interaction.documents or ()):
        text, last = text + claim[last : citation.start], max(last, citation.end)
    return Unit(1, (text + claim[last:]).strip() or claim, 0, len(claim))


def _support(
    reply: JudgeReply, row: LabelledRow, asked: tuple[Unit, ...]
) -> tuple[float | None, bool | None]:
    """A labelled claim holds if all its parts do; an answer scores the mean of its claims."""
    scores = [score for claim in reply.claims if (score := _confidence(claim)) is not None]
    if not scores or len(scores) < len(reply.claims):
        return None, None
    decisions = [
        claim.verdict is not None and claim.verdict.support is Support.SUPPORTED for claim in reply.claims
    ]
    return min(scores) if row.claim else fmean(scores), all(decisions)


def _confidence(claim: JudgedClaim) -> float | None:
    if claim.verdict is None:
        return None
    if claim.verdict.confidence is not None:
        return claim.verdict.confidence
    return float(claim.verdict.support is Support.SUPPORTED)


def _relevance(
    reply: JudgeReply, row: LabelledRow, asked: tuple[Unit, ...]
) -> tuple[float | None, bool | None]:
    found = [float(value) for value in reply.relevance.values() if value is not None]
    return (max(found), max(found) >= POSITIVE) if found else (None, None)


def _correctness(
    reply: JudgeReply, row: LabelledRow, asked: tuple[Unit, ...]
) -> tuple[float | None, bool | None]:
    evidence = Evidence(row.interaction, reply, asked, language=row.language)
    compared = reply.reference_similarity is not None
    metric = AnswerCorrectness() if compared else AnswerCorrectness(weights=(1.0, 0.0))
    value = metric.score(evidence).value
    return (value, value >= POSITIVE) if value is not None else (None, None)


_READ = {"support": _support, "relevance": _relevance, "correctness": _correctness}
