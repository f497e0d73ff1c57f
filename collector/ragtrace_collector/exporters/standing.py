"""What the log is told of a destination: that it is away, that it is back for good, what it refuses."""

from __future__ import annotations

import logging

from ragtrace.errors import PermanentExport, RetryableExport
from ragtrace_collector.exporters.sender import Misdirected

_log = logging.getLogger(__name__)
BACK_AFTER = 30.0
"""Seconds without a failure until a destination is back: one that comes and goes gets no line each time."""
_AWAY_AFTER = 2
"""Attempts after which a failure is more than a hiccup, and worth a line in the log."""


class Standing:
    """Told of every answer and every failure, ``now`` in seconds of any steady clock; writes few lines.

    That a destination is back is said at its first answer after :data:`BACK_AFTER` seconds of nothing else.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._is_away = False
        self._faults: set[str] = set()
        self._complaints: set[str] = set()
        self._up_since: float | None = None

    def failed(self, error: RetryableExport, attempt: int) -> None:
        """Attempt number ``attempt`` (0 is the first) of a request got no yes and no no."""
        self._up_since = None
        if isinstance(error, Misdirected) and str(error) not in self._faults:
            self._faults.add(str(error))
            _log.error("%s: %s; %s. Spans are kept until it takes them", self._name, error, error.advice)
        if attempt == _AWAY_AFTER and not self._is_away:
            self._is_away = True
            _log.warning("%s is away (%s). Its spans are kept until it is back", self._name, error)

    def answered(self, now: float) -> None:
        """A request was taken."""
        if not self._is_away and not self._faults:
            return
        if self._up_since is None:
            self._up_since = now
        if now - self._up_since >= BACK_AFTER:
            self._is_away = False
            self._faults.clear()
            _log.warning("%s takes spans again, for %.0f seconds now", self._name, now - self._up_since)

    def refused(self, error: PermanentExport) -> None:
        """A request will never be taken: the first of each kind is told, the figures count the rest."""
        if str(error) not in self._complaints:
            self._complaints.add(str(error))
            _log.error("%s will not take spans: %s", self._name, error)
