"""Redaction."""

from __future__ import annotations

import re

import pytest

from ragtrace.redact import Pattern, Redactor, is_card, is_resident_id

REDACT = Redactor(key="test")


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        ("EMAIL", "jane.doe+news@mail.example.co.uk"),
        ("EMAIL", "zhang@公司.example".replace("公司", "gongsi")),
        ("PHONE", "13812345678"),
        ("PHONE", "+86 138 1234 5678"),
        ("PHONE", "010-62781234"),
        ("PHONE", "+1 (415) 555-2671"),
        ("PHONE", "415-555-2671"),
        ("PHONE", "+44 20 7946 0958"),
        ("ID", "11010519491231002X"),
        ("CARD", "4111 1111 1111 1111"),
        ("CARD", "6228480402564890018"),
        ("SSN", "078-05-1120"),
        ("KEY", "sk-proj-abcdefghijklmnopqrstuvwx"),
        ("KEY", "AKIAIOSFODNN7EXAMPLE"),
        ("TOKEN", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLXNpZw"),
        ("PRIVATE_KEY", "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"),
    ],
)
@pytest.mark.parametrize("frame", ["{}", "Call me: {}.", "请联系{}，谢谢"])
def test_secrets_are_replaced_in_english_and_chinese(kind: str, secret: str, frame: str) -> None:
    """The text around them stays."""
    before, after = frame.split("{}")
    found = REDACT(frame.format(secret))
    assert re.fullmatch(re.escape(before) + rf"<{kind}_[A-Z]{{6}}>" + re.escape(after), found)


@pytest.mark.parametrize(
    "text",
    [
        "Refunds take 3-5 business days.",
        "订单 20240131000123 于 2024-01-31 12:30:05 发货",
        "The fine is 1,234,567.89 euros, or 12 345 678.",
        "pi is 3.14159265358979323846",
        "see section 10.2.3 of RFC 9110 [1]",
        "4111 1111 1111 1112 is no card",
        "version 2026.10.11549 from 192.168.100.200",
        "2024-01-31 to 2025-01-31",
    ],
)
def test_ordinary_numbers_stay(text: str) -> None:
    """Dates, amounts, versions, order numbers, numbers whose checksum is wrong."""
    assert REDACT(text) == text


def test_equal_values_get_equal_placeholders_however_they_are_written() -> None:
    """So that a claim can still be checked against a document."""
    assert REDACT("138 1234 5678") == REDACT("13812345678")
    assert REDACT("Jane@Example.com") == REDACT("jane@example.com")
    assert REDACT("13812345678") != REDACT("13812345679")


def test_placeholders_hold_no_digits_and_depend_on_the_key() -> None:
    """A digit would read as a number of the answer's; without the key nobody can try values out."""
    assert not any(char.isdigit() for char in REDACT("jane@example.com"))
    assert Redactor(key="other")("jane@example.com") != REDACT("jane@example.com")
    assert "test" not in repr(REDACT)


def test_patterns_of_the_users_own_come_first() -> None:
    """One more pattern is one more kind of placeholder."""
    redact = Redactor(key="k", more=(Pattern("ORDER", re.compile(r"ORD-\d+")),))
    assert re.fullmatch(r"<ORDER_[A-Z]{6}> by <EMAIL_[A-Z]{6}>", redact("ORD-42 by a@b.example"))


def test_checksums() -> None:
    """Luhn's and that of the resident identity number."""
    assert [is_card("4111111111111111"), is_card("4111111111111112")] == [True, False]
    assert [is_resident_id("11010519491231002X"), is_resident_id("110105194912310021")] == [True, False]
