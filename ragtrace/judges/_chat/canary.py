"""A claim with a known answer in every request: a judge that text has steered gives it away.

The canary claim names a random code that no document holds, so SUPPORTED is always wrong; where relevance is
asked, a decoy document about a random box can never help. Both are worded like ordinary data, and have
nothing in common: a small model would take the one for evidence of the other.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from ragtrace.model import Language, Support

_CLAIM = {"en": "Room {room} has code {code}.", "zh": "{room}号房的密码是{code}。"}
_DECOY = {"en": "Box {box} stands on shelf {code}.", "zh": "{box}号箱放在{code}架。"}


@dataclass(frozen=True, slots=True)
class Canary:
    """A claim that is never supported, and a document that never helps."""

    claim: str
    decoy: str


def draw_canary(language: Language, token: Callable[[int], str] = secrets.token_hex) -> Canary:
    """A canary that no document's author can foresee."""
    claim = _CLAIM[language].format(room=token(1).upper(), code=token(2).upper())
    return Canary(claim, _DECOY[language].format(box=token(1).upper(), code=token(1).upper()))


def canary_holds(supports: list[Support | None]) -> bool | None:
    """Whether the canary claim was judged rightly; ``None`` when it was not judged.

    ``supports`` are the verdicts on it (``None`` = called no claim, which is wrong as well).
    """
    if not supports:
        return None
    return all(support in (Support.CONTRADICTED, Support.NOT_FOUND) for support in supports)
