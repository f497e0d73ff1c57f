"""Our own faults: told once, by type, without content, and never the app's."""

from __future__ import annotations

import logging

_LOG = logging.getLogger("ragtrace")
_told: set[tuple[str, str]] = set()


def tell(what: str, error: Exception) -> None:
    """Log that ``what`` was not recorded because of ``error``, the first time that this happens."""
    fault = (what, type(error).__name__)
    if fault not in _told:
        _told.add(fault)
        _LOG.warning("%s was not recorded: %s (told once)", *fault)
