"""What is current where an integration is called."""

from __future__ import annotations

from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, Context

from ragtrace import _steps
from ragtrace.config import settings

_SUPPRESSED = (_SUPPRESS_INSTRUMENTATION_KEY, "suppress_instrumentation")
"""The key of the API and the older plain one; instrumentations set either."""


def is_off(context: Context) -> bool:
    """Whether nothing is to be recorded here: hooks are off, or tracing is suppressed (a judge's calls)."""
    return not settings().enabled or any(context.get(key) for key in _SUPPRESSED)


def within_interaction(context: Context) -> bool:
    """Whether an interaction of ours is being recorded in ``context``."""
    step = context.get(_steps._STEP_KEY)
    return isinstance(step, _steps.Step) and step.interaction.open
