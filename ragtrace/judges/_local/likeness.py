"""Does an answer say what a reference says? Both answer the same question: its own words prove nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ragtrace.judges._local.claims import ClaimText
from ragtrace.judges._local.estimate import constants
from ragtrace.text.numbers import Relation, compare

_PIECE = 4
_MOST_NUMBERS = 3


def likeness(answer: ClaimText, reference: ClaimText, question: ClaimText) -> float:
    """The probability that ``answer`` says what ``reference`` says."""
    estimate = constants().likeness[reference.language]
    return estimate.probability(likeness_features(answer, reference, question))


def likeness_features(answer: ClaimText, reference: ClaimText, question: ClaimText) -> dict[str, float]:
    """What the likeness is estimated from. Words of the question count in ``overlap`` alone."""
    said, wanted = _content(answer), _content(reference)
    asked = frozenset(question.tokens)
    new_said = [token for token in said if token not in asked]
    new_wanted = [token for token in wanted if token not in asked] or wanted
    return {
        "recall": _share(new_wanted, {*said, *answer.words}),
        "precision": _share(new_said, set(wanted)),
        "overlap": _overlap(said, wanted),
        "pieces": _pieces(answer, reference),
        "numbers": -min(_MOST_NUMBERS, _numbers_missing(answer, reference)),
        "negation": -float((reference.negations > 0) != (answer.negations > 0)),
    }


def _content(claim: ClaimText) -> Sequence[str]:
    return claim.tokens or claim.words


def _share(tokens: Sequence[str], known: set[str]) -> float:
    return sum(token in known for token in tokens) / len(tokens) if tokens else 0.0


def _overlap(one: Sequence[str], other: Sequence[str]) -> float:
    """F1 of two bags of tokens."""
    shared = sum((Counter(one) & Counter(other)).values())
    return 2 * shared / (len(one) + len(other)) if shared else 0.0


def _pieces(answer: ClaimText, reference: ClaimText) -> float:
    """The share of the reference's pieces of four characters that the answer holds: names spelt otherwise."""
    text, wanted = (f" {' '.join(claim.words)} " for claim in (answer, reference))
    pieces = [wanted[place : place + _PIECE] for place in range(max(1, len(wanted) - _PIECE + 1))]
    return sum(piece in text for piece in pieces) / len(pieces)


def _numbers_missing(answer: ClaimText, reference: ClaimText) -> int:
    agrees = {Relation.SAME, Relation.UNIT}
    return sum(
        not any(compare(wanted, said) in agrees for said in answer.quantities)
        for wanted in reference.quantities
    )
