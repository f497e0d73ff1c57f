"""Keeping data and rubric apart: every item of a request starts with a mark that its data cannot contain.

The rubric is the system message and goes out unchanged. The user message is a list of items,
``[<nonce>:D1] text``; the nonce is drawn anew for each request until it occurs in none of its texts, so no
document can open or close an item. Characters that a reader cannot see, and the control tokens of chat
templates (which some servers obey inside a message), are defused first.
"""

from __future__ import annotations

import itertools
import re
import secrets
from collections.abc import Callable, Iterable

_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef\ud800-\udfff]"
)
"""Controls, zero-width and direction marks, variation selectors, the tag block, lone surrogates."""

_CONTROL_TOKEN = re.compile(
    r"<(?=[|｜])|(?<=[|｜])>|<(?=/?(?:s|think|thinking|im_start|im_end|(?:start|end)_of_turn)>)"
    r"|<(?=<?/?SYS>)|\[(?=/?INST\])",
    re.IGNORECASE,
)


def visible(text: str) -> str:
    """``text`` without invisible characters and with chat-template tokens broken up by a space."""
    return _CONTROL_TOKEN.sub(_spaced, _INVISIBLE.sub("", text))


def draw_letters(count: int) -> str:
    """``count`` random consonants: no word, and nothing that a model could take for a number."""
    return "".join(secrets.choice("bcdfghjklmnpqrstvwxz") for _ in range(count))


def draw_nonce(texts: Iterable[str], draw: Callable[[int], str] = draw_letters) -> str:
    """A mark that occurs in none of ``texts``: ``draw(n)`` gives n random letters.

    Short, for it is paid for at every item; longer where the texts hold many of the short ones.
    """
    parts = list(texts)
    for tries in itertools.count():
        nonce = draw(4 + tries // 4)
        if not any(nonce in part for part in parts):
            return nonce
    raise AssertionError("unreachable")


def item(nonce: str, label: str, text: str) -> str:
    """One fenced item."""
    return f"[{nonce}:{label}] {text}"


def _spaced(match: re.Match[str]) -> str:
    return f"{match.group()} " if match.group() in "<[" else f" {match.group()}"
