"""Where the spans of an integration start."""

from __future__ import annotations

from collections.abc import Callable

from opentelemetry.context import Context
from opentelemetry.trace import Span, TracerProvider, get_tracer

from ragtrace import _steps as steps
from ragtrace import semconv as names

StartSpan = Callable[[str, Context, int | None], Span]
"""Starts a span of a name in a context, at ns since the epoch (``None`` = now)."""


def span_starter(tracer_provider: TracerProvider | None) -> StartSpan:
    """Starts spans with ``tracer_provider``; where it is ``None``, wherever the hooks' spans go."""
    if tracer_provider is None:
        return steps.start_span
    tracer = get_tracer(names.SCOPE, tracer_provider=tracer_provider)
    return lambda name, context, start_ns: tracer.start_span(name, context, start_time=start_ns)
