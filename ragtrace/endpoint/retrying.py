"""Whether a request is worth sending again, and how long to wait before."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_TRANSIENT = frozenset({408, 409, 425, 429})


def is_transient(status: int) -> bool:
    """Whether the same request may fare better later than with an answer of this HTTP ``status``."""
    return status >= 500 or status in _TRANSIENT


def backoff(attempt: int, retry_after: float | None, jitter: float) -> float:
    """Seconds to wait before retry number ``attempt`` (from 1): what the endpoint asked for, else 0.5 s,
    doubled each time up to 8 s; ``jitter`` in 0..1 takes away up to half of the latter."""
    if retry_after is not None:
        return retry_after
    return min(8.0, 0.5 * 2.0 ** (attempt - 1)) * (1 - 0.5 * jitter)


def asked_pause(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a refusal asks to wait; ``None`` where it asks for nothing that makes sense.

    ``retry-after-ms`` (Azure, OpenAI) says it more finely than ``retry-after``, which holds seconds or a date
    (RFC 9110 §10.2.3). A date is read by the endpoint's own clock where it tells the time, else by ``now``,
    in seconds since the epoch.
    """
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after")
    seconds = _seconds(asked)
    if seconds is not None:
        return seconds
    until, theirs = _date(asked), _date(headers.get("date"))
    return None if until is None else max(0.0, until - (now if theirs is None else theirs))


def _seconds(value: str | None) -> float | None:
    """A number of 0 or more, and not without end."""
    try:
        seconds = float(value) if value is not None else -1.0
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _date(value: str | None) -> float | None:
    """Seconds since the epoch of a date as HTTP writes it."""
    try:
        return parsedate_to_datetime(value).timestamp() if value else None
    except (ValueError, OverflowError):
        return None
