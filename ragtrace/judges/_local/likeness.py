"""Does an answer say what a reference says? Both answer the same question: its own words prove nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ragtrace.judges._local.claims import ClaimText, count_negations
from ragtrace.judges._local.estimate import constants
from ragtrace.text.numbers import Relation, compare
from ragtrace.text.tokens import content

_PIECE = 4
_BRIEF = 8
_DENIED_WITHIN = 3
_COUNTS = frozenset({"count", "ordinal", "frequency"})
_AGREES = frozenset({Relation.SAME, Relation.UNIT})
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


def is_taken_from(answer: ClaimText, reference: ClaimText, question: ClaimText) -> bool:
    """Whether a brief ``answer`` is a part of a longer ``reference``: all that it says beyond the question
    stands there, in this order, with the same numbers, and undenied. "Canberra" is in "Canberra, not Sydney";
    "Sydney" is denied there."""
    asked = frozenset(question.tokens)
    new = [token for token in answer.tokens if token not in asked]
    if not 0 < len(new) <= _BRIEF or len(answer.tokens) >= len(reference.tokens):
        return False
    return (
        _in_order(new, reference.tokens)
        and not _numbers_missing(reference, answer)
        and not _is_denied(new[0], answer, reference)
    )


def numbers_differ(answer: ClaimText, reference: ClaimText, measured: bool = False) -> bool:
    """Whether a number of the reference stands in the answer with another value, and nowhere with its own.
    ``measured`` = only numbers with a unit of measurement, dates and times: in a long text two counts may
    count different things."""
    for wanted in reference.quantities:
        if measured and wanted.dimension in _COUNTS:
            continue
        relations = {compare(wanted, said) for said in answer.quantities}
        if Relation.CONFLICT in relations and not relations & _AGREES:
            return True
    return False


def _in_order(wanted: Sequence[str], held: Sequence[str]) -> bool:
    rest = iter(held)
    return all(token in rest for token in wanted)


def _is_denied(first: str, answer: ClaimText, reference: ClaimText) -> bool:
    """Whether the reference negates what the answer begins with. In English by one of the words before it; in
    Chinese, where the reach of a negation does not show, by any that the answer has not."""
    if reference.negations <= answer.negations:
        return False
    if reference.language == "zh":
        return True
    words = reference.words
    places = [place for place, word in enumerate(words) if first in content((word,))]
    before = [words[max(0, place - _DENIED_WITHIN) : place] for place in places]
    return all(count_negations("", near) for near in before)


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
    return sum(
        not any(compare(wanted, said) in _AGREES for said in answer.quantities)
        for wanted in reference.quantities
    )
