"""Quantities in text, English and Chinese: numbers with their units, ranges, dates, times of day.

:func:`quantities` finds them; :func:`compare` says whether two of them can both be true of the same thing.
The text is expected as :func:`ragtrace.text.tokens.normalise` leaves it (NFKC, lower case, simplified).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from typing import Literal

from ragtrace.text._numerals import value
from ragtrace.text.lexicon import english, units

Bound = Literal["", "at_least", "at_most"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity at characters [start, end) of the text; ``text`` is how it is written there.

    ``low`` and ``high`` are equal except for a range, in multiples of ``unit``. ``dimension`` is a dimension of
    measurement (``duration``, ``length``, ``money_usd`` …), ``count`` (``unit`` is the thing counted, ``""`` where
    it is not said), ``ordinal``, ``date`` (``date`` holds year, month, day; ``None`` where not said) or ``clock``
    (minutes after midnight). ``bound`` and ``approximate`` say how strictly it is meant.
    """

    text: str
    start: int
    end: int
    low: float
    high: float
    dimension: str
    unit: str = ""
    bound: Bound = ""
    approximate: bool = False
    date: tuple[int | None, int | None, int | None] = (None, None, None)


class Relation(StrEnum):
    """How a quantity stands to another.

    ``SAME``: both can be true. ``UNIT``: equal numbers whose units differ in a nuance (working days, days).
    ``CONFLICT``: of the same kind, and not both true. ``UNRELATED``: they measure different things.
    """

    SAME = "same"
    UNIT = "unit"
    CONFLICT = "conflict"
    UNRELATED = "unrelated"


# --- finding ----------------------------------------------------------------------------------------------

_HAS_NUMBER = re.compile(r"[\d一二两三四五六七八九十百千万半]|\b(?:half|dozen|hundred|thousand|million)\b")
_DASH = r"(?:-|–|—|~|～|至|到|\bto\b|\bor\b|或)"
_ZH = "零〇一二两三四五六七八九十百千万亿"
_ARABIC = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_MAGNITUDE = (
    r"(?:\s?(?:hundred|thousand|million|billion|trillion|mn|bn|tn)\b|(?<=\d)[km](?![a-z\d/])|\s?[万亿千百]+)"
)


@cache
def _scanner() -> re.Pattern[str]:
    """One pass over a text: the first alternative that fits at a place is the kind of quantity there."""
    lexicon = english()
    months = "|".join(sorted(lexicon.months, key=len, reverse=True))
    words = "|".join(sorted((*lexicon.number_words, *lexicon.magnitudes, "dozen"), key=len, reverse=True))
    spoken = rf"\b(?:half(?=\s+an?\b)|(?:{words})(?:(?:\s+and\s+|-|\s+)(?:{words}))*)\b"
    number = rf"(?:(?:{_ARABIC}){_MAGNITUDE}?|{spoken}|[{_ZH}]+(?:点[{_ZH}]+)?|半)"
    names = _unit_names()
    sign = "|".join(re.escape(s) for s in sorted(units()["prefixes"], key=len, reverse=True))
    unit = "|".join(
        re.escape(n) + (r"(?![a-z])" if n[-1].isascii() and n[-1].isalpha() else "") for n in names
    )
    zh_day = rf"(?:\d{{1,2}}|[{_ZH}]{{1,3}})"
    alternatives = {
        "date": rf"(?<![\d.])(?:1\d|20)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.](?:[12]\d|3[01]|0?[1-9])(?!\d)"
        rf"|(?:\d{{4}}|[{_ZH}]{{4}})\s?年(?!代)\s?(?:{zh_day}\s?月\s?(?:{zh_day}\s?[日号])?)?"
        rf"|{zh_day}\s?月\s?(?:{zh_day}\s?[日号]|份)"
        rf"|\b(?:{months})\b\.?\s(?:the\s)?\d{{1,2}}(?:st|nd|rd|th)?(?!\d|:)(?:,?\s(?:1\d|20)\d\d(?!\d))?"
        rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?(?:{months})\b(?:,?\s(?:1\d|20)\d\d(?!\d))?"
        rf"|\b(?:{months})\b,?\s(?:of\s)?(?:1\d|20)\d\d(?!\d)",
        "clock": rf"(?<![\d:.])(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d)?(?!\d|:)(?:\s?[ap]\.?m\b)?"
        rf"|(?<![\d:.])\d{{1,2}}(?:\.[0-5]\d)?\s?[ap]\.?m\b"
        rf"|(?:凌晨|早上|上午|中午|下午|傍晚|晚上|晚间|早|晚)\s?(?:\d{{1,2}}|[{_ZH}]{{1,3}})(?:点|时|:)(?:半|[0-5]\d分?|[{_ZH}]{{2,3}}分?)?"
        r"|\bnoon\b|\bmidnight\b",
        "frequency": rf"\b(?:once|twice|(?:{words}|\d+)\stimes)\s(?:a\s|an\s|per\s|each\s|every\s)?(?:day|week|month|year|hour|daily|weekly|monthly|yearly|annually)\b"
        rf"|[每一](?:天|日|周|星期|个?月|年|晚|小时)\s?(?:只|可|最多|至多|须|需)?\s?(?:吃|服用|口服|服|使用|涂抹|涂|用|享受|举行|安排|体检)?\s?(?:\d+|[{_ZH}]+)次",
        "fraction": rf"百分之\s?(?:{_ARABIC}|[{_ZH}点]+)(?:\s?{_DASH}\s?(?:百分之)?\s?(?:{_ARABIC}|[{_ZH}点]+))?",
        "ordinal": rf"第\s?(?:\d+|[{_ZH}]+)|(?<![\w.,])\d+(?:st|nd|rd|th)\b",
        "year": r"(?<![\w.,$€£¥:/-])(?:1[0-9]|20)\d\d(?:[-–/](?:\d\d){1,2})?(?!\w|[%°]|,\d|\.\d|[-/]\d)",
        "number": rf"(?:(?P<sign>{sign})\s?)?(?<![a-z\d.\[/])(?<!\d,)(?<![a-z]-){number}"
        rf"(?:[\s-]?(?P<first>{unit}))?"
        rf"(?:\s{{0,2}}{_DASH}\s?(?:(?:{sign})\s?)?{number}(?:[\s-]?(?P<unit>{unit}))?)?",
    }
    return re.compile("|".join(f"(?P<{name}>{body})" for name, body in alternatives.items()))


