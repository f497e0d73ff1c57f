"""What a failed validation says of settings."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from ragtrace.errors import ConfigError, ConfigErrors, one_or_all
from ragtrace.wrong_settings import check_keywords, unknown_key, wrong_settings


@dataclass(frozen=True)
class Odd:
    """Takes odd numbers."""

    number: int = 1

    def __post_init__(self) -> None:
        if self.number % 2 == 0:
            raise ConfigError("must be odd", "part.number")


class Part(BaseModel):
    """A section of settings."""

    model_config = ConfigDict(extra="forbid")
    part: tuple[Odd, ...] = ()
    share: float = 0.0


def test_all_that_is_wrong_is_told_with_its_path() -> None:
    """What a part says of itself is put where the part stands; a mistyped key meets the one that was meant."""
    with pytest.raises(ValidationError) as caught:
        Part.model_validate({"part": [{"number": 3}, {"number": 4}], "share": "much", "shar": 1})
    told = wrong_settings(caught.value, "top", known=lambda loc: Part.model_fields)
    assert [(error.path, error.message) for error in told] == [
        ("top.part.1.part.number", "must be odd"),
        ("top.share", "Input should be a valid number, unable to parse string as a number"),
        ("top.shar", "unknown key; did you mean share?"),
    ]
    assert next(error.path for error in wrong_settings(caught.value)) == "part.1.number"


def test_several_errors_a_part_raises_are_several() -> None:
    """Each with a path of its own."""

    @dataclass(frozen=True)
    class Both:
        def __post_init__(self) -> None:
            raise ConfigErrors([ConfigError("a is wrong", "part.a"), ConfigError("b is wrong", "part.b")])

    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Both).validate_python({})
    assert [str(error) for error in wrong_settings(caught.value, "part")] == [
        "part.a: a is wrong",
        "part.b: b is wrong",
    ]


def test_one_error_stays_itself_and_several_are_a_line_each() -> None:
    """As a terminal shows them; those that are several already are taken apart."""
    one, other = ConfigError("no", "a"), ConfigError("never", "b.c")
    assert one_or_all([one]) is one
    both = one_or_all([ConfigErrors([one, other]), one])
    assert isinstance(both, ConfigErrors)
    assert (both.errors, both.path) == ((one, other, one), "a")
    assert str(both) == "3 settings cannot be used\n  a: no\n  b.c: never\n  a: no"


def test_errors_cross_to_another_process_whole() -> None:
    """With their paths."""
    errors = pickle.loads(pickle.dumps(ConfigErrors([ConfigError("no", "a"), ConfigError("never", "b")])))
    assert [(error.path, error.message) for error in errors.errors] == [("a", "no"), ("b", "never")]


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("temprature", ["seed", "temperature"], "unknown key; did you mean temperature?"),
        ("zz", ["seed", "model"], "unknown key; known: seed, model"),
        ("zz", [], "unknown key"),
    ],
)
def test_an_unknown_key_is_told_with_what_may_be_meant(name: str, known: list[str], said: str) -> None:
    """The nearest, else all that there are."""
    assert unknown_key(name, known, f"judge.{name}").message == said


def test_keywords_that_a_class_does_not_take_are_told() -> None:
    """As far as its signature tells."""
    check_keywords(Odd, {"number": 1}, "part")
    check_keywords(lambda **anything: anything, {"number": 1}, "part")
    with pytest.raises(ConfigErrors) as caught:
        check_keywords(Odd, ["numbre", "x"], "part")
    assert [error.path for error in caught.value.errors] == ["part.numbre", "part.x"]
