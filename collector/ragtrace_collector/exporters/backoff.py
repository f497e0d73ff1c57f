"""How long to wait before a request is sent again."""

from __future__ import annotations

FIRST, LONGEST, LONGEST_ASKED = 0.5, 30.0, 300.0
"""Seconds: the first wait, the longest of our own, the longest that a backend may ask for."""


def backoff(attempt: int, asked: float | None, draw: float) -> float:
    """Seconds to wait after failure number ``attempt`` (0 is the first).

    Doubles each time, of which between half and all is waited, as ``draw`` (0..1) says: senders that failed
    together must not come back together. Never less than a backend ``asked`` for.
    """
    own = min(FIRST * 2.0 ** min(attempt, 32), LONGEST) * (0.5 + draw / 2)
    return max(own, min(asked or 0.0, LONGEST_ASKED))