def _not_before(name: str) -> str:
    """What must not follow a unit's name, so that it is no piece of a longer word."""
    if name[-1].isascii() and name[-1].isalpha():
        return r"(?![a-z])"
    return {"年": "(?![代级轻度底初末终])", "分": "(?![之公别类])", "天": "(?![然气])", "月": "(?!份)"}.get(name, "")


@cache
def _unit_names() -> tuple[str, ...]:
    known = [name for rows in units()["units"].values() for row in rows.values() for name in row["names"]]
    return tuple(sorted({*known, *units()["measures"]}, key=len, reverse=True))


@cache
def _unit_of_name() -> dict[str, tuple[str, str]]:
    return {
        name: (dimension, unit)
        for dimension, rows in units()["units"].items()
        for unit, row in rows.items()
        for name in row["names"]
    }


@lru_cache(maxsize=8192)
def quantities(text: str) -> tuple[Quantity, ...]:
    """The quantities of ``text``, in its order."""
    if not _HAS_NUMBER.search(text) and not _spoken_number().search(text):
        return ()
    return tuple(_scan(text))


@cache
def _spoken_number() -> re.Pattern[str]:
    words = {*english().number_words, *english().magnitudes, *english().ordinals, "noon", "midnight"}
    return re.compile(rf"\b(?:{'|'.join(words)})\b")


def _scan(text: str) -> Iterator[Quantity]:
    text = _BETWEEN.sub(r"\1  to ", text)
    for match in _scanner().finditer(text):
        kind = match.lastgroup or "number"
        reader = _READERS.get(kind, _read_number)
        found = reader(match, text)
        if found is not None:
            yield _with_bounds(found, text)


_BETWEEN = re.compile(r"(\bbetween [\d.,]+(?: ?%| [a-z]+)?) and (?=\d)")
"""Rewritten in equal length, so that places in the text stay what they are."""


def _read_date(match: re.Match[str], text: str) -> Quantity | None:
    year, month, day = _date_fields(match[0])
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return None
    return _quantity(match, 0.0, 0.0, "date", date=(year, month, day))


def _date_fields(written: str) -> tuple[int | None, int | None, int | None]:
    numbers = [value(part) for part in re.findall(rf"\d+|[{_ZH}]+", written)]
    parts = [int(number) for number in numbers if number is not None]
    if re.search("[年月]", written):
        year = parts.pop(0) if "年" in written else None
        month = parts.pop(0) if "月" in written and parts else None
        return year, month, parts.pop(0) if parts else None
    name = re.search(r"[a-z]{3,}", re.sub(r"\d(?:st|nd|rd|th)|\bthe\b|\bof\b", " ", written))
    if name is None:
        return parts[0], parts[1], parts[2]
    year = next((part for part in parts if part > 31), None)
    return year, english().months.get(name[0]), next((part for part in parts if part <= 31), None)


