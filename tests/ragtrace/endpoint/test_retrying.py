"""How long to wait before the next attempt."""

from __future__ import annotations

import pytest

from ragtrace.endpoint.retrying import asked_pause, backoff


@pytest.mark.parametrize(
    ("attempt", "retry_after", "jitter", "seconds"),
    [(1, None, 0.0, 0.5), (2, None, 0.0, 1.0), (9, None, 0.0, 8.0), (2, None, 1.0, 0.5), (1, 3.0, 1.0, 3.0)],
)
def test_the_wait_doubles_unless_the_endpoint_says(
    attempt: int, retry_after: float | None, jitter: float, seconds: float
) -> None:
    """Retry-After is taken as it is."""
    assert backoff(attempt, retry_after, jitter) == seconds


NOW = 1_792_567_680.0
"""2026-10-21 07:28:00 UTC."""


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:05 GMT"}, 5.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 99 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:05 GMT", "date": "Wed, 21 Oct 2026 07:28:02 GMT"}, 3.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:05 GMT", "date": "today"}, 5.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "many", "retry-after": "1"}, 1.0),
    ],
)
def test_every_form_of_a_pause_is_read_and_nonsense_is_none(
    headers: dict[str, str], seconds: float | None
) -> None:
    """Seconds, a date by the endpoint's clock or ours, milliseconds where they are finer."""
    assert asked_pause(headers, NOW) == seconds
