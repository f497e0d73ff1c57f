"""What a quantity looks like, in one pattern: dates, times of day, fractions, numbers with their units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from ragtrace.text.lexicon import english, units

DASH = r"(?:-|–|—|~|～|至|到|\bto\b|\bor\b|或)"
ZH = "零〇一二两三四五六七八九十百千万亿"
ARABIC = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
MAGNITUDE = (
    r"(?:\s?(?:hundred|thousand|million|billion|trillion|mn|bn|tn)\b|(?<=\d)[km](?![a-z\d/])|\s?[万亿千百]+)"
)

_YEAR = r"(?:1\d|20)\d\d"
_CLOCK = (
    r"(?<![\d:.])(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d)?(?!\d|:)(?:\s?[ap]\.?m\b)?"
    r"|(?<![\d:.])\d{1,2}(?:\.[0-5]\d)?\s?[ap]\.?m\b"
    r"|(?:凌晨|早上|上午|中午|下午|傍晚|晚上|晚间|早|晚)\s?"
    rf"(?:\d{{1,2}}|[{ZH}]{{1,3}})(?:点|时|:)(?:半|[0-5]\d分?|[{ZH}]{{2,3}}分?)?"
    r"|(?<![\d.])(?:[01]?\d|2[0-4])点(?:半|[0-5]?\d分|钟)?(?![\d建要意原好内理注说])"
    r"|\bnoon\b|\bmidnight\b"
)
_EVERY_ZH = (
    r"[每一](?:天|日|周|星期|个?月|年|晚|小时)\s?(?:只|可|最多|至多|须|需)?\s?"
    rf"(?:吃|服用|口服|服|使用|涂抹|涂|用|享受|举行|安排|体检)?\s?(?:\d+|[{ZH}]+)次"
)
_FRACTION = (
    rf"[百千万]分之\s?(?:{ARABIC}|[{ZH}点]+)(?:\s?{DASH}\s?(?:[百千万]分之)?\s?(?:{ARABIC}|[{ZH}点]+))?"
)
_ORDINAL = rf"第\s?(?:\d+|[{ZH}]+)|(?<![\w.,])\d+(?:st|nd|rd|th)\b"
_MEASURED = (
    r"(?:[kmgt]i?b|(?:mega|giga|kilo)?bytes?|[kcm]?m|m?g|kg|ml|l|k?wh?|mah|rpm|feet|miles?|met(?:er|re)s?|dollars|euros?"
    r"|pounds|yuan|usd|eur|rmb|days|weeks|months|hours|minutes|seconds)\b"
)
"""Behind a number of four digits they make it no year. Left out are units that are words as well."""
_YEAR_ALONE = rf"(?<![\w.,$€£¥:/-]){_YEAR}(?:[-–/](?:\d\d){{1,2}})?(?!\w|[%°]|,\d|\.\d|[-/]\d|\s{_MEASURED})"
_NOT_BEFORE = {"年": "代级轻度底初末终", "分": "之公别类", "天": "然气", "月": "份"}
"""Unit → characters that must not follow it: there it is a piece of another word."""


@cache
def may_hold_quantity() -> re.Pattern[str]:
    """A cheap first look: texts that it does not match hold no quantity."""
    listed = _any_of((*_spoken(), *english().ordinals, "once", "twice", "noon", "midnight"))
    return re.compile(rf"[\d一二两三四五六七八九十百千万半]|\b(?:{listed})\b")


def quantity_matches(text: str) -> Iterator[re.Match[str]]:
    """What looks like a quantity in the normalised ``text``, in order; the name of the last group is its
    kind.

    The pattern of all quantities is a large one, so it is tried only where one can begin.
    """
    pattern, end = _scanner(), 0
    for start in _starts(text):
        match = pattern.match(text, start) if start >= end else None
        if match is not None:
            yield match
            end = match.end()


def _starts(text: str) -> Iterator[int]:
    """Where in ``text`` a quantity can begin."""
    listed, currencies = _first_words(), _currencies()
    if listed.isdisjoint(_LETTERS.findall(text)) and not any(sign in text for sign in currencies.values()):
        # No word of this text can begin one, as in most: then it is looked for many times faster.
        yield from (found.start() for found in _OTHERS.finditer(text))
        return
    for found in _FIRST.finditer(text):
        first = found[0]
        if not "a" <= first[0] <= "z" or first in listed:
            yield found.start()
        elif (tail := first[-3:]) in currencies or (tail := first[-2:]) in currencies:
            yield found.end() - len(tail)


_LETTERS = re.compile("[a-z]+")
_OTHERS = re.compile(rf"[\d{ZH}半第每凌早上中下傍晚人$€£¥￥]")
"""A character that a quantity can begin with, save letters."""
_FIRST = re.compile(rf"{_LETTERS.pattern}|{_OTHERS.pattern}")


@cache
def _first_words() -> frozenset[str]:
    return frozenset((*_spoken(), *english().months, "once", "twice", "noon", "midnight"))


@cache
def _currencies() -> Mapping[str, str]:
    """The letters of a currency → how it stands before a number: ``usd 5``, ``us$5``."""
    return {sign.rstrip("$"): sign for sign in units()["prefixes"] if "a" <= sign[0] <= "z"}


@cache
def _scanner() -> re.Pattern[str]:
    """The first alternative that fits at a place is the kind of quantity there."""
    alternatives = {
        "date": _date(),
        "clock": _CLOCK,
        "frequency": _frequency(),
        "fraction": _FRACTION,
        "ordinal": _ORDINAL,
        "year": _YEAR_ALONE,
        "number": _number(),
    }
    return re.compile("|".join(f"(?P<{name}>{body})" for name, body in alternatives.items()))


@cache
def unit_of_name() -> dict[str, tuple[str, str]]:
    """Name of a unit as it is written → (dimension, unit)."""
    return {
        name: (dimension, unit)
        for dimension, rows in units()["units"].items()
        for unit, row in rows.items()
        for name in row["names"]
    }


def _date() -> str:
    months = _any_of(english().months)
    day = rf"(?:\d{{1,2}}|[{ZH}]{{1,3}})"
    year = rf"(?:,?\s{_YEAR}(?!\d))?"
    return "|".join(
        (
            rf"(?<![\d.]){_YEAR}[-/.](?:0?[1-9]|1[0-2])[-/.](?:[12]\d|3[01]|0?[1-9])(?!\d)",
            rf"(?:\d{{4}}|[{ZH}]{{4}})\s?年(?!代)\s?(?:{day}\s?月\s?(?:{day}\s?[日号])?)?",
            rf"{day}\s?月\s?(?:{day}\s?[日号]|份)",
            rf"\b(?:{months})\b\.?\s(?:the\s)?\d{{1,2}}(?:st|nd|rd|th)?(?!\d|:){year}",
            rf"\b\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?(?:{months})\b{year}",
            rf"\b(?:{months})\b,?\s(?:of\s)?{_YEAR}(?!\d)",
        )
    )


def _spoken() -> tuple[str, ...]:
    lexicon = english()
    return (*lexicon.number_words, *lexicon.magnitudes, "half", "dozen")


def _frequency() -> str:
    words = _any_of(english().number_words)
    periods = "day|week|month|year|hour|daily|weekly|monthly|yearly|annually"
    times = rf"(?:once|twice|(?:{words}|\d+)\stimes)"
    return rf"\b{times}\s(?:an?\s|per\s|each\s|every\s)?(?:{periods})\b|{_EVERY_ZH}"


def _number() -> str:
    lexicon = english()
    words = _any_of((*lexicon.number_words, *lexicon.magnitudes, "dozen"))
    spoken = rf"\b(?:half(?=\s+an?\b)|(?:{words})(?:(?:\s+and\s+|-|\s+)(?:{words}))*)\b"
    number = rf"(?:(?:{ARABIC}){MAGNITUDE}?|{spoken}|[{ZH}]+(?:点[{ZH}]+)?|半)"
    sign, unit = _any_of(units()["prefixes"]), _unit()
    return (
        rf"(?:(?P<sign>{sign})\s?)?(?<![a-z\d.\[/])(?<!\d,)(?<![a-z]-){number}(?:[\s-]?(?P<first>{unit}))?"
        rf"(?:\s{{0,2}}{DASH}\s?(?:(?:{sign})\s?)?{number}(?:[\s-]?(?P<unit>{unit}))?)?"
    )


def _unit() -> str:
    names = sorted({*unit_of_name(), *units()["measures"]}, key=len, reverse=True)
    return "|".join(re.escape(name) + _not_before(name) for name in names)


def _not_before(name: str) -> str:
    if name[-1].isascii() and name[-1].isalpha():
        return r"(?![a-z])"
    return f"(?![{_NOT_BEFORE[name]}])" if name in _NOT_BEFORE else ""


def _any_of(words: Iterable[str]) -> str:
    """An alternation of literal ``words``, longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
