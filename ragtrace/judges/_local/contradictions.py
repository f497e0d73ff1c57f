"""Where a claim says something else than its evidence: quantities, names, antonyms, negation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import islice, pairwise
from typing import Literal

from ragtrace.judges._local.claims import ClaimText, count_negations
from ragtrace.judges._local.corpus import Corpus, Evidence
from ragtrace.judges._local.passages import Passage
from ragtrace.judges._local.slots import rival_names
from ragtrace.model import Language
from ragtrace.text.lexicon import chinese, english
from ragtrace.text.numbers import Quantity, Relation, compare, is_same_number_of_else, lies_between
from ragtrace.text.tokens import content, stem, words

Kind = Literal["quantity", "unit", "name", "antonym", "negation"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """The claim says ``claimed`` where ``passage`` says ``found``. A ``unit`` conflict is a nuance, no
    contradiction."""

    kind: Kind
    claimed: str
    found: str
    passage: Passage

    @property
    def contradicts(self) -> bool:
        """Whether it alone makes the claim contradicted."""
        return self.kind != "unit"


def find_conflict(claim: ClaimText, evidence: Evidence, corpus: Corpus) -> Conflict | None:
    """The first conflict of ``claim`` with its evidence; one that contradicts comes before a nuance."""
    nuance = None
    for conflict in _conflicts(claim, evidence, corpus):
        if conflict.contradicts:
            return conflict
        nuance = nuance or conflict
    return nuance


def _conflicts(claim: ClaimText, evidence: Evidence, corpus: Corpus) -> Iterator[Conflict]:
    yield from _quantity_conflicts(claim, evidence, corpus)
    if len(claim.tokens) >= _SHORTEST:
        yield from _wording_conflicts(claim, evidence.best, corpus)


# --- quantities -------------------------------------------------------------------------------------------

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
"""Days and years seldom answer the same question: their surroundings must agree the better."""


@dataclass(frozen=True, slots=True)
class _Match:
    """A found quantity and how well its surroundings agree with those of the claimed one."""

    slot: float
    found: Quantity
    passage: Passage


def _quantity_conflicts(claim: ClaimText, evidence: Evidence, corpus: Corpus) -> Iterator[Conflict]:
    for claimed, near in zip(claim.quantities, claim.surroundings, strict=True):
        passages = tuple(dict.fromkeys((*evidence.passages, *_with_same_digits(claimed, corpus))))
        matches = tuple(_matches(claim, claimed, near, passages))
        agreeing = [match for relation, match in matches if relation is not Relation.CONFLICT]
        spanned = any(_is_spanned(claimed, passage) for passage in passages)
        rival = None if spanned else _rival(claim, claimed, matches)
        if rival is not None and _outweighs(rival, claimed, agreeing):
            yield _quantity_conflict(claim, claimed, rival)
        elif agreeing:
            nearest = max(matches, key=lambda pair: (pair[1].slot, pair[0] is Relation.SAME))
            if nearest[0] is Relation.UNIT:
                yield Conflict("unit", claimed.text, nearest[1].found.text, nearest[1].passage)


def _is_spanned(claimed: Quantity, passage: Passage) -> bool:
    return any(lies_between(claimed, low, high) for low, high in pairwise(passage.quantities))


def _quantity_conflict(claim: ClaimText, claimed: Quantity, rival: _Match) -> Conflict:
    said, found = claimed.text, rival.found.text
    if claimed.bound != rival.found.bound:
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
        yield from islice((passage for passage in corpus.passages if token in passage.vocabulary), _FEW)


_FEW = 3


def _matches(
    claim: ClaimText, claimed: Quantity, near: frozenset[str], passages: Sequence[Passage]
) -> Iterator[tuple[Relation, _Match]]:
    for passage in passages:
        for found, near_found in zip(passage.quantities, passage.surroundings, strict=True):
            relation = compare(claimed, found)
            if relation is Relation.UNRELATED and is_same_number_of_else(claimed, found):
                relation = Relation.CONFLICT
            if relation is not Relation.UNRELATED:
                yield relation, _Match(_slot(claim, near, passage, near_found), found, passage)


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
    same = match.found.unit == claimed.unit or is_same_number_of_else(claimed, match.found)
    return match if same else replace(match, slot=match.slot - _OTHER_UNIT)


def _slot(
    claim: ClaimText, near_claim: frozenset[str], passage: Passage, near_found: frozenset[str]
) -> float:
    """0..1: do the claimed and the found quantity stand in the same surroundings?"""
    if not claim.wording:
        return 0.0
    overall = len(claim.wording & passage.vocabulary) / len(claim.wording)
    clause = len(near_claim & near_found) / len(near_claim) if near_claim else overall
    return 0.5 * overall + 0.5 * clause


# --- wording ----------------------------------------------------------------------------------------------

_SHORTEST = 3
_ALIKE = 0.6
"""From this share of the claim's content on, the best passage speaks of the same fact."""
_ALIKE_NEGATION = 0.8
_LONGEST_SWAP = 4


