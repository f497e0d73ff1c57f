"""Redaction."""

from __future__ import annotations

import re

import pytest

from ragtrace.redact import MASK, Pattern, Redactor, is_card, is_resident_id, without_credentials

REDACT = Redactor(key="test")


SECRETS = [
    ("EMAIL", "jane.doe@example.com"),
    ("EMAIL", "zhang.wei+rag@mail.qq.com"),
    ("EMAIL", "O_Brien-1@sub.example.co.uk"),
    ("EMAIL", "10086@139.com"),
    ("EMAIL", "user@例子.example"),
    ("EMAIL", "JANE@EXAMPLE.COM"),
    ("PHONE", "13812345678"),
    ("PHONE", "138 1234 5678"),
    ("PHONE", "138-1234-5678"),
    ("PHONE", "+86 138 1234 5678"),
    ("PHONE", "+8613812345678"),
    ("PHONE", "0086 13812345678"),
    ("PHONE", "8613912345678"),
    ("PHONE", "010-62781234"),
    ("PHONE", "0755-12345678"),
    ("PHONE", "(021) 62781234"),
    ("PHONE", "021-6278 1234"),
    ("PHONE", "+86-10-62781234"),
    ("PHONE", "400-810-8888"),
    ("PHONE", "+1 (415) 555-2671"),
    ("PHONE", "(415) 555-2671"),
    ("PHONE", "415-555-2671"),
    ("PHONE", "415.555.2671"),
    ("PHONE", "+1-202-555-0143"),
    ("PHONE", "+44 20 7946 0958"),
    ("PHONE", "+44 7700 900123"),
    ("PHONE", "+49 30 901820"),
    ("PHONE", "+33 1 42 68 53 00"),
    ("PHONE", "+81 3-1234-5678"),
    ("PHONE", "+852 2345 6789"),
    ("PHONE", "+886 912 345 678"),
    ("PHONE", "+65 6123 4567"),
    ("PHONE", "+91 98765 43210"),
    ("PHONE", "020 7946 0958"),
    ("ID", "11010519491231002X"),
    ("ID", "11010519491231002x"),
    ("ID", "440524188001010014"),
    ("CARD", "4111 1111 1111 1111"),
    ("CARD", "4111111111111111"),
    ("CARD", "5500-0000-0000-0004"),
    ("CARD", "378282246310005"),
    ("CARD", "3782 822463 10005"),
    ("CARD", "6228480402564890018"),
    ("CARD", "6011111111111117"),
    ("SSN", "078-05-1120"),
    ("IBAN", "DE89 3704 0044 0532 0130 00"),
    ("IBAN", "GB82WEST12345698765432"),
    ("IBAN", "FR1420041010050500013M02606"),
    ("KEY", "sk-" + "proj-abcdefghijklmnopqrstuvwx"),
    ("KEY", "sk-" + "ant-api03-abcdefghijklmnopqrst_uvw-xyz"),
    ("KEY", "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"),
    ("KEY", "AKIA" + "IOSFODNN7EXAMPLE"),
    ("KEY", "ASIA" + "IOSFODNN7EXAMPLE"),
    ("KEY", "ghp_" + "a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2"),
    ("KEY", "github_pat_" + "a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5"),
    ("KEY", "glpat-" + "abcDEF123456ghiJKL78"),
    ("KEY", "xoxb-" + "123456789012-abcdefGHIJKL"),
    ("KEY", "AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY"),
    ("KEY", "LTAI" + "5tAbCdEfGhIjKlMnOpQr"),
    ("KEY", "AKID" + "z8krbsJ5yKBZQpn74WFkmLPx3gnPhESA"),
    ("KEY", "hf_" + "abcdefghijabcdefghijabcdefghijklmn"),
    ("KEY", "npm_" + "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6"),
    ("KEY", "SG." + "aaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"),
    ("KEY", "123456789:AA" + "EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE"),
    ("TOKEN", "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLXNpZw"),
    ("PRIVATE_KEY", "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"),
    ("KEY", "sk-" + "lf-1234abcd-12ab-34cd-56ef-1234567890ab"),
]
"""Kind and value. Keys are written in two pieces, so that no scanner takes them for leaked ones."""

