"""Is a claim supported? Probability, verdict, evidence and the reason in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragtrace.judges._local.claims import ClaimText
from ragtrace.judges._local.contradictions import Conflict, find_conflict
from ragtrace.judges._local.corpus import Corpus, Evidence, find_evidence
from ragtrace.judges._local.estimate import constants
from ragtrace.judges._local.explain import explain
from ragtrace.judges._local.features import chinese_features, english_features
from ragtrace.model import Language, Support, Verdict
from ragtrace.text.language import detect_language

CONTRADICTED_AT_MOST = 0.12
"""A contradicted claim is held to be supported with at most this probability."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the documents say of a claim, before it becomes a verdict."""

    probability: float
    evidence: Evidence | None
    conflict: Conflict | None


def support(claim: ClaimText, corpus: Corpus) -> Finding:
    """Hold ``claim`` against the documents of ``corpus``."""
    language = detect_language(claim.text)
    estimate = constants().support[language]
    evidence = find_evidence(claim.weights, corpus) if claim.tokens else None
    if evidence is None:
        return Finding(estimate.floor, None, None)
    measure = chinese_features if language == "zh" else english_features
    probability = estimate.probability(measure(claim, evidence, corpus))
    conflict = find_conflict(claim, evidence, corpus)
    if conflict is not None and conflict.contradicts:
        probability = min(CONTRADICTED_AT_MOST, probability * CONTRADICTED_AT_MOST * 2)
    return Finding(probability, evidence, conflict)


def verdict(claim: ClaimText, finding: Finding, language: Language) -> Verdict:
    """The finding as a verdict, explained in ``language``."""
    support_ = _support(finding)
    passage = (
        finding.conflict.passage if finding.conflict else finding.evidence.best if finding.evidence else None
    )
    decided = support_ is not Support.NOT_FOUND
    return Verdict(
        support=support_,
        documents=_ranks(finding) if decided else (),
        quote=passage.text if passage and decided else None,
        confidence=round(finding.probability, 4),
        explanation=explain(claim, support_, finding.evidence, finding.conflict, language),
    )


def _support(finding: Finding) -> Support:
    if finding.conflict is not None and finding.conflict.contradicts:
        return Support.CONTRADICTED
    supported = finding.probability >= constants().thresholds["support"]
    return Support.SUPPORTED if supported else Support.NOT_FOUND


def _ranks(finding: Finding) -> Sequence[int] | tuple[int, ...]:
    passages = (
        [finding.conflict.passage]
        if finding.conflict
        else list(finding.evidence.pair if finding.evidence else ())
    )
    return tuple(dict.fromkeys(passage.rank for passage in passages))
