"""Normal form, tokens and stems."""

from __future__ import annotations

import pytest

from ragtrace.text.tokens import content, normalise, stem, words


def tokens(text: str) -> list[str]:
    return content(words(normalise(text)))


def test_full_width_and_traditional_are_the_same_text():
    """Full-width forms and traditional characters normalise to ASCII and simplified ones."""
    assert normalise("退款將在３個工作日內到賬") == "退款将在3个工作日内到账"


def test_stop_words_carry_no_content():
    """Function words go, in both languages; what is left is content."""
    assert tokens("What is the refund policy of the shop?") == tokens("refund policy shop")
    assert "的" not in tokens("公司的退款政策")


@pytest.mark.parametrize(
    ("one", "other"),
    [("refunds", "refunded"), ("policies", "policy"), ("running", "runs"), ("studied", "study"), ("took", "taken"),
     ("children", "child"), ("classes", "class"), ("automatically", "automatic"), ("hopping", "hop")],
)  # fmt: skip
def test_inflections_share_a_stem(one, other):
    """Inflected forms of a word come to the same stem."""
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("bus", "bu"), ("class", "cla"), ("this", "thi"), ("sing", "s")])
def test_short_words_are_left_whole(one, other):
    """Endings that are part of the word stay."""
    assert stem(one) != other


def test_numbers_are_one_token_however_they_are_grouped():
    """Thousands separators, trailing zeros and number words do not make other tokens."""
    assert tokens("1,500") == tokens("1500") == tokens("1500.0")
    assert tokens("twelve") == tokens("12")
