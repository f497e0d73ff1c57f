"""How long to wait before a request is sent again."""

from __future__ import annotations


def backoff(attempt: int, retry_after: float | None, jitter: float) -> float:
    """Seconds to wait before retry number ``attempt`` (from 1): what the endpoint asked for, else 0.5 s,
    doubled each time up to 8 s; ``jitter`` in 0..1 takes away up to half of the latter."""
    if retry_after is not None:
        return retry_after
    return min(8.0, 0.5 * 2.0 ** (attempt - 1)) * (1 - 0.5 * jitter)


def parse_retry_after(value: str | None) -> float | None:
    """Seconds of a ``Retry-After`` header; dates and nonsense are ``None``."""
    try:
        seconds = float(value) if value is not None else -1.0
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
