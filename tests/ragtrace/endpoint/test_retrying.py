"""How long to wait before the next attempt."""

from __future__ import annotations

import pytest

from ragtrace.endpoint.retrying import backoff, parse_retry_after


@pytest.mark.parametrize(
    ("attempt", "retry_after", "jitter", "seconds"),
    [(1, None, 0.0, 0.5), (2, None, 0.0, 1.0), (9, None, 0.0, 8.0), (2, None, 1.0, 0.5), (1, 3.0, 1.0, 3.0)],
)
def test_the_wait_doubles_unless_the_endpoint_says(
    attempt: int, retry_after: float | None, jitter: float, seconds: float
) -> None:
    """Retry-After is taken as it is."""
    assert backoff(attempt, retry_after, jitter) == seconds


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2", 2.0),
        ("0.5", 0.5),
        ("0", 0.0),
        (None, None),
        ("-1", None),
        ("inf", None),
        ("nan", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
    ],
)
def test_only_sane_seconds_are_heeded(header: str | None, seconds: float | None) -> None:
    """Dates and nonsense are as good as none."""
    assert parse_retry_after(header) == seconds
