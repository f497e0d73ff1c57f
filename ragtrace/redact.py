"""Redaction: an ordered table of patterns, each with the check that its matches must pass.

A match is replaced by a placeholder made from its kind and a keyed hash, ``<EMAIL_KQZRTB>``: equal values get
equal placeholders in question, documents and answer, so that claims can still be checked against documents,
and without the key nobody can try values until one fits. Letters only: a digit would read as a number that
the answer made up.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit, urlunsplit

_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
MASK = "**********"
"""Stands where a secret was, in what is shown."""
_CHINA = re.compile(r"^(?:\+|00)?86(?=1[3-9]\d{9}$)")
"""A mobile number is the same one with and without the country's."""
_ALWAYS: Callable[[str], bool] = bool


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of secret: what it looks like, and a check for what looks like it by chance."""

    kind: str
    regex: re.Pattern[str]
    accepts: Callable[[str], bool] = _ALWAYS


def is_card(text: str) -> bool:
    """13 to 19 digits that begin as issuers' numbers do, and whose Luhn checksum (ISO/IEC 7812-1) holds.

    Issuers' numbers begin with 3 to 6, 22 to 27 or 9558: one order number in ten passes the checksum, but
    most begin with a 1 or with the year.
    """
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    begin = re.match(r"[3-6]|2[2-7]|9558", "".join(map(str, digits[:4])))
    return bool(begin) and 13 <= len(digits) <= 19 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def is_resident_id(text: str) -> bool:
    """18 characters of a Chinese resident identity number whose checksum (GB 11643-1999) holds."""
    total = sum(int(digit) * pow(2, 17 - place, 11) for place, digit in enumerate(text[:17]))
    return text[17].upper() == "10X98765432"[total % 11]


def is_iban(text: str) -> bool:
    """An account number whose check digits (ISO 13616, ISO 7064 mod 97-10) hold."""
    plain = text.replace(" ", "").upper()
    rearranged = plain[4:] + plain[:4]
    return 15 <= len(plain) <= 34 and int("".join(str(int(char, 36)) for char in rearranged)) % 97 == 1


def is_phone(text: str) -> bool:
    """8 to 15 digits (ITU-T E.164), written as a phone number is."""
    return 8 <= sum(char.isdigit() for char in text) <= 15


def _ascii(pattern: str) -> re.Pattern[str]:
    """With ASCII words only: between a Chinese character and a key there is a word boundary."""
    return re.compile(pattern, re.ASCII)


_PROVIDERS = "|".join(
    (
        r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic, Stripe, Langfuse, DashScope, DeepSeek
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",  # AWS
        r"\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_\w{30,}|\bglpat-[\w-]{20,}",
        r"\bxox[abeprs]-[\w-]{10,}|\bxapp-[\w-]{20,}",  # Slack
        r"\bAIza[\w-]{35}|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}",  # Google
        r"\bLTAI[A-Za-z0-9]{12,20}\b|\bAKID[A-Za-z0-9]{32}\b",  # Alibaba Cloud, Tencent Cloud
        r"\bhf_[A-Za-z0-9]{30,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[\w-]{50,}",
        r"\bSG\.[\w-]{16,}\.[\w-]{32,}|\b\d{8,10}:AA[\w-]{33}",  # SendGrid, Telegram
        r"(?<=AccountKey=)[A-Za-z0-9+/]{40,}=*",  # Azure Storage
    )
)

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "PRIVATE_KEY",
        _ascii(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    ),
    Pattern("TOKEN", _ascii(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}")),
    Pattern("KEY", _ascii(_PROVIDERS)),
    Pattern("KEY", _ascii(r"(?i)(?<=\bbearer )[\w.~+/-]{16,}=*")),
    Pattern("KEY", _ascii(r"(?i)(?<=aws_secret_access_key=)[A-Za-z0-9/+]{40}\b")),
    Pattern("PASSWORD", _ascii(r"(?<=://)[^\s/:@]{1,64}:[^\s/@]{1,128}(?=@[\w.\[-])")),
    Pattern(
        "EMAIL",
        _ascii(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w\u3400-\u9fff-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])"),
    ),
    Pattern("IBAN", _ascii(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b"), is_iban),
    Pattern("ID", _ascii(r"(?<!\d)[1-9]\d{5}(?:18|19|20)\d{2}[01]\d[0-3]\d{4}[\dXx](?!\w)"), is_resident_id),
    Pattern("CARD", _ascii(r"(?<![\d.+])\d(?:[ -]?\d){12,18}(?![\d.]*\d)"), is_card),
    Pattern("SSN", _ascii(r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])")),
    Pattern("PHONE", _ascii(r"(?<![\d.+])(?:(?:\+|00)?86[ -]?)?1[3-9]\d(?:[ -]?\d{4}){2}(?!\d)")),
    Pattern("PHONE", _ascii(r"(?<![\d.])\+\d{1,3}(?:[ .-]?\(?\d{1,4}\)?){2,5}(?!\d)"), is_phone),
    Pattern("PHONE", _ascii(r"(?<![\d.-])\(?\d{3}\)?[ .-]\d{3}[.-]\d{4}(?![\d.-]*\d)")),
    Pattern(
        "PHONE", _ascii(r"(?<![\d.-])(?:\(0[1-9]\d{1,2}\) ?|0[1-9]\d{1,2}[ -])\d{3,4}[ -]?\d{4}(?![\d-])")
    ),
    Pattern("PHONE", _ascii(r"(?<![\d.-])[48]00-\d{3,4}-\d{3,4}(?![\d-])")),
)
"""In order: what is longer and surer first, so that a card number is not taken for a phone number."""


def named(patterns: Mapping[str, str]) -> tuple[Pattern, ...]:
    """Regular expressions of a user's own, by kind → patterns for :attr:`Redactor.more`.

    Raises:
        re.error: one is no regular expression.
    """
    return tuple(Pattern(kind, re.compile(regex)) for kind, regex in patterns.items())


def host_of(url: str) -> str:
    """``HOST[:PORT]`` of a URL, without the credentials before it.

    Raises:
        ValueError: it is no URL.
    """
    return urlsplit(url).netloc.rpartition("@")[2]


def without_credentials(url: str) -> str:
    """``url`` with user and password, and the values of its query, masked: fit to be shown.

    A text that is no URL is masked whole: nobody knows what is in it.
    """
    try:
        parts, host = urlsplit(url), host_of(url)
    except ValueError:
        return MASK
    netloc = f"{MASK}@{host}" if host != parts.netloc else host
    query = "&".join(f"{pair.partition('=')[0]}={MASK}" for pair in parts.query.split("&") if pair)
    return urlunsplit((parts.scheme, netloc, parts.path, query, ""))


@dataclass(frozen=True, slots=True)
class Redactor:
    """Replaces what the patterns find. ``key`` is the secret of the placeholders.

    A pattern of the user's own is one more :class:`Pattern`; those in ``more`` come first.
    """

    key: str = field(repr=False)
    more: tuple[Pattern, ...] = ()

    def __call__(self, text: str) -> str:
        """``text`` with every match replaced by its placeholder."""
        for pattern in (*self.more, *PATTERNS):
            text = pattern.regex.sub(partial(self._replace, pattern), text)
        return text

    def _replace(self, pattern: Pattern, match: re.Match[str]) -> str:
        found = match[0]
        return f"<{pattern.kind}_{self._name(found)}>" if pattern.accepts(found) else found

    def _name(self, found: str) -> str:
        """Six letters of a keyed hash; spelling (case, spaces, hyphens, +86) does not make another value."""
        same = _CHINA.sub("", re.sub(r"[\s().-]", "", found).lower())
        digest = hashlib.blake2b(same.encode("utf-8", "replace"), key=self.key.encode()[:64], digest_size=8)
        number = int.from_bytes(digest.digest(), "big")
        return "".join(_LETTERS[number // len(_LETTERS) ** place % len(_LETTERS)] for place in range(6))
