"""Garbage collection in processes of our own that judge.

Judging makes many small objects, of which hardly any is part of a cycle. With Python's defaults the collector
looks through all of them, and through word lists and tables that live for ever, again and again: about a
quarter of the CPU of the embedded judge. A library must not touch this in its host's process; we do in ours.
"""

from __future__ import annotations

import gc

_YOUNG, _MIDDLE, _OLD = 50_000, 20, 100


def collect_seldom() -> None:
    """Leave out of every collection what is loaded by now, and begin one only after many new objects. To be
    called when a process is ready to work."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
