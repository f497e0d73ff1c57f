"""Quantities: found as they are written, compared as they are meant."""

from __future__ import annotations

import pytest

from ragtrace.text.numbers import Relation, compare, is_same_number_of_else, lies_between, quantities
from ragtrace.text.tokens import normalise


def one(text: str):
    found = quantities(normalise(text))
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("text", "low", "high", "dimension", "unit"),
    [
        ("1,500 users", 1500, 1500, "count", "user"),
        ("1.5 million users", 1_500_000, 1_500_000, "count", "user"),
        ("twenty-one days", 21, 21, "duration", "day"),
        ("two hundred and five euros", 205, 205, "money_eur", "eur"),
        ("$2.5bn", 2.5e9, 2.5e9, "money_usd", "usd"),
        ("3–5 business days", 3, 5, "duration", "working_day"),
        ("between 3 and 5 days", 3, 5, "duration", "day"),
        ("20 percent", 20, 20, "percent", "percent"),
        ("37.5 °C", 37.5, 37.5, "temperature", "celsius"),
        ("500mg", 500, 500, "mass", "mg"),
        ("twice a day", 2, 2, "frequency", "day"),
        ("three times a week", 3, 3, "frequency", "week"),
        ("百分之二十", 20, 20, "percent", "percent"),
        ("百分之三点八五", 3.85, 3.85, "percent", "percent"),
        ("1.2亿元", 1.2e8, 1.2e8, "money_cny", "cny"),
        ("三千五百名", 3500, 3500, "count", "人"),
        ("３～５個工作日", 3, 5, "duration", "working_day"),
        ("三到五天", 3, 5, "duration", "day"),
        ("半年", 0.5, 0.5, "duration", "year"),
        ("十二个月", 12, 12, "duration", "month"),
        ("每日口服三次", 3, 3, "frequency", "day"),
        ("18岁以上", 18, 18, "age", "year_old"),
    ],
)
def test_a_quantity_is_read_with_its_unit(text, low, high, dimension, unit):
    """Thousands, magnitudes, number words, ranges, currencies and Chinese numerals give value and unit."""
    found = one(text)
    assert (found.low, found.high, found.dimension, found.unit) == (
        pytest.approx(low),
        pytest.approx(high),
        dimension,
        unit,
    )


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("May 3, 2020", (2020, 5, 3)),
        ("3rd of May 2020", (2020, 5, 3)),
        ("2020-05-03", (2020, 5, 3)),
        ("2020年5月3日", (2020, 5, 3)),
        ("二〇二〇年五月三日", (2020, 5, 3)),
        ("2020 年 5 月", (2020, 5, None)),
        ("5月3日", (None, 5, 3)),
        ("since 1998", (1998, None, None)),
    ],
)
def test_a_date_is_read_as_far_as_it_is_written(text, date):
    """Year, month and day come out in both languages; what is not written is None."""
    assert one(text).date == date


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("5:30 pm", 1050), ("17:30", 1050), ("下午5点半", 1050), ("noon", 720), ("22点", 1320)],
)
def test_a_time_of_day_is_minutes_after_midnight(text, minutes):
    """Both clocks and Chinese times of day give the same number."""
    assert one(text).low == minutes


@pytest.mark.parametrize(
    "text", ["COVID-19", "一些人一定统一", "one of them", "十分重要", "see [3]", "一个好主意"]
)
def test_what_only_looks_like_a_number_is_none(text):
    """Names with digits, idioms and citation markers are no quantities."""
    assert quantities(normalise(text)) == ()


