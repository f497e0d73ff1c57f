"""Where a claim states another quantity than its evidence, in the same surroundings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from ragtrace.judges._local.claims import ClaimText
from ragtrace.judges._local.conflicts import Conflict
from ragtrace.judges._local.corpus import Corpus, Evidence
from ragtrace.judges._local.passages import Passage, in_one_clause
from ragtrace.model import Language
from ragtrace.text.numbers import (
    Quantity,
    Relation,
    compare,
    is_same_number_of_else,
    is_written_apart,
    lies_between,
)
from ragtrace.text.tokens import content, words

_SLOT = 0.45
"""A found quantity is taken to answer the same as the claimed one from this agreement of their surroundings
on."""
_MARGIN = 0.12
_MARGIN_BESIDE = 0.25
"""A passage that has the claimed quantity too must place the other one much better."""
_SLOT_DISTINCT = 0.3
_DISTINCT = frozenset(
    {"frequency", "percent", "temperature", "mass", "volume", "clock", "age", "speed", "data"}
)
"""Kinds of quantity of which a passage seldom holds two: their surroundings need agree less."""
_OTHER_UNIT = 0.15
"""Of several, days and years seldom answer the same question: their surroundings must agree the better."""


@dataclass(frozen=True, slots=True)
class _Match:
    """A found quantity and how well its surroundings agree with those of the claimed one."""

    slot: float
    found: Quantity
    passage: Passage


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The wording of a claim, and of the clause that a quantity of it stands in.

    Without the currency: that two prices are in euro does not make them prices of the same thing.
    """

    claim: frozenset[str]
    clause: frozenset[str]

    @staticmethod
    def of(claim: ClaimText, quantity: Quantity, near: frozenset[str]) -> _Surroundings:
        own = frozenset(content(words(quantity.text)))
        if quantity.dimension.startswith("money"):
            return _Surroundings(claim.wording - own, near - own)
        if near <= own and not claim.wording <= own:  # "18 days: …" stands in no surroundings of its own
            return _Surroundings(claim.wording, frozenset())
        return _Surroundings(claim.wording, near)


def quantity_conflicts(claim: ClaimText, evidence: Evidence, corpus: Corpus) -> Iterator[Conflict]:
    """Where a quantity of ``claim`` is another than the one that stands in the same surroundings."""
    for claimed, near in zip(claim.quantities, claim.surroundings, strict=True):
        passages = tuple(dict.fromkeys((*evidence.passages, *_with_same_digits(claimed, corpus))))
        matches = tuple(_matches(_Surroundings.of(claim, claimed, near), claimed, passages))
        agreeing = [match for relation, match in matches if relation is not Relation.CONFLICT]
        spanned = any(_is_spanned(claimed, passage) for passage in passages)
        rival = None if spanned else _rival(claim, claimed, matches)
        if rival is not None and is_written_apart(claim.normal, claimed, rival.passage.normal, rival.found):
            continue
        if rival is not None and _is_of_another_case(claim, claimed, rival, agreeing):
            continue
        if rival is not None and _outweighs(rival, claimed, agreeing):
            yield _quantity_conflict(claim, claimed, rival)
        elif agreeing:
            nearest = max(matches, key=lambda pair: (pair[1].slot, pair[0] is Relation.SAME))
            if nearest[0] is Relation.UNIT:
                yield Conflict("unit", claimed.text, nearest[1].found.text, nearest[1].passage)


def _is_of_another_case(
    claim: ClaimText, claimed: Quantity, rival: _Match, agreeing: Sequence[_Match]
) -> bool:
    """Whether the passage has both values, and the claimed one beside another quantity of the claim: 10 days
    after ten years, although 5 after one."""
    others = [quantity for quantity in claim.quantities if quantity is not claimed]
    here = [match for match in agreeing if match.passage is rival.passage]
    return any(_is_beside(match, others) for match in here) and not _is_beside(rival, others)


def _is_beside(match: _Match, others: Sequence[Quantity]) -> bool:
    """Whether one of ``others`` stands in the clause of the found quantity."""
    return any(
        compare(other, near) in {Relation.SAME, Relation.UNIT}
        and in_one_clause(match.passage.normal, match.found, near)
        for near in match.passage.quantities
        if near is not match.found
        for other in others
    )