def _wording_conflicts(claim: ClaimText, best: Passage, corpus: Corpus) -> Iterator[Conflict]:
    """Stretches that differ between wordings that are otherwise the same."""
    if claim.normal.rstrip(".。 ") in best.normal:
        return
    names = frozenset(part for name in claim.names for part in words(name) if part not in corpus.words)
    held = _share_held(claim, best, names)
    if held < _ALIKE:
        return
    if claim.language == "zh":
        yield from _rival_names(claim, best, corpus)
    for said, found in _differences(claim.words, best.words):
        kind = _difference_kind(said, found, names, best)
        if kind == "negation" and held < _ALIKE_NEGATION:
            continue
        if kind:
            yield Conflict(kind, _join(said) or claim.text, _join(found) or best.text, best)


def _rival_names(claim: ClaimText, best: Passage, corpus: Corpus) -> Iterator[Conflict]:
    for said, found in rival_names(claim.normal, best.normal):
        if said not in corpus.text:
            yield Conflict("name", said, found, best)


def _share_held(claim: ClaimText, best: Passage, names: frozenset[str]) -> float:
    """The share of the claim's content in the passage, strange names apart; 0 where little is left."""
    strange = frozenset(content(names))
    rest = [token for token in claim.tokens if token not in strange]
    return sum(token in best.vocabulary for token in rest) / len(rest) if len(rest) > 1 else 0.0


def _differences(said: Sequence[str], found: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Short stretches of ``said`` and ``found`` that differ, with equal words on both sides of them."""
    one, other = [stem(w) for w in said], [stem(w) for w in found]
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    steps = matcher.get_opcodes()
    for place, (tag, i1, i2, j1, j2) in enumerate(steps):
        if tag == "equal" or i2 - i1 > _LONGEST_SWAP or j2 - j1 > _LONGEST_SWAP:
            continue
        before = steps[place - 1] if place else None
        after = steps[place + 1] if place + 1 < len(steps) else None
        if (before is not None and after is not None) or (tag == "replace" and (before or after)):
            yield said[i1:i2], found[j1:j2]


def _difference_kind(
    said: Sequence[str], found: Sequence[str], names: frozenset[str], best: Passage
) -> Kind | None:
    if any(not _antonyms_of(word).isdisjoint(found) and word not in best.all_words for word in said):
        return "antonym"
    joined_said, joined_found = "".join(said), "".join(found)
    opposites = chinese().antonyms.get(joined_said, frozenset())
    if joined_said not in best.normal and any(opposite in joined_found for opposite in opposites):
        return "antonym"
    if found and not names.isdisjoint(said):
        return "name"
    negated = count_negations(joined_said, tuple(said)), count_negations(joined_found, tuple(found))
    return "negation" if (negated[0] == 0) != (negated[1] == 0) else None


def _antonyms_of(word: str) -> frozenset[str]:
    return english().antonyms.get(word, frozenset())


def _join(tokens: Sequence[str]) -> str:
    return "".join(tokens) if tokens and tokens[0] > "\u2fff" else " ".join(tokens)
