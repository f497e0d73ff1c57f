"""Retrieval against gold documents: hit, MRR, NDCG, precision and recall, with and without a cut-off.

Plain functions on ids, and the metrics made of them. ``retrieved_ids`` are in rank order and compared
exactly; of an id that comes twice the first occurrence counts and the ranks close up. Gold is a mapping
from id to grade, or ids alone; a document is relevant when its grade is above 0. All return ``None`` when
no gold document is relevant: there is nothing to find. Formulas as in Manning, Raghavan and Schütze 2008,
ch. 8; NDCG as in Järvelin and Kekäläinen 2002 with linear gain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragtrace.judges.base import Want
from ragtrace.metrics import gates
from ragtrace.metrics.base import Evidence
from ragtrace.model import Interaction, Outcome, Score

Gold = Mapping[str, float] | Iterable[str]


def hit_at_k(retrieved_ids: Sequence[str], gold_ids: Gold, k: int = 5) -> float | None:
    """1.0 if one of the first ``k`` documents is relevant, else 0.0."""
    relevant = _relevant(gold_ids)
    return float(any(i in relevant for i in _unique(retrieved_ids)[:k])) if relevant else None


def mrr(retrieved_ids: Sequence[str], gold_ids: Gold) -> float | None:
    """1 / rank of the first relevant document, 0.0 if there is none, in 0..1."""
    relevant = _relevant(gold_ids)
    if not relevant:
        return None
    return next((1.0 / rank for rank, i in enumerate(_unique(retrieved_ids), start=1) if i in relevant), 0.0)


def mrr_at_k(retrieved_ids: Sequence[str], gold_ids: Gold, k: int = 5) -> float | None:
    """As :func:`mrr` over the first ``k`` documents."""
    return mrr(_unique(retrieved_ids)[:k], gold_ids)


def precision_at_k(retrieved_ids: Sequence[str], gold_ids: Gold, k: int = 5) -> float | None:
    """Relevant documents among the first ``k``, divided by ``k`` even where fewer were retrieved."""
    relevant = _relevant(gold_ids)
    return sum(i in relevant for i in _unique(retrieved_ids)[:k]) / k if relevant else None


def recall_at_k(retrieved_ids: Sequence[str], gold_ids: Gold, k: int = 5) -> float | None:
    """Relevant documents among the first ``k`` / all relevant documents."""
    relevant = _relevant(gold_ids)
    return sum(i in relevant for i in _unique(retrieved_ids)[:k]) / len(relevant) if relevant else None


def ndcg_at_k(retrieved_ids: Sequence[str], gold_relevance: Gold, k: int = 5) -> float | None:
    """Discounted gain of the first ``k`` documents, grade / log2(rank + 1), over that of the best
    possible order."""
    relevant = _relevant(gold_relevance)
    if not relevant:
        return None
    ideal = _gain(sorted(relevant.values(), reverse=True)[:k])
    return min(1.0, _gain([relevant.get(i, 0.0) for i in _unique(retrieved_ids)[:k]]) / ideal)


Measure = Literal["hit", "mrr", "ndcg", "precision", "recall"]
_AT_K: Mapping[str, Callable[[Sequence[str], Gold, int], float | None]] = {
    "hit": hit_at_k,
    "mrr": mrr_at_k,
    "ndcg": ndcg_at_k,
    "precision": precision_at_k,
    "recall": recall_at_k,
}


@dataclass(frozen=True, slots=True)
class IR:
    """One retrieval measure at a cut-off (``k=None``: over the whole list, for ``mrr`` alone)."""

    measure: Measure = "hit"
    k: int | None = 5

    @property
    def name(self) -> str:
        """``hit@5``, ``mrr``, …"""
        return self.measure if self.k is None else f"{self.measure}@{self.k}"

    def wants(self, interaction: Interaction) -> frozenset[Want]:
        """Nothing: people judged already."""
        return frozenset()

    def score(self, evidence: Evidence) -> Outcome:
        """The outcome over the ids of the documents of the prompt, in their order."""
        interaction = evidence.interaction
        documents, gold = interaction.documents, interaction.gold
        if not gold:
            return gates.not_applicable(self.name, "no_gold")
        if documents is None:
            return gates.not_applicable(self.name, gates.NO_DOCUMENTS)
        ids = [document.id for document in documents]
        if documents and not any(d.id_source in ("given", "metadata") or d.id in gold for d in documents):
            return gates.not_applicable(self.name, "document_ids_not_recorded")
        value = mrr(ids, gold) if self.k is None else _AT_K[self.measure](ids, gold, self.k)
        if value is None:
            return gates.not_applicable(self.name, "no_relevant_gold")
        return Score(self.name, value, len(ids), len(ids), basis="gold")


def _relevant(gold: Gold) -> dict[str, float]:
    grades = gold.items() if isinstance(gold, Mapping) else ((i, 1.0) for i in gold)
    return {i: float(grade) for i, grade in grades if grade > 0}


def _unique(ids: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(ids))


def _gain(grades: Sequence[float]) -> float:
    return sum(grade / math.log2(index + 2) for index, grade in enumerate(grades))
