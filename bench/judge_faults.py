"""What a model's endpoint does wrong, done to any reply."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from servers.openai_chat import Chat, Http

_REFUSAL = "I'm sorry, but I can't help with that."


def faulty(fault: str, reply: Any) -> Chat | Http:
    """``reply`` with what ``fault`` does to it; as it is where there is no fault of that name."""
    make = FAULTS.get(fault)
    return Chat(_dumped(reply)) if make is None else make(reply)


def _dumped(reply: Any) -> str:
    return json.dumps(reply, ensure_ascii=False, separators=(",", ":"))


def _cut(reply: Any) -> Chat:
    text = _dumped(reply)
    return Chat(text[: len(text) // 2], finish="length")


def _first_half(reply: Any) -> Any:
    """Every list without its second half."""
    if isinstance(reply, dict):
        return {key: _first_half(value) for key, value in reply.items()}
    if isinstance(reply, list):
        return [_first_half(item) for item in reply[: (len(reply) + 1) // 2]]
    return reply


def _changed(reply: Any, change: Callable[[str, Any], Any], name: str = "") -> Any:
    """Every value that is no list or object as ``change`` makes it of its property's name and itself."""
    if isinstance(reply, dict):
        return {key: _changed(value, change, key) for key, value in reply.items()}
    if isinstance(reply, list):
        return [_changed(item, change, name) for item in reply]
    return change(name, reply)


def _quoted(_: str, value: Any) -> Any:
    return str(value).lower() if isinstance(value, int | float) else value


_VERDICTS = frozenset(
    {"verdict", "attributed", "result", "value", "label", "helps", "says", "covered", "answered", "evasive"}
)


def _outside(name: str, value: Any) -> Any:
    if name not in _VERDICTS:
        return value
    return 2 if isinstance(value, int) else "partly"


FAULTS: dict[str, Callable[[Any], Chat | Http]] = {
    "refusal": lambda _: Chat(_REFUSAL),
    "cut": _cut,
    "half": lambda reply: Chat(_dumped(_first_half(reply))),
    "quoted": lambda reply: Chat(_dumped(_changed(reply, _quoted))),
    "outside": lambda reply: Chat(_dumped(_changed(reply, _outside))),
    "empty": lambda _: Chat(None, choices=False),
    "filtered": lambda _: Chat(None, finish="content_filter"),
    "500": lambda _: Http(500, "the server had an error"),
}
"""By name: no JSON at all; half the JSON; half the verdicts, in valid JSON; numbers in quotes; verdicts that
the schema does not have; no choice; nothing, for its filter; an error of the server."""
