"""Chinese names that were swapped: two wordings that agree but for a name in the same place.

Chinese has no capitals to tell a name by. Taken for names are listed places and brands, a surname with one
or two characters, what stands before a title or a suffix ("…市", "…大学", "…医生"), and Latin words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files

from ragtrace.text import lexicon
from ragtrace.text.tokens import words

_LONGEST_NAME = 6
_LONGEST_PERSON = 3
_BEHIND = 3
_STOPS = ",;:，；、：。()（）!?！？"
_ENDS = ".。!！ "


def rival_names(claim: str, passage: str) -> Iterator[tuple[str, str]]:
    """(name in ``claim``, other name in its place in ``passage``), both texts normalised."""
    said, found = name_tokens(claim.rstrip(_ENDS)), name_tokens(passage)
    steps = SequenceMatcher(None, said, found, autojunk=False).get_opcodes()
    for place, (tag, i1, i2, j1, j2) in enumerate(steps):
        if tag != "replace" or (place == 0 and place == len(steps) - 1):
            continue
        one, other = said[i1:i2], _to_stop(found[j1:j2])
        if len(one) == 1 and _kind(one[0]) and other and _kind(other[0]):
            other = other[:1]  # what follows a place may say more of it: a district, a street
        elif len(one) == len(other) == 1 and i1 and are_given_names(said[i1 - 1], one[0], other[0]):
            one, other = said[i1 - 1 : i2], found[j1 - 1 : j1 + 1]
        elif are_surnames(one, other, said[i2 : i2 + 1]) and said[i2] == found[j2]:
            yield one[0] + said[i2], other[0] + said[i2]
            continue
        if len(one) <= _LONGEST_NAME and are_rival_names(one, other, said[i2 : i2 + _BEHIND]):
            yield "".join(one), "".join(other)


def name_tokens(normal: str) -> tuple[str, ...]:
    """The words and stops of a normalised text; a listed Chinese name is one of them."""
    found: list[str] = []
    end = 0
    for match in _whole().finditer(normal):
        found += words(normal[end : match.start()])
        found.append(match[0])
        end = match.end()
    return (*found, *words(normal[end:]))


def are_given_names(surname: str, one: str, other: str) -> bool:
    """Whether two characters behind a surname make two persons: 王芳 and 王强, but not 高度 and 高级."""
    names = _names()
    return surname in names["surnames"] and one in names["given"] and other in names["given"]


def are_surnames(one: Sequence[str], other: Sequence[str], behind: Sequence[str]) -> bool:
    """Whether two characters before the same given name make two persons: 张敏 and 李敏."""
    names = _names()
    return (
        len(one) == len(other) == 1
        and one[0] in names["surnames"]
        and other[0] in names["surnames"]
        and bool(behind)
        and behind[0] in names["given"]
    )


def _to_stop(tokens: Sequence[str]) -> Sequence[str]:
    """``tokens`` up to the first stop: behind it begins what the claim left out."""
    return tokens[: next((place for place, token in enumerate(tokens) if token in _STOPS), len(tokens))]


def are_rival_names(said: Sequence[str], found: Sequence[str], behind: Sequence[str]) -> bool:
    """Whether two stretches of words that stand in the same place, before the words ``behind``, name
    different things of one kind."""
    one, other = "".join(said), "".join(found)
    if not one or not other or one in other or other in one:
        return False
    if _kind(one) and _kind(one) == _kind(other):
        return True
    if len(said) == len(found) == 1 and one.isascii() and other.isascii():
        return one.isalpha() and other.isalpha() and min(len(one), len(other)) > 1
    if not _is_chinese(one) or not _is_chinese(other):
        return False
    return _are_persons(one, other, "".join(behind)) or _precede_suffix(one, other, "".join(behind))


def _are_persons(one: str, other: str, behind: str) -> bool:
    surnames = _names()["surnames"]
    if one[0] not in surnames or other[0] not in surnames:
        return False
    shortest = 1 if behind.startswith(_split("titles")) else 2
    return shortest <= len(one) <= _LONGEST_PERSON and shortest <= len(other) <= _LONGEST_PERSON


def _precede_suffix(one: str, other: str, behind: str) -> bool:
    if not _suffix().match(behind) or not {one, other}.isdisjoint(_split("no_names")):
        return False
    if any(_ASKS.search(name) for name in (one, other)):
        return False
    return 2 <= len(one) <= _LONGEST_NAME and 2 <= len(other) <= _LONGEST_NAME


@cache
def _suffix() -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(_split('suffixes'))})(?![长级民域分别线])")


_ASKS = re.compile("[哪谁几]|什么|多少")


def _is_chinese(text: str) -> bool:
    return all("\u3400" <= char <= "\u9fff" for char in text)


def _kind(word: str) -> str:
    return _kinds().get(word, "")


@cache
def _names() -> dict[str, str]:
    loaded: dict[str, str] = json.loads((files(lexicon) / "names_zh.json").read_text(encoding="utf-8"))
    return loaded


@cache
def _split(name: str) -> tuple[str, ...]:
    return tuple(_names()[name].split())


_KINDS = ("continents", "countries", "provinces", "cities", "brands", "departments")
"""Lists whose members exclude each other. A city and the country that it lies in do not."""


@cache
def _kinds() -> dict[str, str]:
    return {word: kind for kind in _KINDS for word in _split(kind)}


@cache
def _whole() -> re.Pattern[str]:
    return re.compile("|".join((*sorted(map(re.escape, _kinds()), key=len, reverse=True), f"[{_STOPS}]")))
