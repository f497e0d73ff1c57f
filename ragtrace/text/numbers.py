"""Quantities in text, English and Chinese: numbers with their units, ranges, dates, times of day.

:func:`quantities` finds them; :func:`compare` says whether two of them can both be true of the same thing.
The text is expected as :func:`ragtrace.text.tokens.normalise` leaves it (NFKC, lower case, simplified).
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from enum import StrEnum

from ragtrace.text._quantities import Quantity, quantities
from ragtrace.text.lexicon import units

__all__ = [
    "Quantity",
    "Relation",
    "compare",
    "is_same_number_of_else",
    "is_written_apart",
    "lies_between",
    "quantities",
]


class Relation(StrEnum):
    """How a quantity stands to another.

    ``SAME``: both can be true. ``UNIT``: equal numbers whose units differ in a nuance (working days, days).
    ``CONFLICT``: of the same kind, and not both true. ``UNRELATED``: they measure different things.
    """

    SAME = "same"
    UNIT = "unit"
    CONFLICT = "conflict"
    UNRELATED = "unrelated"


_NUANCED = {"working_day": "day", "night": "day"}
_NAMED = frozenset({"count", "ordinal", "frequency"})
"""Dimensions whose unit names what is counted: 23 pictures and 23 works may be the same thing said
otherwise."""
_UNMEASURED = frozenset({"count", "ordinal", "frequency", "date", "clock", "times", "decade_of"})
"""Dimensions without units of measurement."""
_YEARS_OLD = {"year", "year_old"}
_TELLING = 10
"""Smaller counts are equal by chance too often."""
_APPROXIMATE = 0.05
_CONVERTED = 0.02


def compare(claimed: Quantity, found: Quantity) -> Relation:
    """How the ``claimed`` quantity stands to one ``found`` in a document, if both speak of the same thing."""
    if claimed.dimension == "date" or found.dimension == "date":
        return _compare_dates(claimed, found)
    if claimed.dimension != found.dimension:
        return _compare_dimensions(claimed, found)
    if claimed.dimension == "clock":
        return _compare_clocks(claimed, found)
    if claimed.dimension in _NAMED and claimed.unit and found.unit and claimed.unit != found.unit:
        counted = claimed.dimension == "count" and claimed.low >= _TELLING
        return Relation.SAME if counted and _equal(claimed, found, 0.0) else Relation.UNRELATED
    return _compare_values(claimed, found)


def is_same_number_of_else(claimed: Quantity, found: Quantity) -> bool:
    """Whether both are measured, with equal numbers, in units that do not convert: 30 dollars and 30 %."""
    dimensions = {claimed.dimension, found.dimension}
    return (
        len(dimensions) == 2
        and (claimed.low, claimed.high) == (found.low, found.high)
        and dimensions.isdisjoint(_UNMEASURED)
        and compare(claimed, found) is not Relation.SAME
    )


def _compare_dimensions(claimed: Quantity, found: Quantity) -> Relation:
    bare = "count"
    dimensions = {claimed.dimension, found.dimension}
    if bare in dimensions and not (claimed.unit and found.unit):
        return Relation.SAME if _equal(claimed, found, 0.0) else Relation.UNRELATED
    if claimed.dimension.startswith("money") and found.dimension.startswith("money"):
        return Relation.CONFLICT
    if {claimed.unit, found.unit} == _YEARS_OLD:
        return _compare_values(claimed, replace(found, unit=claimed.unit, dimension=claimed.dimension))
    return Relation.UNRELATED


def _compare_dates(claimed: Quantity, found: Quantity) -> Relation:
    shared = [
        (a, b) for a, b in zip(claimed.date, found.date, strict=True) if a is not None and b is not None
    ]
    if not shared:
        return Relation.UNRELATED
    return Relation.SAME if all(a == b for a, b in shared) else Relation.CONFLICT


def _compare_clocks(claimed: Quantity, found: Quantity) -> Relation:
    difference = abs(claimed.low - found.low)
    vague = not (claimed.unit and found.unit)
    return Relation.SAME if difference == 0 or (vague and difference == 720) else Relation.CONFLICT


def _compare_values(claimed: Quantity, found: Quantity) -> Relation:
    converted = claimed.unit != found.unit and claimed.dimension not in {"count", "ordinal"}
    tolerance = _CONVERTED if converted else 0.0
    if claimed.approximate or found.approximate:
        tolerance = max(tolerance, _APPROXIMATE)
    if {claimed.bound, found.bound} == {"at_least", "at_most"}:
        return Relation.CONFLICT
    if _is_rounded_down(claimed, found):
        return Relation.SAME
    if not _equal(claimed, found, tolerance) and not _within(claimed, found):
        if claimed.dimension == "data" and _equal_in_1024s(claimed, found):
            return Relation.SAME
        return Relation.CONFLICT
    if converted and _NUANCED.get(claimed.unit, claimed.unit) == _NUANCED.get(found.unit, found.unit):
        return Relation.UNIT
    return Relation.SAME


def _equal(one: Quantity, other: Quantity, tolerance: float) -> bool:
    return _near(_base(one, one.low), _base(other, other.low), tolerance) and _near(
        _base(one, one.high), _base(other, other.high), tolerance
    )


def _equal_in_1024s(one: Quantity, other: Quantity) -> bool:
    """Sizes of data count in steps of 1,000 or of 1,024, and few texts say in which."""
    return all(
        _near(a * 1024 ** _STEPS.get(one.unit, 0), b * 1024 ** _STEPS.get(other.unit, 0), 0.0)
        for a, b in ((one.low, other.low), (one.high, other.high))
    )


_STEPS = {"kb": 1, "mb": 2, "gb": 3, "tb": 4}


def _within(claimed: Quantity, found: Quantity) -> bool:
    """A single claimed value inside a found range: not what the document says, but not against it."""
    low, high, point = _base(found, found.low), _base(found, found.high), _base(claimed, claimed.low)
    return claimed.low == claimed.high and low < high and low <= point <= high


def _is_rounded_down(claimed: Quantity, found: Quantity) -> bool:
    """ "Over 400 works", where there are 443. Only of counts: what a policy asks for, at least 24 hours, is
    contradicted by 28."""
    if (claimed.bound, found.bound, claimed.dimension) != ("at_least", "", "count"):
        return False
    return claimed.low >= _TELLING and claimed.low <= found.low <= _ROUNDED * claimed.low


_ROUNDED = 1.2
"""How far above a round number a count is still called "over" it."""


def lies_between(point: Quantity, low: Quantity, high: Quantity) -> bool:
    """Whether ``low`` and ``high`` bound a span that ``point`` lies in: two years, of "one year to less than
    three"."""
    if not point.dimension == low.dimension == high.dimension:
        return False
    if (low.bound, high.bound) != ("at_least", "at_most"):
        return False
    return _base(low, low.low) <= _base(point, point.low) <= _base(high, high.high)


