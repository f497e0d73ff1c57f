"""Keep our own calls to a model out of every trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import context

SUPPRESSED = (
    context._SUPPRESS_INSTRUMENTATION_KEY,
    context._SUPPRESS_HTTP_INSTRUMENTATION_KEY,
    "suppress_instrumentation",
    "suppress_language_model_instrumentation",
)
"""Context keys by which instrumentations agree to look away: OpenTelemetry's two (private by name, but the
only ones that its instrumentations read), their former name, and Traceloop's."""


@contextmanager
def untraced() -> Iterator[None]:
    """No instrumentation of OpenTelemetry, OpenInference or Traceloop records what happens inside."""
    silent = context.get_current()
    for key in SUPPRESSED:
        silent = context.set_value(key, True, silent)
    token = context.attach(silent)
    try:
        yield
    finally:
        context.detach(token)
