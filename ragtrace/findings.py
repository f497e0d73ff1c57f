"""What a set's scores say about where to work: per metric and group, what to try, and the rows that say so.

The rules follow the reading of the four RAG metrics: low recall is a matter of knowledge base, embedding or
query; low precision of ranking, k and chunking; where both are high and the answers are wrong, prompt and
model are to blame.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ragtrace.advice import advice, generation_advice
from ragtrace.model import Cause, Language
from ragtrace.set_labels import label

_LOW: Final[Mapping[str, float]] = {
    "context_recall": 0.8,
    "context_precision": 0.7,
    "faithfulness": 0.85,
    "answer_correctness": 0.7,
    "answer_relevancy": 0.6,
    "citation_correctness": 0.8,
    "refusal": 0.9,
}
"""Means below these are worth work."""
_CAUSES: Final[Mapping[str, Cause]] = {
    "context_recall": Cause.RETRIEVAL_MISSED,
    "context_precision": Cause.RETRIEVAL_MISRANKED,
    "faithfulness": Cause.UNFAITHFUL_ANSWER,
    "answer_relevancy": Cause.OFF_QUESTION,
    "citation_correctness": Cause.MISCITED,
    "refusal": Cause.UNFAITHFUL_ANSWER,
}
_ROWS = 5
_LEAST_ROWS = 3
_CLEARLY = 0.05
"""A group has a finding of its own where its mean is this far below that of the whole set."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A row that says so: its number in the set, question, value, and what is wrong with it."""

    row: int
    question: str
    value: float
    because: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A low mean, what to try (most promising first, in the rows' language), and the worst rows.

    ``field`` and ``value`` name the group, ``None`` for the whole set.
    """

    metric: str
    mean: float
    n: int
    advice: tuple[str, ...]
    rows: tuple[Witness, ...]
    language: Language
    field: str | None = None
    value: str | None = None

    def as_json(self) -> dict[str, Any]:
        """As ``ragtrace evaluate --json`` prints it."""
        return {
            "metric": self.metric,
            "field": self.field,
            "value": self.value,
            "mean": self.mean,
            "n": self.n,
            "advice": list(self.advice),
            "rows": [
                {"row": one.row, "question": one.question, "value": one.value, "because": one.because}
                for one in self.rows
            ],
        }


@dataclass(slots=True)
class _Pile:
    """One metric over one group: its sum, and its worst rows."""

    n: int = 0
    total: float = 0.0
    worst: list[tuple[float, int, Witness]] = field(default_factory=list)

    def add(self, value: float, number: int, question: str, because: str) -> None:
        self.n, self.total = self.n + 1, self.total + value
        entry = (-value, -number, Witness(number, question, value, because))
        if len(self.worst) < _ROWS:
            heapq.heappush(self.worst, entry)
        else:
            heapq.heappushpop(self.worst, entry)

    @property
    def mean(self) -> float:
        return self.total / self.n

    def witnesses(self, below: float) -> tuple[Witness, ...]:
        return tuple(one for *_, one in sorted(self.worst, reverse=True) if one.value < below)


_Group = tuple[str | None, str | None]
_WHOLE: Final[_Group] = (None, None)


class Findings:
    """Takes the records of a set one by one, and keeps the worst few of each metric and group.

    A record's ``row`` is its number in the set; without one, rows are counted from 1.
    """

    def __init__(self, fields: Sequence[str] = ()) -> None:
        self._fields = tuple(fields)
        self._number = 0
        self._chinese: dict[_Group, int] = {}
        self._sizes: dict[_Group, int] = {}
        self._piles: dict[_Group, dict[str, _Pile]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Take the next row."""
        self._number = record.get("row", self._number + 1)
        labels = [(name, label(record, name)) for name in self._fields]
        language: Language = "zh" if record.get("language") == "zh" else "en"
        low = {
            name: (value, because(name, record, language))
            for name in _LOW
            if (value := (record["outcomes"].get(name) or {}).get("value")) is not None
        }
        for group in (_WHOLE, *((name, value) for name, value in labels if value is not None)):
            self._sizes[group] = self._sizes.get(group, 0) + 1
            self._chinese[group] = self._chinese.get(group, 0) + (language == "zh")
            piles = self._piles.setdefault(group, {})
            for name, (value, why) in low.items():
                piles.setdefault(name, _Pile()).add(value, self._number, record.get("question") or "", why)

    def found(self) -> list[Finding]:
        """The findings: those of the whole set first, then those of groups that are clearly worse."""
        return [finding for group in self._piles for finding in self._of_group(group)]

    def _of_group(self, group: _Group) -> Iterator[Finding]:
        piles, whole = self._piles[group], self._piles[_WHOLE]
        language: Language = "zh" if 2 * self._chinese[group] > self._sizes[group] else "en"
        for name, least in _LOW.items():
            pile = piles.get(name)
            if pile is None or pile.mean >= least:
                continue
            if group != _WHOLE and (pile.n < _LEAST_ROWS or pile.mean > whole[name].mean - _CLEARLY):
                continue
            if name == "answer_correctness" and not _retrieval_is_good(piles):
                continue  # retrieval comes first: the model had nothing to be right with
            yield Finding(
                name, pile.mean, pile.n, _advice(name, language), pile.witnesses(least), language, *group
            )


def _retrieval_is_good(piles: Mapping[str, _Pile]) -> bool:
    return all(
        name not in piles or piles[name].mean >= _LOW[name]
        for name in ("context_recall", "context_precision")
    )


def _advice(metric: str, language: Language) -> tuple[str, ...]:
    cause = _CAUSES.get(metric)
    return generation_advice(language) if cause is None else advice(cause, language)


def because(metric: str, record: Mapping[str, Any], language: Language) -> str:
    """What is wrong with a row, as far as ``metric`` sees it: the very claims where there are any."""
    outcome = record["outcomes"][metric]
    said = list(_telling_claims(metric, record, outcome))
    words = {
        "context_recall": {"en": "in no document: ", "zh": "文档中没有："},
        "faithfulness": {"en": "not supported: ", "zh": "没有依据："},
        "refusal": {"en": "answered: ", "zh": "作了回答："},
    }
    if said and metric in words:
        return words[metric][language] + ("；" if language == "zh" else "; ").join(said)
    return outcome.get("explanation") or ""


def _telling_claims(metric: str, record: Mapping[str, Any], outcome: Mapping[str, Any]) -> Iterator[str]:
    if metric == "context_recall":
        yield from (str(text) for text in (outcome.get("evidence") or {}).get("not_in_documents", ()))
    elif metric == "faithfulness":
        yield from (
            str(claim["text"])
            for claim in record.get("claims", ())
            if claim["check_worthy"] and claim["verdict"] not in (None, "SUPPORTED")
        )
    elif metric == "refusal":
        yield record.get("answer") or ""
