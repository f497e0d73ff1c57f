"""Faithfulness: the share of the answer's claims that the documents (or earlier turns) support.

Formula: supported / judged claims, as in Es et al. 2023, "RAGAS: Automated Evaluation of Retrieval
Augmented Generation", with two differences: claims without a verdict leave the denominator and show in
``n_total``, and an answer without claims has no score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragtrace.judges.base import Want
from ragtrace.metrics import gates
from ragtrace.metrics.base import Evidence
from ragtrace.model import Interaction, Outcome, Score, Support


def faithfulness(verdicts: Sequence[bool]) -> float | None:
    """Share of true ``verdicts``, in 0..1; ``None`` when there are none."""
    return sum(map(bool, verdicts)) / len(verdicts) if verdicts else None


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """Supported claims / judged claims."""

    name: str = "faithfulness"

    def wants(self, interaction: Interaction) -> frozenset[Want]:
        """Verdicts, unless nothing was retrieved: then no claim can be supported and nobody needs asking."""
        grounded = bool(interaction.documents or interaction.history)
        ready = gates.has_answer(interaction) and gates.has_documents(interaction)
        return frozenset({Want.VERDICTS}) if ready and grounded else frozenset()

    def score(self, evidence: Evidence) -> Outcome:
        """The outcome; 0.0 where a retrieval returned nothing and the answer states facts all the same."""
        stop = (
            gates.answer_gate(self.name, evidence)
            or gates.abstention_gate(self.name, evidence)
            or gates.documents_gate(self.name, evidence)
        )
        if stop:
            return stop
        if not self.wants(evidence.interaction):
            return self._ungrounded(evidence)
        if stop := gates.fault_gate(self.name, evidence, Want.VERDICTS):
            return stop
        claims = [judged for judged in evidence.reply.claims if judged.claim.check_worthy]
        verdicts = [judged.verdict for judged in claims]
        return gates.share(
            self.name,
            [None if verdict is None else verdict.support is Support.SUPPORTED for verdict in verdicts],
            evidence,
            none=gates.NO_CLAIMS,
            details={
                "contradicted": sum(v is not None and v.support is Support.CONTRADICTED for v in verdicts),
                "dropped": sum(not unit.check_worthy for unit in evidence.units),
            },
        )

    def _ungrounded(self, evidence: Evidence) -> Outcome:
        stated = sum(unit.check_worthy for unit in evidence.units)
        if not stated:
            return gates.not_applicable(self.name, gates.NO_CLAIMS)
        return Score(self.name, 0.0, stated, stated, basis="nothing_retrieved")
