"""Values of written numbers: Arabic with thousands and magnitudes, English number words, Chinese numerals."""

from __future__ import annotations

import re
from functools import lru_cache

from ragtrace.text.lexicon import english

_ZH_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_ZH_TENS = {"十": 10, "百": 100, "千": 1_000}
_ZH_MYRIADS = {"万": 10_000, "亿": 100_000_000}
_SHORT_MAGNITUDES = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "b": 1e9, "tn": 1e12}
_WORD = re.compile(r"[a-z]+|\d[\d,]*(?:\.\d+)?")
_ARABIC_THEN_ZH = re.compile(r"([\d,]*\.?\d+)\s*([十百千万亿]*)$")


@lru_cache(maxsize=1024)
def value(text: str) -> float | None:
    """The number that ``text`` (lower case, NFKC) writes → its value, or ``None`` when it writes none.

    Reads ``1,500``, ``1.5 million``, ``2bn``, ``twenty-one``, ``two hundred and five``, ``三百零五``,
    ``1.2亿``, ``十二点五``, ``二〇二六`` and ``半``.
    """
    text = text.strip()
    mixed = _ARABIC_THEN_ZH.fullmatch(text)
    if mixed:
        number = float(mixed[1].replace(",", ""))
        for magnitude in mixed[2]:
            number *= _ZH_TENS.get(magnitude) or _ZH_MYRIADS[magnitude]
        return number
    return _chinese(text) if text[:1] > "\u2fff" else _english(text)


def _english(text: str) -> float | None:
    lexicon = english()
    total, current, seen = 0.0, 0.0, False
    for word in _WORD.findall(text):
        if word[0].isdigit():
            current, seen = float(word.replace(",", "")), True
        elif word in lexicon.number_words:
            current, seen = current + lexicon.number_words[word], True
        elif word == "hundred":
            current, seen = (current or 1.0) * 100, True
        elif word in lexicon.magnitudes or word in _SHORT_MAGNITUDES:
            factor = lexicon.magnitudes.get(word) or _SHORT_MAGNITUDES[word]
            total, current, seen = total + (current or 1.0) * factor, 0.0, True
        elif word == "dozen":
            current, seen = (current or 1.0) * 12, True
        elif word == "half":
            current, seen = current + 0.5, True
        elif word not in {"and", "a", "an"}:
            return None
    return total + current if seen else None


def _chinese(text: str) -> float | None:
    if text == "半":
        return 0.5
    whole, _, fraction = text.partition("点")
    number = _chinese_integer(whole)
    if number is None or not fraction:
        return number
    digits = "".join(str(_ZH_DIGITS[c]) for c in fraction if c in _ZH_DIGITS)
    return float(f"{number:.0f}.{digits}") if digits else number


def _chinese_integer(text: str) -> float | None:
    if not text or any(c not in _ZH_DIGITS and c not in _ZH_TENS and c not in _ZH_MYRIADS for c in text):
        return None
    if all(c in _ZH_DIGITS for c in text):
        return float("".join(str(_ZH_DIGITS[c]) for c in text))
    total = section = digit = 0
    for char in text:
        if char in _ZH_DIGITS:
            digit = _ZH_DIGITS[char]
        elif char in _ZH_TENS:
            section, digit = section + (digit or 1) * _ZH_TENS[char], 0
        else:
            total, section, digit = (total + section + digit) * _ZH_MYRIADS[char], 0, 0
    return float(total + section + digit)