ORDINARY = [
    "Refunds take 3-5 business days.",
    "订单 20240131000123 于 2024-01-31 12:30:05 发货",
    "订单号：202401310001234567",
    "Order 4006-1234-567",
    "ISBN 978-3-16-148410-0",
    "ISBN 9783161484100",
    "ISBN-10 0-306-40615-2",
    "version 2026.10.11549",
    "v1.2.3-rc.4+build.567",
    "192.168.100.200",
    "10.0.0.1:8080",
    "2001:db8::8a2e:370:7334",
    "2024-01-31 to 2025-01-31",
    "2024/01/31",
    "20240131",
    "1,234,567.89",
    "12 345 678",
    "¥12,345,678.00",
    "RMB 13812345.67",
    "pi is 3.14159265358979323846",
    "0.13812345678",
    "RFC 9110 [1]",
    "section 10.2.3",
    "GB 11643-1999",
    "ISO/IEC 7812-1",
    "1700000000",
    "1700000000123",
    "epoch 1700000000123456",
    "4111 1111 1111 1112",
    "SKU 123-45-678",
    "UUID 123e4567-e89b-12d3-a456-426614174000",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "a@b",
    "@user",
    "2+2=4",
    "DE12 is a motorway",
    "E12345678 part",
    "1990-2020",
    "(1) 2 (3)",
    "12:30-13:45",
    "100-200 mg",
    "temperature 36.6",
    "110105194912310021",
    "3.5.1.2.7",
    "GB29 NWBK 6016 1331 9268 18",
    "https://example.com/a:b@c/d",
    "http://example.com:8080/x@y",
    "sk-learn",
    "the sk_ prefix",
    "100000-200000",
    "2024-01-31T12:30:05Z",
    "1st-2nd",
    "tel",
    "第138条至第1234条",
    "The fine is 1,234,567.89 euros, or 12 345 678.",
    "see section 10.2.3 of RFC 9110 [1]",
    "4111 1111 1111 1112 is no card",
    "version 2026.10.11549 from 192.168.100.200",
]


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
@pytest.mark.parametrize("frame", ["{}", "Call me: {}.", "请联系{}，谢谢", "号码是{}。"])
def test_secrets_are_replaced_in_english_and_chinese(kind: str, secret: str, frame: str) -> None:
    """The text around them stays."""
    before, after = frame.split("{}")
    found = REDACT(frame.format(secret))
    assert re.fullmatch(re.escape(before) + rf"<{kind}_[A-Z]{{6}}>" + re.escape(after), found)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_numbers_stay(text: str) -> None:
    """Dates, amounts, versions, order numbers, ISBNs, addresses of machines, numbers whose checksum is wrong."""
    assert REDACT(text) == text


def test_equal_values_get_equal_placeholders_however_they_are_written() -> None:
    """So that a claim can still be checked against a document."""
    assert REDACT("138 1234 5678") == REDACT("13812345678") == REDACT("+86 138-1234-5678")
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


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
def test_a_claim_still_matches_its_document(kind: str, secret: str) -> None:
    """One value has one placeholder in question, document and answer, whatever stands around it."""
    asked, found, answered = f"谁的号码是{secret}？", f"Owner: {secret}, since May", f"{secret} [1]"
    placeholders = {re.findall(rf"<{kind}_[A-Z]{{6}}>", REDACT(text))[0] for text in (asked, found, answered)}
    assert len(placeholders) == 1


def test_a_password_in_a_url_goes_and_the_rest_of_the_url_stays() -> None:
    """Connection strings stand in runbooks."""
    found = REDACT("see postgres://app:hunter2@db.internal:5432/shop")
    assert re.fullmatch(r"see postgres://<PASSWORD_[A-Z]{6}>@db\.internal:5432/shop", found)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h:1/v1/traces", "https://h:1/v1/traces"),
        ("https://u:p@h/x?key=s&b=2", f"https://{MASK}@h/x?key={MASK}&b={MASK}"),
        ("grpc://u@h:1", f"grpc://{MASK}@h:1"),
        ("http://[::1", MASK),
    ],
)
def test_a_url_is_shown_without_credentials(url: str, shown: str) -> None:
    """And a text that is none is not shown at all."""
    assert without_credentials(url) == shown
