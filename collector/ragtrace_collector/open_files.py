"""How many files and connections this process may have open at once."""

from __future__ import annotations

import contextlib
import sys

_WANTED = 65_536
_WITHOUT_LIMITS = 8_192
"""Where the system has no such limit for a process."""


def raise_limit() -> None:
    """Take as many as the system allows, up to what is of use: shells begin with 1,024 or 256."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def limit() -> int:
    """How many it may have."""
    if sys.platform == "win32":
        return _WITHOUT_LIMITS
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _WANTED if soft == resource.RLIM_INFINITY else soft
