"""Reading what a model wrote: form is forgiven, content never."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtrace.judges.replies import (
    Ambiguous,
    is_no_claim,
    read_flag,
    read_int,
    read_list,
    read_object,
    read_support,
    read_text,
)
from ragtrace.model import Support

KEYS = frozenset({"claims"})
REPLY = {"claims": [{"unit": 1, "verdict": "SUPPORTED"}]}
TEXT = json.dumps(REPLY)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"\n  {TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```\nHope this helps!",
        f"Sure! Here is the JSON: {TEXT} Let me know.",
        f'<think>Is {{x}} in there? {{"claims": []}}</think>\n{TEXT}',
        f'Is it? {{"claims": []}} hmm</think>{TEXT}',
        f"<thinking>a</thinking><think>b</think>{TEXT}",
        f"First draft: {TEXT}. Final: {TEXT}",
        f"\ufeff{TEXT}",
        f'{{"relevance": []}}\n{TEXT}',
        TEXT.replace('"unit"', '"unit": 1, "unit"'),
        f'{{not json}} {{"a": 1}} {TEXT}',
        TEXT.replace("SUPPORTED", "SUPPORTED\t"),
    ],
    ids=range(14),
)
def test_the_object_is_found_in_whatever_surrounds_it(text: str) -> None:
    """Nor do fences, prose, thinking (with and without its opening tag), a byte order mark, being said twice."""
    found, cut = read_object(text, KEYS)
    assert [read_support(entry["verdict"]) for entry in found["claims"]] == [Support.SUPPORTED]
    assert not cut


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I think the answer is mostly fine.",
        "The statement is supported.",
        '{"other": 1}',
        "[1, 2]",
        "null",
        '<think>so {"claims": [{"unit": 1, "verdict": "SUPPORTED"}]} or not',
        "{" * 5000,
        '{"a":' * 5000,
    ],
    ids=range(9),
)
def test_text_without_a_reply_gives_nothing(text: str) -> None:
    """Prose, other objects, thinking that never ends and hostile nesting are no reply, and no exception."""
    found, _ = read_object(text, KEYS)
    assert not found.get("claims")


OTHER = TEXT.replace("SUPPORTED", "NOT_FOUND")
TWICE = TEXT.replace('"verdict"', '"verdict": "NOT_FOUND", "verdict"')


@pytest.mark.parametrize(
    "text",
    [
        f"{TEXT} {OTHER}",
        f"First draft: {OTHER}. Final: {TEXT}",
        f'{{"claims": [], {TEXT[1:]}',
        TWICE,
        f"```json\n{TWICE}\n```",
        TWICE[:-1],
        TWICE[:-3] + ', "quote": "',
    ],
    ids=range(7),
)
def test_what_is_said_twice_in_two_ways_is_not_said(text: str) -> None:
    """Nobody knows whether the first or the last is meant; a reply that breaks off is no exception."""
    with pytest.raises(Ambiguous):
        read_object(text, KEYS)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none_are_read_as_nothing(number: str) -> None:
    """Some encoders write them although JSON has none."""
    found, _ = read_object(f'{{"claims": [{{"unit": {number}, "helps": {number}}}]}}', KEYS)
    (entry,) = found["claims"]
    assert (read_int(entry["unit"]), read_flag(entry["helps"])) == (None, None)


@pytest.mark.parametrize("length", range(1, len(TEXT)))
def test_a_cut_reply_is_marked_and_keeps_only_whole_values(length: int) -> None:
    """Wherever the text breaks off, no verdict is made up from its rest."""
    found, cut = read_object(TEXT[:length], KEYS)
    verdicts = [entry.get("verdict") for entry in found.get("claims", [])]
    assert all(verdict in ("SUPPORTED", None) for verdict in verdicts)
    assert cut or not found


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (3, 3),
        ("3", 3),
        (" 3 ", 3),
        ("３", 3),
        (3.0, 3),
        ("[3]", 3),
        ("【3】", 3),
        ("D3", 3),
        ("U3", 3),
        ("-1", None),
        (True, None),
        (3.5, None),
        ("three", None),
        ("", None),
        (None, None),
        ([3], None),
        ("1e3", None),
        ("3 4", None),
    ],
)
def test_whole_numbers_are_read_in_any_dress_and_nothing_else(written: object, number: int | None) -> None:
    """Numbers in strings, brackets, full width; a boolean is no number."""
    assert read_int(written) == number


@pytest.mark.parametrize(
    ("written", "support"),
    [
        ("SUPPORTED", Support.SUPPORTED),
        ("supported", Support.SUPPORTED),
        ("Supported.", Support.SUPPORTED),
        ("not found", Support.NOT_FOUND),
        ("not-found", Support.NOT_FOUND),
        ('"CONTRADICTED"', Support.CONTRADICTED),
        *(
            (wrong, None)
            for wrong in ("-1", "null", "Null", "N/A", "", "yes", "1", "PARTIALLY_SUPPORTED", "UNSUPPORTED")
        ),
        *((wrong, None) for wrong in ("NOT SUPPORTED", "SUPPORTED or not", "支持", "__members__", "name")),
        *((wrong, None) for wrong in (1, 1.0, True, None, ["SUPPORTED"], {"v": "SUPPORTED"}, float("nan"))),
    ],
)
def test_a_verdict_outside_the_enum_is_no_verdict(written: object, support: Support | None) -> None:
    """Letter case and separators are form; every other word is none of ours."""
    assert read_support(written) is support


def test_no_claim_is_told_apart_from_a_bad_verdict() -> None:
    """Only the word itself says that a sentence states no fact."""
    assert is_no_claim("no claim")
    assert not any(map(is_no_claim, ("", None, "NONE", "NO", 0)))


@pytest.mark.parametrize(
    ("written", "flag"),
    [
        ("yes", True),
        ("Yes.", True),
        ("TRUE", True),
        (True, True),
        (1, True),
        ("1", True),
        ("是", True),
        ("no", False),
        (False, False),
        (0, False),
        ("否", False),
        ("maybe", None),
        (None, None),
        (2, None),
        ("", None),
        ("N/A", None),
        (0.5, None),
        ("yes and no", None),
    ],
)
def test_yes_and_no_are_read_and_nothing_else(written: object, flag: bool | None) -> None:
    """A flag that is neither yes nor no is unknown, not no."""
    assert read_flag(written) is flag


@pytest.mark.parametrize(
    ("value", "expected"), [(None, []), ("", []), ([1], [1]), ({"a": 1}, [{"a": 1}]), ("x", ["x"])]
)
def test_a_single_value_stands_for_a_list_of_one(value: object, expected: list[object]) -> None:
    """Models drop the brackets around one element."""
    assert read_list(value) == expected


def test_lone_surrogates_are_dropped() -> None:
    """JSON can spell them, nothing behind the judge could encode them."""
    assert read_text(json.loads('" a\\ud83db "')) == "ab"
    assert read_text(7) == ""


@given(st.text(max_size=200) | st.text(alphabet='{}[]",:\\\\ac1 ', max_size=60))
def test_no_text_raises(text: str) -> None:
    """Whatever a model writes, reading it is total."""
    try:
        found, cut = read_object(text, KEYS)
    except Ambiguous:
        return
    assert isinstance(found, dict)
    assert isinstance(cut, bool)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_no_value_raises(value: object) -> None:
    """Whatever JSON value stands in a field, reading it is total."""
    assert read_int(value) is None or isinstance(read_int(value), int)
    assert read_flag(value) in (True, False, None)
    assert read_support(value) is None or isinstance(value, str)