def _is_spanned(claimed: Quantity, passage: Passage) -> bool:
    return any(lies_between(claimed, low, high) for low, high in pairwise(passage.quantities))


def _quantity_conflict(claim: ClaimText, claimed: Quantity, rival: _Match) -> Conflict:
    said, found = claimed.text, rival.found.text
    same_figures = (claimed.low, claimed.high) == (rival.found.low, rival.found.high)
    if claimed.bound != rival.found.bound and same_figures:  # others differ in the document's own words
        said, found = (_with_bound(quantity, claim.language) for quantity in (claimed, rival.found))
    return Conflict("quantity", said, found, rival.passage)


_BOUNDS = {
    "en": {"": "", "at_least": "at least ", "at_most": "at most "},
    "zh": {"": "", "at_least": "至少", "at_most": "至多"},
}


def _with_bound(quantity: Quantity, language: Language) -> str:
    return _BOUNDS[language][quantity.bound] + quantity.text


def _outweighs(rival: _Match, claimed: Quantity, agreeing: Sequence[_Match]) -> bool:
    """Whether ``rival`` stands where the claimed quantity should, and no agreeing one nearly as well does."""
    meant = [match for match in agreeing if match.found.bound == claimed.bound]
    if claimed.bound and meant and rival.found.bound != claimed.bound:
        return False
    if not agreeing:
        return rival.slot >= (_SLOT_DISTINCT if claimed.dimension in _DISTINCT else _SLOT)
    margins = (_MARGIN_BESIDE if match.passage is rival.passage else _MARGIN for match in agreeing)
    needed = max(match.slot + margin for match, margin in zip(agreeing, margins, strict=True))
    return rival.slot >= max(_SLOT, needed)


def _with_same_digits(claimed: Quantity, corpus: Corpus) -> Iterator[Passage]:
    """Passages outside the evidence that may state the quantity: they hold its first number."""
    for token in content(words(claimed.text))[:1]:
        yield from (corpus.passages[index] for index in islice(corpus.holders(token), _FEW))


_FEW = 3


def _matches(
    around: _Surroundings, claimed: Quantity, passages: Sequence[Passage]
) -> Iterator[tuple[Relation, _Match]]:
    for passage in passages:
        for found in passage.quantities:
            relation = compare(claimed, found)
            if relation is Relation.UNRELATED and is_same_number_of_else(claimed, found):
                relation = Relation.CONFLICT
            if relation is not Relation.UNRELATED:
                yield relation, _Match(_slot(around, passage, found), found, passage)


def _rival(claim: ClaimText, claimed: Quantity, matches: Sequence[tuple[Relation, _Match]]) -> _Match | None:
    """The best match that contradicts the claimed quantity and is not what the claim says elsewhere."""
    others = [quantity for quantity in claim.quantities if quantity is not claimed]
    against = (_discounted(match, claimed) for relation, match in matches if relation is Relation.CONFLICT)
    for match in sorted(against, key=lambda match: -match.slot):
        if match.slot < _SLOT_DISTINCT:
            return None
        if not any(compare(other, match.found) in {Relation.SAME, Relation.UNIT} for other in others):
            return match
    return None


def _discounted(match: _Match, claimed: Quantity) -> _Match:
    alike = [q for q in match.passage.quantities if q.dimension == claimed.dimension]
    same = match.found.unit == claimed.unit or is_same_number_of_else(claimed, match.found)
    return match if same or len(alike) == 1 else replace(match, slot=match.slot - _OTHER_UNIT)


def _slot(around: _Surroundings, passage: Passage, found: Quantity) -> float:
    """0..1: do the claimed and the found quantity stand in the same surroundings?"""
    if not around.claim:
        return 0.0
    overall = len(around.claim & passage.vocabulary) / len(around.claim)
    near = around.clause
    clause = len(near & passage.around(found)) / len(near) if near else overall
    return 0.5 * overall + 0.5 * clause