@pytest.mark.parametrize(
    ("claimed", "found", "relation"),
    [
        ("7 days", "3–5 days", Relation.CONFLICT),
        ("7 days", "a stay of 7 days", Relation.SAME),
        ("1 week", "7 days", Relation.SAME),
        ("24 hours", "1 day", Relation.SAME),
        ("12个月", "1年", Relation.SAME),
        ("5 km", "5000 m", Relation.SAME),
        ("3–5 working days", "3–5 days", Relation.UNIT),
        ("4 days", "3–5 days", Relation.SAME),
        ("3–7 days", "3–5 days", Relation.CONFLICT),
        ("about 360公里", "364.6公里", Relation.SAME),
        ("360公里", "364.6公里", Relation.CONFLICT),
        ("$20", "€20", Relation.CONFLICT),
        ("20%", "百分之二十", Relation.SAME),
        ("千分之五", "0.5%", Relation.SAME),
        ("千分之五", "万分之五", Relation.CONFLICT),
        ("at least 30 days", "at most 30 days", Relation.CONFLICT),
        ("5 kg", "5 km", Relation.UNRELATED),
        ("3 doors", "4 windows", Relation.UNRELATED),
        ("May 3", "May 3, 2020", Relation.SAME),
        ("May 4, 2020", "May 3, 2020", Relation.CONFLICT),
        ("2019年", "2020年5月3日", Relation.CONFLICT),
        ("8 pm", "20:00", Relation.SAME),
        ("5 pm", "8 pm", Relation.CONFLICT),
        ("68 °F", "20 °C", Relation.SAME),
        ("1 GB", "1024 MB", Relation.SAME),
        ("1 GB", "1000 MB", Relation.SAME),
        ("1.5TB", "1536GB", Relation.SAME),
        ("1 GB", "1500 MB", Relation.CONFLICT),
        ("never more than 20 euro", "a maximum of 20 euro", Relation.SAME),
        ("不得超过20元", "至多20元", Relation.SAME),
        ("no fewer than 3 days", "at least 3 days", Relation.SAME),
        ("no fewer than 3 days", "at most 3 days", Relation.CONFLICT),
        ("不少于3天", "至多3天", Relation.CONFLICT),
        ("21 years old", "21 years", Relation.SAME),
        ("3.5万元", "35000元", Relation.SAME),
        ("once a day", "twice a day", Relation.CONFLICT),
    ],
)
def test_quantities_are_compared_by_what_they_mean(claimed, found, relation):
    """Conversions, ranges, bounds and partial dates decide, not the spelling."""
    assert compare(one(claimed), one(found)) is relation


def test_places_point_into_the_text():
    """start and end of every quantity locate the text that it was read from."""
    text = normalise("refunds of $1,500 take 3–5 days, or 20% longer after 3 May 2020")
    for quantity in quantities(text):
        assert text[quantity.start : quantity.end].strip() == quantity.text


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("no more than 20 euro", "at_most"),
        ("it is never more than 20 euro", "at_most"),
        ("must not exceed 20 euro", "at_most"),
        ("up to a maximum of 20 euro", "at_most"),
        ("capped at 20 euro", "at_most"),
        ("more than 20 euro", "at_least"),
        ("not less than 20 euro", "at_least"),
        ("20 euro or more", "at_least"),
        ("20 euro", ""),
        ("不超过20元", "at_most"),
        ("不得超过20元", "at_most"),
        ("不会高于20元", "at_most"),
        ("上限为20元", "at_most"),
        ("超过20元", "at_least"),
        ("不低于20元", "at_least"),
        ("不得少于20元", "at_least"),
        ("20元起", "at_least"),
        ("费用是20元", ""),
    ],
)
def test_bounds_are_read_however_they_are_said(text, bound):
    """A negated comparative is the opposite bound: no more than, at most, 不超过, 至多."""
    assert one(text).bound == bound


def test_an_equal_number_of_something_else_is_told():
    """30 dollars and 30 % are no conversion of each other; counts and conversions are left alone."""
    assert is_same_number_of_else(one("30 dollars"), one("30%"))
    assert is_same_number_of_else(one("30元"), one("30公斤"))
    assert not is_same_number_of_else(one("30 doors"), one("30%"))
    assert not is_same_number_of_else(one("30 minutes"), one("30 hours"))
    assert not is_same_number_of_else(one("21 years"), one("21 years old"))


def test_two_bounds_make_a_span():
    """Two years lie between "at least one year" and "less than three"."""
    low, high = quantities("一年以上不满三年")
    assert lies_between(one("两年"), low, high)
    assert not lies_between(one("四年"), low, high)
    assert not lies_between(one("2公里"), low, high)


def test_four_digits_with_a_unit_are_no_year():
    """1024 MB is a size, 2019 a year."""
    assert one("1024 mb").dimension == "data"
    assert one("in 2019 it").dimension == "date"
