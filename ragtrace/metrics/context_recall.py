"""Context recall: did retrieval find what the answer needs?

With a reference: its claims that the documents hold / its claims. Without one: the question's information
needs that the documents cover / its needs. ``basis`` says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragtrace.judges.base import Want
from ragtrace.metrics import gates
from ragtrace.metrics.base import Evidence
from ragtrace.model import Interaction, Outcome, Score


def context_recall(attributed: Sequence[bool]) -> float | None:
    """Share of true entries in ``attributed``, in 0..1; ``None`` when there are none."""
    return sum(map(bool, attributed)) / len(attributed) if attributed else None


@dataclass(frozen=True, slots=True)
class ContextRecall:
    """What the documents hold of the reference's claims, or of the question's needs."""

    name: str = "context_recall"

    def wants(self, interaction: Interaction) -> frozenset[Want]:
        """Needs (the diagnosis reads them too); with a reference, its claims as well."""
        if not interaction.documents or not gates.has_documents(interaction) or not interaction.question:
            return frozenset()
        return frozenset({Want.NEEDS, Want.REFERENCE} if interaction.reference else {Want.NEEDS})

    def score(self, evidence: Evidence) -> Outcome:
        """The outcome; 0.0 where a retrieval returned nothing, without asking."""
        by_reference = bool(evidence.interaction.reference)
        basis, want = ("reference", Want.REFERENCE) if by_reference else ("needs", Want.NEEDS)
        stop = gates.documents_gate(self.name, evidence)
        if stop is None and not by_reference:
            stop = gates.question_gate(self.name, evidence)
        if stop:
            return stop
        if not evidence.interaction.documents:
            return Score(self.name, 0.0, 0, 0, basis="nothing_retrieved")
        if stop := gates.fault_gate(self.name, evidence, want, basis):
            return stop
        if by_reference:
            held = [claim.attributed for claim in evidence.reply.reference_claims]
            lacking = [claim.text for claim in evidence.reply.reference_claims if claim.attributed is False]
            details: dict[str, object] = {"not_in_documents": lacking}
            return gates.share(self.name, held, evidence, none=gates.NO_CLAIMS, basis=basis, details=details)
        covered = [need.covered for need in evidence.reply.needs]
        lacking = [need.text for need in evidence.reply.needs if need.covered is False]
        return gates.share(
            self.name,
            covered,
            evidence,
            none="no_needs",
            basis=basis,
            details={"not_in_documents": lacking},
        )
