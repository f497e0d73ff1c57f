"""Strict reading of what a model wrote.

Form is forgiven (thinking text, code fences, a cut end, numbers in strings, letter case), content never: a
verdict outside its enum is no verdict. What cannot be read is simply not there; whoever asked sees what is
missing and asks again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import from_json

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
_MAX_STARTS = 64
"""How many opening braces are tried as the start of the object: prose with formulas must not cost seconds."""


def read_object(text: str, keys: frozenset[str]) -> tuple[dict[str, Any], bool]:
    """The last JSON object in ``text`` that has one of ``keys``, and whether its end is missing.

    Text up to the last closing thinking tag is dropped, and thinking that never closes: what it drafts is no
    answer. ``({}, False)`` where there is no such object.
    """
    stripped = text.strip()
    if stripped.startswith("{") and (whole := _load(stripped)) is not None:
        return whole, False
    answer = _THINKING_OPEN.sub("", _THINKING_END.sub("", text))
    complete = [found for found in _objects(answer) if keys & found.keys()]
    if complete:
        return complete[-1], False
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


def _load(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every complete outermost JSON object in ``text``."""
    decoder, position, starts = json.JSONDecoder(strict=False), text.find("{"), 0
    while position >= 0 and starts < _MAX_STARTS:
        starts += 1
        try:
            value, position = decoder.raw_decode(text, position)
            yield value
        except (ValueError, RecursionError):
            position += 1
        position = text.find("{", position)


def _cut_object(text: str, keys: frozenset[str]) -> dict[str, Any]:
    """What can be read of an object that breaks off; its last, incomplete part is left out."""
    for match in list(re.finditer(r"\{", text))[:_MAX_STARTS]:
        try:
            value = from_json(text[match.start() :], allow_partial=True)
        except ValueError:
            continue
        if isinstance(value, dict) and keys & value.keys():
            return value
    return {}
