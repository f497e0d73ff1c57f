"""Is a quote in a document: tolerant of form, never of content."""

from __future__ import annotations

import pytest

from ragtrace.judges._chat.entries import Shown
from ragtrace.judges._chat.quotes import Evidence

EN = "Refunds take 3–5 business days.\n\nShipping costs\t1,5 % of the price, at most €20. “Free” over 15 items…"
ZH = "冷却泵的密封件每５００小时更换一次，由技术员操作。费用为1.5%。"


def held(quote: str, document: str) -> bool:
    return Evidence([Shown(1, document)]).holding(quote) == (1,)


@pytest.mark.parametrize(
    "quote",
    [
        "Refunds take 3–5 business days",
        "refunds take 3-5 business days.",
        "“Refunds take 3–5 business days.”",
        "business days. Shipping costs 1,5 %",
        "costs  1,5 %\nof the price",
        "Refunds take … business days",
        "Refunds take ... business days",
        "Refunds [...] at most €20",
        "**Refunds** take `3–5` business days",
        "...take 3–5 business days…",
        '"Free" over 15 items',
    ],
)
def test_form_is_forgiven_in_english(quote: str) -> None:
    """Case, white space, dashes, quotation marks, ellipses and markup."""
    assert held(quote, EN)


@pytest.mark.parametrize(
    "quote",
    [
        "密封件每500小时更换一次",
        "密封件 每 500 小时更换一次",
        "“密封件每５００小时更换一次，”",
        "冷却泵……由技术员操作",
        "费用为１.５％",
    ],
)
def test_form_is_forgiven_in_chinese(quote: str) -> None:
    """Full-width digits, spaces between characters, Chinese quotation marks and ellipses."""
    assert held(quote, ZH)


@pytest.mark.parametrize(
    ("quote", "document"),
    [
        ("Refunds take 3–7 business days", EN),
        ("Refunds do not take 3–5 business days", EN),
        ("costs 15 % of the price", EN),
        ("costs 5 % of the price", EN),
        ("at most €2", EN),
        ("business days … Refunds", EN),
        ("over 5 items", EN),
        ("密封件每50小时更换一次", ZH),
        ("密封件每5000小时", ZH),
        ("费用为15%", ZH),
        ("由技术员操作……冷却泵", ZH),
        ("", EN),
        ("…", EN),
        ('"', EN),
        ("1 5", "15 items"),
        ("15", "1 5 items"),
    ],
)
def test_content_is_not(quote: str, document: str) -> None:
    """Other numbers, parts of numbers, other words, another order, nothing at all."""
    assert not held(quote, document)


def test_all_documents_that_hold_it_are_named() -> None:
    """By rank; document 0 stands for the earlier turns."""
    evidence = Evidence([Shown(0, "A is B."), Shown(1, "A is C."), Shown(4, "So A is B, they say.")])
    assert evidence.holding("a is b") == (0, 4)