def _read_year(match: re.Match[str], text: str) -> Quantity | None:
    return _quantity(match, 0.0, 0.0, "date", date=(int(match[0][:4]), None, None))


def _read_clock(match: re.Match[str], text: str) -> Quantity | None:
    written = match[0]
    if written in {"noon", "midnight"}:
        minutes = 720.0 if written == "noon" else 0.0
        return _quantity(match, minutes, minutes, "clock", unit="exact")
    numbers = [value(n) for n in re.findall(rf"\d+|[{_ZH}]+", written)]
    parts = [n for n in numbers if n is not None]
    hour, minute = parts[0], parts[1] if len(parts) > 1 else (30.0 if written.endswith("半") else 0.0)
    afternoon = re.search(r"p\.?m|下午|傍晚|晚", written) is not None
    morning = re.search(r"a\.?m|凌晨|早|上午", written) is not None
    if afternoon and hour < 12:
        hour += 12
    if morning and hour == 12:
        hour = 0
    exact = afternoon or morning or hour > 12 or written[0] == "0"
    minutes = hour * 60 + minute
    return _quantity(match, minutes, minutes, "clock", unit="exact" if exact else "")


_PERIODS = {"天": "day", "日": "day", "晚": "day", "dai": "day", "周": "week", "星": "week", "月": "month", "年": "year",
            "yea": "year", "ann": "year", "小": "hour"}  # fmt: skip


def _read_frequency(match: re.Match[str], text: str) -> Quantity | None:
    written = match[0]
    if written[0] in "每一":
        number = value(re.findall(rf"\d+|[{_ZH}]+", written[1:])[-1])
        period = _PERIODS[written[1:].lstrip("个")[0]]
    else:
        first, *_, last = written.split()
        number = {"once": 1.0, "twice": 2.0}.get(first) or value(first)
        period = _PERIODS.get(last[:3], last.removesuffix("ly"))
    return None if number is None else _quantity(match, number, number, "frequency", unit=period)


def _read_ordinal(match: re.Match[str], text: str) -> Quantity | None:
    number = value(re.sub(r"[第\s]|st$|nd$|rd$|th$", "", match[0]))
    if number is None:
        return None
    measure = text[match.end() : match.end() + 1] if match[0][0] == "第" else ""
    return _quantity(match, number, number, "ordinal", unit=measure if measure in units()["measures"] else "")


def _read_fraction(match: re.Match[str], text: str) -> Quantity | None:
    numbers = [value(n) for n in re.findall(rf"{_ARABIC}|[{_ZH}点]+", match[0].replace("百分之", " "))]
    parts = [n for n in numbers if n is not None]
    return _quantity(match, min(parts), max(parts), "percent", unit="percent") if parts else None


def _read_number(match: re.Match[str], text: str) -> Quantity | None:
    written = match[0].rstrip(" -")
    sign, unit_name = match["sign"], match["unit"] or match["first"]
    body = written[len(sign) :] if sign else written
    if unit_name == "s" and re.fullmatch(r"\d{4}s", written):
        return None  # a decade: neither a year nor seconds
    parts = [part for part in (_leading_value(p) for p in _split_range(body)) if part is not None]
    if not parts:
        return None
    if len(parts) > 1 and parts[0] > parts[1]:
        parts = parts[:1] if parts[0] > parts[1] * 1000 else sorted(parts)
    dimension, unit = _measure(sign, unit_name, text[match.end() :])
    if _is_idiom(written, unit_name, dimension):
        return None
    return _quantity(match, parts[0], parts[-1], dimension, unit=unit, end=match.start() + len(written))


def _is_idiom(written: str, unit_name: str | None, dimension: str) -> bool:
    """Whether it only looks like a number: 一个 (a), 一致 (agree), 十分 (very), one (somebody)."""
    if written[0] <= "\u2fff":
        return written == "one" and not unit_name
    digits = re.sub(f"[^{_ZH}]", "", written)
    return len(digits) < 2 and (unit_name is None or (digits == "一" and dimension == "count"))


_RANGE = re.compile(rf"\s{{0,2}}{_DASH}\s?")


def _split_range(body: str) -> list[str]:
    if re.match(r"[a-z]+-[a-z]+$", body.strip()):
        return [body]
    return [part for part in _RANGE.split(body) if part.strip()]


_LEADING = re.compile(rf"[^\d{_ZH}a-z半]*((?:{_ARABIC}){_MAGNITUDE}?|[{_ZH}点]+|半|[a-z][a-z\s-]*)")


