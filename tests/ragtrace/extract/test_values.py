"""Attribute values as they really arrive."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtrace.extract.values import decode, text_or_none, unescape, unwrap

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def test_json_in_a_string_is_parsed() -> None:
    """A string that holds JSON becomes the value."""
    assert decode('{"question": "退款?"}').value == {"question": "退款?"}


def test_python_reprs_of_plain_values_are_parsed() -> None:
    """The repr of a tuple of arguments or of a dict becomes the value."""
    assert decode("('How long?',)").value == ["How long?"]
    assert decode("{'query': 'How long?'}").value == {"query": "How long?"}


@pytest.mark.parametrize(
    "text", ["[1] is this cited?", "[urgent] help", "{not json}", "(see above)", "42", ""]
)
def test_text_that_only_looks_like_json_stays_text(text: str) -> None:
    """A question that begins with a bracket is a question."""
    assert decode(text).value == text
    assert not decode(text).cut


def test_masked_and_null_values_are_missing() -> None:
    """``__REDACTED__`` and ``null`` are nothing, not texts."""
    assert decode("__REDACTED__").value is None
    assert decode("null").value is None
    assert text_or_none("__REDACTED__") is None


@pytest.mark.parametrize("text", ["<generator object tokens at 0x7f1>", "<async_generator object>"])
def test_the_repr_of_an_object_is_no_text(text: str) -> None:
    """What a stream prints as is no answer."""
    assert text_or_none(text) is None


def test_quotes_around_bare_text_are_kept_where_text_is_bare() -> None:
    """A question in quotation marks keeps them if its writer does not quote."""
    assert decode('"to be"', quoted=False).value == '"to be"'
    assert decode('"to be"').value == "to be"


def test_what_is_whole_in_cut_json_is_kept() -> None:
    """Of a list that was cut in its second item, the first item and the whole members of the second are there."""
    cut = decode('[{"id": "a", "text": "one, [1] {"}, {"id": "b", "text": "two and mo')
    assert cut.cut
    assert cut.value == [{"id": "a", "text": "one, [1] {"}, {"id": "b"}]


@given(
    st.lists(st.dictionaries(st.text(max_size=5), _JSON, min_size=1, max_size=3), min_size=1, max_size=4),
    st.data(),
)
def test_cut_json_never_yields_what_was_not_in_it(rows: list[dict[str, object]], data: st.DataObject) -> None:
    """Every item read from cut JSON but the last is the item itself; the last lacks members but has no others."""
    text = json.dumps(rows, ensure_ascii=False)
    end = data.draw(st.integers(1, len(text) - 1))
    found = decode(text[:end])
    if not found.cut:
        assert found.value == text[:end]
        return
    assert len(found.value) <= len(rows)
    for read, real in zip(found.value[:-1], rows, strict=False):
        assert read == real
    last, real = found.value[-1], rows[len(found.value) - 1]
    assert set(last) <= set(real)


@given(st.text())
def test_decoding_any_text_never_raises(text: str) -> None:
    """Any text decodes to something."""
    decode(text)
    unwrap(text)
    unescape(text)


def test_deep_nesting_is_refused_quickly() -> None:
    """A hundred thousand brackets neither raise nor hang."""
    assert decode("[" * 100_000).value == "[" * 100_000
    assert decode('[{"a":' * 50_000).value


def test_json_in_json_is_unwrapped() -> None:
    """A string of a string of JSON is the value."""
    assert unwrap(json.dumps(json.dumps({"a": 1}))) == {"a": 1}


def test_left_over_escapes_become_characters() -> None:
    """Chinese that arrives as escapes is Chinese again, backslashes of other kinds stay."""
    assert unescape(r"\u9000\u6b3e C:\users \n") == r"退款 C:\users \n"
