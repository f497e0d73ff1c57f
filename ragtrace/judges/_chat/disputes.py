"""Verdicts that the evidence speaks against: which they are, how to ask again, what to make of the reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragtrace.judges._chat.entries import Entry, Findings, Task
from ragtrace.judges._chat.quotes import Evidence, normalised
from ragtrace.judges._chat.relatedness import terms
from ragtrace.model import Support

CANDIDATES = 3
_LEAST_VERBATIM = 12
"""Characters that a claim must have before its literal presence in a document counts for anything."""


@dataclass(frozen=True, slots=True)
class Dispute:
    """An entry (the ``index``-th of its item) to ask again, under ``number`` in the new request."""

    entry: Entry
    index: int
    number: int


def disputed(entry: Entry, evidence: Evidence) -> bool:
    """Whether the documents, or the entry's own pair verdicts, speak against the verdict.

    SUPPORTED or CONTRADICTED by a quote that is in no document; NOT_FOUND although a cited document is said
    to support it, or although the claim stands in a document word for word.
    """
    if entry.support is Support.NOT_FOUND:
        claim = normalised(entry.text)
        verbatim = len(claim) >= _LEAST_VERBATIM and bool(evidence.holding(entry.text))
        return verbatim or Support.SUPPORTED in entry.pairs.values()
    return entry.support is not None and not evidence.holding(entry.quote)


def disputes(task: Task, found: Findings) -> tuple[Dispute, ...]:
    """All disputed entries of ``found``, numbered as the request that asks again numbers them."""
    evidence = Evidence(task.documents)
    entries = [
        (entry, index)
        for known in found.entries.values()
        for index, entry in enumerate(known)
        if disputed(entry, evidence)
    ]
    return tuple(Dispute(entry, index, number) for number, (entry, index) in enumerate(entries, 1))


def dispute_task(task: Task, open_: Sequence[Dispute]) -> Task:
    """The request that asks again: only the disputed claims, only the documents that may decide them."""
    by_number = {item.number: item for item in task.asked}
    items = tuple(
        replace(by_number[dispute.entry.number], number=dispute.number, text=dispute.entry.text)
        for dispute in open_
    )
    ranks: set[int] = set()
    known = [(document.rank, terms(document.text)) for document in task.documents]
    for dispute, item in zip(open_, items, strict=True):
        wanted = terms(dispute.entry.text)
        nearest = sorted(known, key=lambda pair: (-len(pair[1] & wanted), pair[0]))[:CANDIDATES]
        ranks |= {rank for rank, _ in nearest} | set(item.cites)
    return task.narrowed(items, (), extra=False, ranks=frozenset(ranks))


def resolved(task: Task, found: Findings, open_: Sequence[Dispute], again: Findings | None) -> Findings:
    """``found`` with each disputed entry settled by the second reply; undecided where there was none."""
    evidence = Evidence(task.documents)
    entries: dict[int, list[Entry]] = {number: list(known) for number, known in found.entries.items()}
    for dispute in open_:
        second = again.entries.get(dispute.number, ()) if again is not None else ()
        entries[dispute.entry.number][dispute.index] = _settle(dispute.entry, second, evidence)
    settled: Mapping[int, tuple[Entry, ...]] = {number: tuple(known) for number, known in entries.items()}
    return replace(found, entries=settled)


def _settle(first: Entry, second: Sequence[Entry], evidence: Evidence) -> Entry:
    """The claim as the second reply has it: what it says with evidence, else NOT_FOUND.

    Where the reply split the claim, all parts must be supported, and one contradicted part contradicts it.
    """
    if not second:
        return replace(first, decided=False)
    proven = [entry for entry in second if evidence.holding(entry.quote)]
    contradicting = [entry for entry in proven if entry.support is Support.CONTRADICTED]
    supporting = [entry for entry in proven if entry.support is Support.SUPPORTED]
    if not contradicting and len(supporting) < len(second):
        pairs = _without_support(first.pairs)
        return replace(first, support=Support.NOT_FOUND, quote="", pairs=pairs, confidence=None)
    chosen = (contradicting or supporting)[0]
    pairs = {**first.pairs, **chosen.pairs}
    return replace(chosen, number=first.number, text=first.text, in_answer=first.in_answer, pairs=pairs)


def _without_support(pairs: Mapping[int, Support]) -> dict[int, Support]:
    """Pair verdicts that do not say more than the claim's own: nothing supports what was not found."""
    return {rank: Support.NOT_FOUND if says is Support.SUPPORTED else says for rank, says in pairs.items()}