@lru_cache(maxsize=4096)
def _leading_value(part: str) -> float | None:
    match = _LEADING.match(part)
    if match is None:
        return None
    number = value(match[1])
    if number is None and match[1][0].isalpha():
        words = match[1].split()
        return next(
            (v for n in range(len(words), 0, -1) if (v := value(" ".join(words[:n]))) is not None), None
        )
    return number


def _measure(sign: str | None, unit_name: str | None, after: str) -> tuple[str, str]:
    if sign:
        unit = units()["prefixes"][sign]
        return f"money_{unit}", unit
    if unit_name:
        return _unit_of_name().get(unit_name, ("count", _THINGS.get(unit_name, unit_name)))
    noun = re.match(r"[\s-]?([a-z]{3,})", after)
    return "count", _noun(noun[1]) if noun else ""


_THINGS = {"名": "人", "位": "人", "个人": "人", "口": "人", "个": ""}
"""Chinese measure words that count the same; 个 counts anything."""


def _noun(word: str) -> str:
    if word in english().stop:
        return ""
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


_BEFORE = 14
_AFTER = 9


def _with_bounds(found: Quantity, text: str) -> Quantity:
    before, after = text[max(0, found.start - _BEFORE) : found.start], text[found.end : found.end + _AFTER]
    bound: Bound = ""
    if _bound_words("at_least").search(before) or _bound_words("at_least_after").match(after):
        bound = "at_least"
    elif _bound_words("at_most").search(before) or _bound_words("at_most_after").match(after):
        bound = "at_most"
    approximate = _bound_words("approximate").search(before) is not None or after[:2] in {"左右", "上下"}
    return replace(found, bound=bound, approximate=approximate) if bound or approximate else found


@cache
def _bound_words(name: str) -> re.Pattern[str]:
    words = "|".join(re.escape(w) for w in sorted(units()[name], key=len, reverse=True))
    return re.compile(rf"\s?(?:{words})" if name.endswith("after") else rf"(?:{words})\s?(?:the\s)?$")


def _quantity(
    match: re.Match[str],
    low: float,
    high: float,
    dimension: str,
    unit: str = "",
    date: tuple[int | None, int | None, int | None] = (None, None, None),
    end: int | None = None,
) -> Quantity:
    stop = match.end() if end is None else end
    text = match.string[match.start() : stop].strip()
    return Quantity(text, match.start(), stop, low, high, dimension, unit, date=date)


_READERS: dict[str, Callable[[re.Match[str], str], Quantity | None]] = {
    "date": _read_date,
    "clock": _read_clock,
    "frequency": _read_frequency,
    "fraction": _read_fraction,
    "ordinal": _read_ordinal,
    "year": _read_year,
}


# --- comparing --------------------------------------------------------------------------------------------

_NUANCED = {"working_day": "day", "night": "day"}
_NAMED = frozenset({"count", "ordinal", "frequency"})
"""Dimensions whose unit names what is counted: 23 pictures and 23 works may be the same thing said otherwise."""
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


def _compare_dimensions(claimed: Quantity, found: Quantity) -> Relation:
    bare = "count"
    if bare in {claimed.dimension, found.dimension} and not (claimed.unit and found.unit):
        return Relation.SAME if _equal(claimed, found, 0.0) else Relation.UNRELATED
    if claimed.dimension.startswith("money") and found.dimension.startswith("money"):
        return Relation.CONFLICT
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
    if not _equal(claimed, found, tolerance) and not _within(claimed, found):
        return Relation.CONFLICT
    if converted and _NUANCED.get(claimed.unit, claimed.unit) == _NUANCED.get(found.unit, found.unit):
        return Relation.UNIT
    return Relation.SAME


def _equal(one: Quantity, other: Quantity, tolerance: float) -> bool:
    return _near(_base(one, one.low), _base(other, other.low), tolerance) and _near(
        _base(one, one.high), _base(other, other.high), tolerance
    )


def _within(claimed: Quantity, found: Quantity) -> bool:
    """A single claimed value inside a found range: not what the document says, but not against it."""
    low, high, point = _base(found, found.low), _base(found, found.high), _base(claimed, claimed.low)
    return claimed.low == claimed.high and low < high and low <= point <= high


def _near(one: float, other: float, tolerance: float) -> bool:
    return math.isclose(one, other, rel_tol=max(tolerance, 1e-9))


def _base(quantity: Quantity, number: float) -> float:
    """``number`` units in the base unit of the dimension (seconds, metres, grams …)."""
    if quantity.dimension == "temperature" and quantity.unit == "fahrenheit":
        return (number - 32) * 5 / 9
    row = units()["units"].get(quantity.dimension, {}).get(quantity.unit)
    return number * row["factor"] if row else number
