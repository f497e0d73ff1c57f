"""JSON of anything."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import uuid
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtrace.serialize import clean, plain, to_json


class Colour(enum.Enum):
    RED = "red"


class ObjectId:
    """As a database driver's: no JSON type, but a text of its own."""

    def __str__(self) -> str:
        return "65f0c0ffee"


class Anonymous:
    pass


class Raises:
    def __str__(self) -> str:
        raise RuntimeError


@dataclasses.dataclass
class Point:
    x: int


CYCLE: dict[str, Any] = {"a": 1}
CYCLE["self"] = CYCLE
UUID = uuid.UUID(int=1)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({Colour.RED: Colour.RED}, {"red": "red"}),
        ({"id": ObjectId()}, {"id": "65f0c0ffee"}),
        ({"n": np.int64(3), "v": np.array([1, 2])}, {"n": 3, "v": [1, 2]}),
        ({"big": np.zeros(1000)}, {"big": "<array float64 (1000,)>"}),
        ({"at": datetime.datetime(2026, 1, 2, 3, 4)}, {"at": "2026-01-02T03:04:00"}),
        ({"p": pathlib.PurePosixPath("a/b")}, {"p": "a/b"}),
        ({"d": decimal.Decimal("1.10"), "u": UUID}, {"d": "1.10", "u": str(UUID)}),
        ({"s": {1}}, {"s": [1]}),
        ({1: "one", None: "none"}, {"1": "one", "null": "none"}),
        ({"nan": float("nan")}, {"nan": "nan"}),
        (CYCLE, {"a": 1, "self": "<cycle>"}),
        ({"ok": 1, "bad": Raises()}, {"ok": 1, "bad": "<Raises>"}),
        ({"o": Anonymous()}, {"o": "<Anonymous>"}),
        ({"b": b"\xff"}, {"b": "\\xff"}),
        (Point(1), {"x": 1}),
        ({"lone": "a\ud800b"}, {"lone": "a\ufffdb"}),
        ({"f": len}, {"f": "<builtin_function_or_method len>"}),
    ],
)
def test_one_bad_value_costs_only_itself(value: Any, expected: Any) -> None:
    """What JSON has no type for is written as what it is, or described."""
    assert json.loads(to_json(value)) == expected


def test_iterators_are_described_and_not_consumed() -> None:
    """A stream in metadata is still whole afterwards."""
    pieces = (piece for piece in "ab")
    assert json.loads(to_json({"stream": pieces, "x": 1})) == {"stream": "<generator <genexpr>>", "x": 1}
    assert list(pieces) == ["a", "b"]


def test_chinese_is_written_as_it_is() -> None:
    """No escapes: a reader of the span reads the text."""
    assert to_json({"问": "退款需要多久？"}) == '{"问": "退款需要多久？"}'


def test_deep_and_long_values_are_bounded() -> None:
    """A million levels or items neither raise nor fill the span."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert len(to_json(deep)) < 100
    assert json.loads(to_json({"l": plain(list(range(20_000)))}))["l"][-1] == "<10000 more>"


def test_ten_megabytes_of_text_pass() -> None:
    """Length is no reason to fail."""
    text = "退" * 10_000_000
    assert json.loads(to_json([text])) == [text]


def test_clean_keeps_pairs_and_replaces_lone_surrogates() -> None:
    """An emoji written as a surrogate pair is the emoji."""
    assert clean("\ud83d\ude00") == "😀"
    assert clean("x\udfff") == "x\ufffd"
    assert clean("退款") == "退款"


@given(st.recursive(st.none() | st.floats() | st.text() | st.binary() | st.integers(), st.lists))
def test_writing_is_total(value: Any) -> None:
    """Whatever is passed: valid UTF-8, valid JSON without NaN."""
    json.loads(to_json(value).encode(), parse_constant=pytest.fail)
