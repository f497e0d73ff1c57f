"""Is a claim supported? Probability, verdict, evidence and the reason in words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragtrace.judges._local.claims import ClaimText
from ragtrace.judges._local.conflicts import Conflict
from ragtrace.judges._local.contradictions import find_conflict, find_other_restriction
from ragtrace.judges._local.corpus import Corpus, Evidence, find_evidence
from ragtrace.judges._local.estimate import constants
from ragtrace.judges._local.explain import explain
from ragtrace.judges._local.features import chinese_features, english_features
from ragtrace.judges._local.passages import Passage
from ragtrace.model import Language, Support, Verdict

CONTRADICTED_AT_MOST = 0.12
"""A contradicted claim is held to be supported with at most this probability."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the documents say of a claim, before it becomes a verdict."""

    support: Support
    probability: float
    evidence: Evidence | None = None
    conflict: Conflict | None = None

    def passages(self, claim: ClaimText) -> tuple[Passage, ...]:
        """The passages that decide: the one in conflict, else the best and, where it adds to it, the next."""
        if self.conflict is not None:
            return (self.conflict.passage,)
        if self.evidence is None:
            return ()
        best, *adding = self.evidence.pair
        missing = [token for token in claim.tokens if token not in best.vocabulary]
        needed = _ADDS * len(claim.tokens)
        return (best, *(p for p in adding if sum(token in p.vocabulary for token in missing) >= needed))


_ADDS = 0.1
"""The share of a claim's content that a second passage must add to be named."""


def judge_claim(claim: ClaimText, corpus: Corpus) -> Finding:
    """Hold ``claim`` against the documents of ``corpus``.

    A Chinese sentence runs on over commas: where its clauses stand in different passages, it is held to be
    supported as much as the least supported of them.
    """
    found = _judge_whole(claim, corpus)
    if found.support is Support.CONTRADICTED or claim.language != "zh":
        return found
    clauses = claim.clauses
    if len(clauses) < 2 or any(len(clause.tokens) < _SHORTEST_CLAUSE for clause in clauses):
        return found
    parts: list[Finding] = []
    for clause in clauses:
        part = _judge_whole(clause, corpus)
        if part.probability <= found.probability or part.support is Support.CONTRADICTED:
            return found
        parts.append(part)
    if len({part.evidence.best for part in parts if part.evidence is not None}) < 2:
        return found
    least = min(part.probability for part in parts)
    support = Support.SUPPORTED if least >= constants().support_from["zh"] else Support.NOT_FOUND
    return replace(found, support=support, probability=least)


_SHORTEST_CLAUSE = 4
"""Content characters. A shorter clause says little by itself."""


def _judge_whole(claim: ClaimText, corpus: Corpus) -> Finding:
    language = claim.language
    estimate = constants().support[language]
    evidence = find_evidence(claim.weights, corpus) if claim.tokens else None
    if evidence is None:
        return _without_evidence(claim, corpus, estimate.floor)
    measure = chinese_features if language == "zh" else english_features
    conflict = find_conflict(claim, evidence, corpus)
    probability = estimate.probability(measure(claim, evidence, corpus, conflict))
    if conflict is not None and conflict.contradicts:
        probability = min(CONTRADICTED_AT_MOST, probability)
        return Finding(Support.CONTRADICTED, probability, evidence, conflict)
    holds = probability >= constants().support_from[language]
    return Finding(Support.SUPPORTED if holds else Support.NOT_FOUND, probability, evidence, conflict)


def _without_evidence(claim: ClaimText, corpus: Corpus, floor: float) -> Finding:
    """A claim that shares no word: at most a curt "only this" against the one "only that"."""
    conflict = find_other_restriction(claim, corpus)
    if conflict is None:
        return Finding(Support.NOT_FOUND, floor)
    return Finding(Support.CONTRADICTED, floor, Evidence((conflict.passage,), 0.0), conflict)


def verdict(claim: ClaimText, finding: Finding, language: Language) -> Verdict:
    """The finding as a verdict, explained in ``language``."""
    decided = finding.passages(claim) if finding.support is not Support.NOT_FOUND else ()
    return Verdict(
        support=finding.support,
        documents=tuple(dict.fromkeys(passage.rank for passage in decided)),
        quote=decided[0].text if decided else None,
        confidence=round(finding.probability, 4),
        explanation=explain(
            claim,
            finding.support,
            finding.probability,
            finding.evidence,
            finding.conflict,
            language=language,
        ),
    )
