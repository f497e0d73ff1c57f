"""Which documents a judge found relevant: shared by precision and noise."""

from __future__ import annotations

from dataclasses import dataclass

from ragtrace.judges.base import Want
from ragtrace.metrics import gates
from ragtrace.metrics.base import Evidence
from ragtrace.model import Interaction, RetrievedDocument, Unscored

RELEVANT_FROM = 0.5
"""A document is relevant from this probability on."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """One entry a document in rank order: relevant, not, or not judged; ``basis`` is ``question`` or
    ``reference``."""

    flags: tuple[bool | None, ...]
    basis: str

    @property
    def judged(self) -> tuple[bool, ...]:
        """The entries that the judge decided, in rank order."""
        return tuple(flag for flag in self.flags if flag is not None)

    @property
    def first(self) -> int | None:
        """The 1-based rank of the first relevant document."""
        return next((rank for rank, flag in enumerate(self.flags, start=1) if flag), None)


def wants_relevance(interaction: Interaction) -> frozenset[Want]:
    """What deciding relevance needs: nothing where there are no documents or no question."""
    if not interaction.documents or not gates.has_documents(interaction) or not interaction.question:
        return frozenset()
    return frozenset({Want.RELEVANCE, Want.REFERENCE} if interaction.reference else {Want.RELEVANCE})


def relevance(metric: str, evidence: Evidence) -> Relevance | Unscored:
    """The relevance of all documents, by reference where the judge gave it, else by the question alone."""
    stop = gates.documents_gate(metric, evidence) or gates.question_gate(metric, evidence)
    if stop:
        return stop
    given = evidence.reply.reference_relevance
    basis, want = ("reference", Want.REFERENCE) if given else ("question", Want.RELEVANCE)
    if stop := gates.fault_gate(metric, evidence, want, basis):
        return stop
    given = given or evidence.reply.relevance
    documents = evidence.interaction.documents or ()
    return Relevance(
        tuple(_flag(document, given.get(rank)) for rank, document in enumerate(documents, start=1)), basis
    )


def _flag(document: RetrievedDocument, probability: float | None) -> bool | None:
    if document.text is not None and not any(map(str.isalpha, document.text)):
        return False  # numbers and signs alone help nobody, and judges answer them in prose
    return None if probability is None else probability >= RELEVANT_FROM
