"""Any Python value → JSON text that is valid UTF-8. Total: never raises, never consumes an iterator.

One bad value costs only itself: it becomes a short description such as ``<generator tokens>`` and the values
around it stay. What a reader of the JSON sees: an enum is its value, a set a list, a date ISO 8601, a numpy
scalar a number; NaN and infinities are strings (JSON has no numbers for them), an ancestor met again is
``<cycle>``.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import json.encoder
import math
import pathlib
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import Any

MAX_DEPTH = 16
"""Containers nested deeper than this are described, not entered."""
MAX_ITEMS = 10_000
"""Items of one container that are written; the rest is counted in one closing string."""

Json = Any
"""None, bool, int, float, str, list or dict of the same."""

_AS_STRING = (decimal.Decimal, uuid.UUID, pathlib.PurePath, datetime.timedelta, complex)
_CONSUMED = ("__next__", "__anext__", "__await__")
"""What has one of these is used up by reading it."""
_SEQUENCES = (list, tuple, set, frozenset, deque, AbstractSet)


def to_json(value: object) -> str:
    """JSON text of any ``value``, not ASCII-escaped, no lone surrogates."""
    try:
        return clean("".join(_encode(value, 0)))
    except Exception:  # noqa: BLE001  # an enum key, a cycle, NaN, a hostile __iter__: the careful walk knows them all
        return clean(_STRICT.encode(plain(value)))


def clean(text: str) -> str:
    """``text`` with each lone surrogate replaced by U+FFFD, so that it can be encoded as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def plain(value: object, text: Callable[[str], str] = clean) -> Json:
    """Copy ``value`` into JSON types; every string in it, keys apart, goes through ``text``."""
    return _plain(value, text, ())


def _plain(value: object, text: Callable[[str], str], above: tuple[int, ...]) -> Json:
    try:
        return _scalar(value, text, above)
    except Exception:  # noqa: BLE001  # __str__, properties and iterators of the app may do anything
        return describe(value)


def _scalar(value: object, text: Callable[[str], str], above: tuple[int, ...]) -> Json:
    match value:
        case enum.Enum():
            out = _plain(value.value, text, above)
        case str():
            out = text(str.__str__(value))
        case None | bool():
            out = value
        case int():
            out = _integer(int(value), text)
        case float():
            out = float(value) if math.isfinite(value) else str(float(value))
        case bytes() | bytearray():
            out = text(bytes(value).decode("utf-8", "backslashreplace"))
        case datetime.date() | datetime.time():
            out = value.isoformat()
        case _ if isinstance(value, _AS_STRING):
            out = text(str(value))
        case _ if id(value) in above:
            out = "<cycle>"
        case _ if len(above) >= MAX_DEPTH:
            out = describe(value)
        case _:
            out = _container(value, text, (*above, id(value)))
    return out


def _integer(value: int, text: Callable[[str], str]) -> Json:
    """The number, or the text that ``text`` makes of its digits (a phone number kept as a number)."""
    digits = str(value)
    changed = text(digits)
    return value if changed == digits else changed


def _container(value: object, text: Callable[[str], str], above: tuple[int, ...]) -> Json:
    if isinstance(value, Mapping):
        out = _mapping(value, text, above)
    elif isinstance(value, _SEQUENCES):
        out = _sequence(value, text, above)
    elif callable(value) or any(hasattr(value, name) for name in _CONSUMED):
        out = describe(value)
    elif type(value).__module__ == "numpy":
        out = _numpy(value, text, above)
    elif is_dataclass(value):
        out = {f.name: _plain(getattr(value, f.name), text, above) for f in fields(value)}
    elif hasattr(
        value, "model_fields_set"
    ):  # pydantic: read, not dumped, so that no serializer of the app runs
        out = _mapping(vars(value), text, above)
    else:
        out = text(str(value)) if _has_own_text(value) else describe(value)
    return out


def _mapping(value: Mapping[Any, Any], text: Callable[[str], str], above: tuple[int, ...]) -> Json:
    out: dict[str, Json] = {}
    for index, (key, item) in enumerate(value.items()):
        if index == MAX_ITEMS:
            out["…"] = f"<{len(value) - MAX_ITEMS} more>"
            break
        out[_key(key)] = _plain(item, text, above)
    return out


def _key(key: object) -> str:
    try:
        return clean(str(key.value if isinstance(key, enum.Enum) else key))
    except Exception:  # noqa: BLE001  # a key whose __str__ raises
        return describe(key)


def _sequence(value: Any, text: Callable[[str], str], above: tuple[int, ...]) -> Json:
    out: list[Json] = []
    for index, item in enumerate(value):
        if index == MAX_ITEMS:
            out.append(f"<{len(value) - MAX_ITEMS} more>")
            break
        out.append(_plain(item, text, above))
    return out


def _numpy(value: Any, text: Callable[[str], str], above: tuple[int, ...]) -> Json:
    """A scalar as a Python number, a small array as lists, a large one (an embedding) as its shape."""
    if value.size > MAX_DEPTH * MAX_DEPTH:
        return f"<array {value.dtype} {value.shape}>"
    return _plain(value.tolist(), text, above[:-1])


def _has_own_text(value: object) -> bool:
    kind = type(value)
    return kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__


def describe(value: object) -> str:
    """A short safe description, without content and without a memory address: ``<generator tokens>``."""
    kind = type(value).__name__
    name = getattr(value, "__name__", None) if not isinstance(value, Mapping) else None
    return f"<{kind} {name}>" if isinstance(name, str) else f"<{kind}>"


_STRICT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=plain)


def _encoder() -> Callable[[object, int], Iterable[str]]:
    """What ``_STRICT.encode`` builds anew for each call, which is half of the work for a small value.

    Without its table of ancestors, which an exception would leave dirty, a cycle ends in a RecursionError.
    """
    make = getattr(json.encoder, "c_make_encoder", None)  # CPython has it
    if make is None:
        return lambda value, _: _STRICT.iterencode(value)
    quote = json.encoder.encode_basestring
    encode: Callable[[object, int], Iterable[str]] = make(
        None, plain, quote, None, ": ", ", ", False, False, False
    )
    return encode


_encode = _encoder()
