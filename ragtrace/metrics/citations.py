"""Citations in three numbers: is there a marker, does it point to the right document, is what matters
covered?

They come apart: an answer may cite everything and point wrongly (presence 1, correctness 0), or cite one
thing rightly and leave the rest bare (correctness 1, coverage low). Coverage is never above presence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragtrace.judges.base import Want
from ragtrace.metrics import gates
from ragtrace.metrics.base import Evidence
from ragtrace.model import (
    Citation,
    Interaction,
    JudgedClaim,
    Outcome,
    Status,
    Support,
    Unit,
    Unscored,
    Verdict,
)

NO_CITATIONS = "no_citations"


@dataclass(frozen=True, slots=True)
class CitationPresence:
    """Check-worthy claims with a marker / check-worthy claims. A marker that dangles is still a marker."""

    name: str = "citation_presence"

    def wants(self, interaction: Interaction) -> frozenset[Want]:
        """Nothing: the answer shows it."""
        return frozenset()

    def score(self, evidence: Evidence) -> Outcome:
        """The outcome; counts the judge's claims, or the answer's units where there are none."""
        stop = gates.answer_gate(self.name, evidence) or gates.abstention_gate(self.name, evidence)
        if stop:
            return stop
        marked: list[bool | None] = [bool(unit.citations) for unit in _stated(evidence)]
        return gates.share(self.name, marked, evidence, none=gates.NO_CLAIMS)


@dataclass(frozen=True, slots=True)
class CitationCorrectness:
    """Cited (claim, document) pairs where that document supports the claim / pairs. A dangling marker is
    a wrong one."""

    name: str = "citation_correctness"

    def wants(self, interaction: Interaction) -> frozenset[Want]:
        """Verdicts."""
        return _wants_verdicts(interaction)

    def score(self, evidence: Evidence) -> Outcome:
        """The outcome; ``evidence`` lists dangling labels, and ambiguous ones: those are not judged."""
        stop = gates.answer_gate(self.name, evidence) or gates.abstention_gate(self.name, evidence)
        if stop:
            return stop
        if not evidence.citations:
            return gates.not_applicable(self.name, NO_CITATIONS)
        if stop := gates.documents_gate(self.name, evidence):
            return stop
        labels = _labels(evidence.citations)
        resolved = any(citation.status == "resolved" for citation in evidence.citations)
        if resolved and (stop := gates.fault_gate(self.name, evidence, Want.VERDICTS)):
            return stop
        pairs = [_supports(v) for judged in evidence.reply.claims for v in judged.pairs.values()]
        pairs += [False] * len(labels["dangling"]) + [None] * len(labels["ambiguous"])
        if not resolved and not labels["dangling"]:
            return Unscored(
                self.name, Status.NOT_APPLICABLE, "ambiguous_citations", 0, len(pairs), evidence=labels
            )
        return gates.share(self.name, pairs, evidence, none="no_cited_claims", details=dict(labels))


@dataclass(frozen=True, slots=True)
class CitationCoverage:
    """Check-worthy claims with at least one marker that supports them / check-worthy claims."""

    name: str = "citation_coverage"

    def wants(self, interaction: Interaction) -> frozenset[Want]:
        """Verdicts."""
        return _wants_verdicts(interaction)

    def score(self, evidence: Evidence) -> Outcome:
        """The outcome."""
        stop = gates.answer_gate(self.name, evidence) or gates.abstention_gate(self.name, evidence)
        if stop:
            return stop
        if any(citation.status == "resolved" for citation in evidence.citations) and (
            stop := gates.documents_gate(self.name, evidence)
            or gates.fault_gate(self.name, evidence, Want.VERDICTS)
        ):
            return stop
        claims = [judged for judged in evidence.reply.claims if judged.claim.check_worthy]
        covered = [_covered(judged) for judged in claims] or [_uncited(unit) for unit in _stated(evidence)]
        return gates.share(self.name, covered, evidence, none=gates.NO_CLAIMS)


def _wants_verdicts(interaction: Interaction) -> frozenset[Want]:
    ready = gates.has_answer(interaction) and bool(interaction.documents) and gates.has_documents(interaction)
    return frozenset({Want.VERDICTS}) if ready else frozenset()


def _stated(evidence: Evidence) -> list[Unit]:
    """The unit of each check-worthy claim; without claims, the check-worthy units."""
    by_index = {unit.index: unit for unit in evidence.units}
    claims = [judged.claim for judged in evidence.reply.claims if judged.claim.check_worthy]
    stated = [by_index[claim.unit] for claim in claims if claim.unit in by_index]
    return stated or [unit for unit in evidence.units if unit.check_worthy]


def _covered(judged: JudgedClaim) -> bool | None:
    verdicts = [_supports(verdict) for verdict in judged.pairs.values()]
    if True in verdicts:
        return True
    return None if None in verdicts else False


def _uncited(unit: Unit) -> bool | None:
    """A unit that nobody judged is not covered if it cites nothing, and unknown if it does."""
    return None if unit.cites else False


def _supports(verdict: Verdict | None) -> bool | None:
    return None if verdict is None else verdict.support is Support.SUPPORTED


def _labels(citations: tuple[Citation, ...]) -> Mapping[str, list[str]]:
    return {
        status: [c.label for c in citations if c.status == status] for status in ("dangling", "ambiguous")
    }
