"""Which generation is under way here, so that a client's call inside a framework's model is not told twice.

A framework's model run sets a mark in its own context, and the mark is never reset: callbacks may not count
on ending where they started. What makes it safe is that a mark whose run has closed says nothing.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol


class ModelRun(Protocol):
    """A model run of a framework that records the call's prompt and answer itself."""

    @property
    def is_open(self) -> bool:
        """Whether the run has not ended."""


_MARK: ContextVar[ModelRun | None] = ContextVar("ragtrace_model_run", default=None)


def cover(run: ModelRun) -> None:
    """Say that calls made from here on, until ``run`` ends, belong to it."""
    _MARK.set(run)


def is_covered() -> bool:
    """Whether a call made here belongs to a model run that records it."""
    run = _MARK.get()
    return run is not None and run.is_open
