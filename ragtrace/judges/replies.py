"""Strict reading of what a model wrote.

Form is forgiven (thinking text, code fences, a cut end, numbers in strings, letter case), content never: a
verdict outside its enum is no verdict, and what is said twice in two ways is not said. What cannot be read is
simply not there; whoever asked sees what is missing and asks again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ragtrace.model import Support

_THINKING_END = re.compile(r".*</(?:think|thinking|thought|reasoning)\s*>", re.DOTALL | re.IGNORECASE)
_THINKING_OPEN = re.compile(r"<(?:think|thinking|thought|reasoning)\s*>.*", re.DOTALL | re.IGNORECASE)
_YES = {
    "yes": True,
    "true": True,
    "1": True,
    "是": True,
    "no": False,
    "false": False,
    "0": False,
    "否": False,
}
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|$)|[{}\[\],]', re.DOTALL)
"""A string, whole or broken off, or a character that gives JSON its structure."""
_CLOSING = {"{": "}", "[": "]"}
_MAX_STARTS = 64
"""How many opening braces are tried as the start of the object: prose with formulas must not cost seconds."""


class Ambiguous(ValueError):
    """A reply says the same thing twice, in two ways: which one is meant nobody knows."""


def read_object(text: str, keys: frozenset[str]) -> tuple[dict[str, Any], bool]:
    """The JSON object in ``text`` that has some of ``keys``, and whether its end is missing.

    Text up to the last closing thinking tag is dropped, and thinking that never closes: what it drafts is no
    answer. Several such objects are one that came in parts. ``({}, False)`` where there is none.

    Raises:
        Ambiguous: a key stands twice in one object, or in two of the objects, with different values.
    """
    stripped = text.strip()
    if stripped.startswith("{") and (whole := _load(stripped)) is not None:
        return whole, False
    answer = _THINKING_OPEN.sub("", _THINKING_END.sub("", text))
    complete = [found for found in _objects(answer) if keys & found.keys()]
    if complete:
        return _unambiguous([pair for found in complete for pair in found.items()]), False
    cut = _cut_object(answer, keys)
    return (cut, True) if cut else ({}, False)


def read_int(value: Any) -> int | None:
    """A whole number, also as ``"3"``, ``"３"``, ``3.0``, ``"[3]"``, ``"D3"``; anything else is ``None``."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str) and (match := re.fullmatch(r"[\[【(]?[DU#]?(\d{1,6})[\]】)]?", value.strip())):
        return int(match.group(1))
    return None


def read_flag(value: Any) -> bool | None:
    """Yes or no, also as a boolean, 0 or 1; anything else is ``None``."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | str):
        return _YES.get(str(value).strip().strip(".。\"'").casefold())
    return None


def read_support(value: Any) -> Support | None:
    """A verdict of the enum, letter case and separators forgiven; anything else is ``None``."""
    name = _enum_name(value)
    return Support(name) if name in Support.__members__ else None


def is_no_claim(value: Any) -> bool:
    """Whether the verdict says that the sentence states no fact."""
    return _enum_name(value) == "NO_CLAIM"


def read_text(value: Any) -> str:
    """A string without outer space and lone surrogates (JSON can hold them, UTF-8 cannot); anything else is
    ``""``."""
    return value.encode("utf-8", "ignore").decode().strip() if isinstance(value, str) else ""


def read_list(value: Any) -> list[Any]:
    """A list; a single value stands for a list of one, nothing for an empty one."""
    if isinstance(value, list):
        return value
    return [] if value is None or value == "" else [value]


def read_mappings(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list."""
    return [part for part in read_list(value) if isinstance(part, dict)]


def _enum_name(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    return re.sub(r"[\s_-]+", "_", value.strip().strip(".。\"'")).upper()


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of ``pairs``; the standard library would silently take the last of two."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise Ambiguous(key)
        found[key] = value
    return found


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unambiguous)


def _load(text: str) -> dict[str, Any] | None:
    try:
        value = _DECODER.decode(text)
    except Ambiguous:
        raise
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every complete outermost JSON object in ``text``."""
    position, starts = text.find("{"), 0
    while position >= 0 and starts < _MAX_STARTS:
        starts += 1
        try:
            value, position = _DECODER.raw_decode(text, position)
            yield value
        except Ambiguous:
            raise
        except (ValueError, RecursionError):
            position += 1
        position = text.find("{", position)


def _cut_object(text: str, keys: frozenset[str]) -> dict[str, Any]:
    """What can be read of an object that breaks off; its last, incomplete part is left out."""
    for match in list(re.finditer(r"\{", text))[:_MAX_STARTS]:
        value = _load(_closed(text[match.start() :]))
        if value is not None and keys & value.keys():
            return value
    return {}


def _closed(text: str) -> str:
    """JSON that breaks off, without its last, incomplete part and with its brackets closed."""
    open_: list[str] = []
    end, depth = 0, 0
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark in _CLOSING:
            open_.append(_CLOSING[mark])
        elif mark in ("}", "]"):
            if not open_ or open_.pop() != mark:
                return ""
            end, depth = token.end(), len(open_)
        elif mark == ",":
            end, depth = token.start(), len(open_)
    return text[:end] + "".join(reversed(open_[:depth]))