def is_written_apart(text: str, quantity: Quantity, other_text: str, other: Quantity) -> bool:
    """Whether one of two quantities, each in its text, is a piece of the other number, which a tokeniser or a
    line break has cut: ``3 , 000`` is 3,000 and not 3 or 0. A list of numbers looks the same, so such numbers
    are not read as one; but neither does a piece contradict the whole."""
    return quantity.low in _joined(other_text, other) or other.low in _joined(text, quantity)


def _joined(text: str, piece: Quantity) -> frozenset[float]:
    """The numbers that ``piece``, a quantity of ``text``, makes when put together with its neighbours."""
    return frozenset(
        float(re.sub("[ ,]", "", match[0]))
        for match in _APART.finditer(text)
        if " " in match[0] and match.start() < piece.end and piece.start < match.end()
    )


_APART = re.compile(r"\d{1,3}(?: ?, ?\d{3})+(?: ?\. ?\d+)?(?!\d)|\d+ ?\. ?\d+(?!\d)")
"""A number with thousands or a fraction, spaces allowed at its signs."""


def _near(one: float, other: float, tolerance: float) -> bool:
    return math.isclose(one, other, rel_tol=max(tolerance, 1e-9))


def _base(quantity: Quantity, number: float) -> float:
    """``number`` units in the base unit of the dimension (seconds, metres, grams …)."""
    if quantity.dimension == "temperature" and quantity.unit == "fahrenheit":
        return (number - 32) * 5 / 9
    row = units()["units"].get(quantity.dimension, {}).get(quantity.unit)
    return number * row["factor"] if row else number
