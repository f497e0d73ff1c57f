"""The metric protocol: pure arithmetic from a judge's verdicts to an outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ragtrace.judges.base import JudgeReply, Want
from ragtrace.model import Citation, Interaction, Language, Outcome, Unit


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a metric may look at.

    ``abstained``: the answer declines to answer. ``similarities``: cosines (-1..1) of the question (the
    rewritten one if there is one) with each of ``reply.questions``; ``reference_similarity``: cosine of
    answer and reference. Both ``None`` where there is no embedder, or where it failed: then
    ``embedder_fault`` is the reason.
    """

    interaction: Interaction
    reply: JudgeReply
    units: tuple[Unit, ...] = ()
    citations: tuple[Citation, ...] = ()
    abstained: bool = False
    similarities: tuple[float, ...] | None = None
    reference_similarity: float | None = None
    embedder_fault: str | None = None
    language: Language = "en"


class Metric(Protocol):
    """One metric. Implementations are frozen dataclasses whose fields are their options."""

    @property
    def name(self) -> str:
        """The metric's name in attributes and results."""

    def wants(self, interaction: Interaction) -> frozenset[Want]:
        """What it needs from the judge for this interaction; empty when it can be decided without."""

    def score(self, evidence: Evidence) -> Outcome:
        """The outcome. Total: never raises for any evidence."""
