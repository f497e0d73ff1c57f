"""Find the quantities of a text: one scan with the pattern, then a reader for each kind of match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from ragtrace.text._bounds import Bound, bound_of, is_approximate
from ragtrace.text._numerals import value
from ragtrace.text._quantity_patterns import (
    ARABIC,
    DASH,
    MAGNITUDE,
    ZH,
    may_hold_quantity,
    quantity_matches,
    unit_of_name,
)
from ragtrace.text.lexicon import english, units


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity at characters [start, end) of the text; ``text`` is how it is written there.

    ``low`` and ``high`` are equal except for a range, in multiples of ``unit``. ``dimension`` is a
    dimension of measurement (``duration``, ``length``, ``money_usd`` …), ``count`` (``unit`` is the thing
    counted, ``""`` where it is not said), ``ordinal``, ``date`` (``date`` holds year, month, day; ``None``
    where not said) or ``clock`` (minutes after midnight). ``bound`` and ``approximate`` say how strictly it
    is meant.
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


@lru_cache(maxsize=1024)
def quantities(text: str) -> tuple[Quantity, ...]:
    """The quantities of ``text``, in its order."""
    found = tuple(_scan(text))
    return found if found and may_hold_quantity().search(text) else ()


def dimensions(text: str) -> Iterator[str]:
    """The dimensions of the quantities of ``text``, in its order, each read when it is asked for."""
    if may_hold_quantity().search(text):
        yield from (quantity.dimension for quantity in _read(text))


def _scan(text: str) -> Iterator[Quantity]:
    return (_with_bounds(found, text) for found in _read(text))


def _read(text: str) -> Iterator[Quantity]:
    if "between " in text:
        text = _BETWEEN.sub(r"\1  to ", text)
    for match in quantity_matches(text):
        kind = match.lastgroup or "number"
        reader = _READERS.get(kind, _read_number)
        found = reader(match, text)
        if found is not None:
            yield found


_BETWEEN = re.compile(r"(\bbetween [\d.,]+(?: ?%| [a-z]+)?) and (?=\d)")
"""Rewritten in equal length, so that places in the text stay what they are."""


def _read_date(match: re.Match[str], text: str) -> Quantity | None:
    year, month, day = _date_fields(match[0])
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return None
    return _quantity(match, 0.0, 0.0, "date", date=(year, month, day))


def _date_fields(written: str) -> tuple[int | None, int | None, int | None]:
    numbers = [value(part) for part in re.findall(rf"\d+|[{ZH}]+", written)]
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
    numbers = [value(n) for n in re.findall(rf"\d+|[{ZH}]+", written)]
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


_PERIODS = {
    "day": "天日晚",
    "week": "周星",
    "month": "月",
    "year": "年",
    "hour": "小",
}
_ENGLISH_PERIODS = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
    "annually": "year",
}


def _read_frequency(match: re.Match[str], text: str) -> Quantity | None:
    written = match[0]
    if written[0] in "每一":
        number = value(re.findall(rf"\d+|[{ZH}]+", written[1:])[-1])
        begins = written[1:].lstrip("个")[0]
        period = next(name for name, chars in _PERIODS.items() if begins in chars)
    else:
        first, *_, last = written.split()
        number = {"once": 1.0, "twice": 2.0}.get(first) or value(first)
        period = _ENGLISH_PERIODS.get(last, last)
    return None if number is None else _quantity(match, number, number, "frequency", unit=period)


def _read_ordinal(match: re.Match[str], text: str) -> Quantity | None:
    number = value(re.sub(r"[第\s]|st$|nd$|rd$|th$", "", match[0]))
    if number is None:
        return None
    measure = text[match.end() : match.end() + 1] if match[0][0] == "第" else ""
    return _quantity(match, number, number, "ordinal", unit=measure if measure in units()["measures"] else "")


def _read_fraction(match: re.Match[str], text: str) -> Quantity | None:
    numbers = [value(n) for n in re.findall(rf"{ARABIC}|[{ZH}点]+", _PARTS_OF.sub(" ", match[0]))]
    parts = [n for n in numbers if n is not None]
    if not parts:
        return None
    share = _SHARES[match[0][0]]
    return _quantity(match, min(parts) * share, max(parts) * share, "percent", unit="percent")


_PARTS_OF = re.compile("[百千万]分之")
_SHARES = {"百": 1.0, "千": 0.1, "万": 0.01}


def _read_number(match: re.Match[str], text: str) -> Quantity | None:
    written = match[0].rstrip(" -")
    sign, unit_name = match["sign"], match["unit"] or match["first"]
    body = (written[len(sign) :] if sign else written).removesuffix(unit_name or "")
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


_IDIOMS = frozenset({"十分", "百分", "万分", "千万", "万一", "一一"})


def _is_idiom(written: str, unit_name: str | None, dimension: str) -> bool:
    """Whether it only looks like a number: 一个 (a), 一致 (agree), 十分 (very), one (somebody)."""
    if written[0] <= "\u2fff":
        return written == "one" and not unit_name
    if written in _IDIOMS:
        return True
    digits = re.sub(f"[^{ZH}]", "", written)
    return len(digits) < 2 and (unit_name is None or (digits == "一" and dimension == "count"))


_RANGE = re.compile(rf"\s{{0,2}}{DASH}\s?")


def _split_range(body: str) -> list[str]:
    if re.match(r"[a-z]+-[a-z]+$", body.strip()):
        return [body]
    return [part for part in _RANGE.split(body) if part.strip()]


_LEADING = re.compile(rf"[^\d{ZH}a-z半]*((?:{ARABIC}){MAGNITUDE}?|[{ZH}点]+|半|[a-z][a-z\s-]*)")


@lru_cache(maxsize=1024)
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
        return unit_of_name().get(unit_name, ("count", _THINGS.get(unit_name, unit_name)))
    noun = re.match(r"[\s-]?([a-z]{3,})", after)
    return "count", _noun(noun[1]) if noun else ""


_THINGS = {"名": "人", "位": "人", "个人": "人", "口": "人", "个": ""}
"""Chinese measure words that count the same; 个 counts anything."""


def _noun(word: str) -> str:
    if word in english().stop:
        return ""
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _with_bounds(found: Quantity, text: str) -> Quantity:
    bound = bound_of(text, found.start, found.end)
    approximate = is_approximate(text, found.start, found.end)
    return replace(found, bound=bound, approximate=approximate) if bound or approximate else found


def _quantity(
    match: re.Match[str],
    low: float,
    high: float,
    dimension: str,
    *,
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
