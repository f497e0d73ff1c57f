"""Haystack: one line for the whole process.

::

    from ragtrace_integrations.haystack import instrument

    instrument()

A pipeline or agent that the app runs becomes an interaction; below it stand its retrievals, reranks, models
and tools. Texts are recorded whatever HAYSTACK_CONTENT_TRACING_ENABLED says: ragtrace has a switch of its
own. A tracer that was enabled before goes on being told everything.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ragtrace.errors import MissingExtra

try:
    from haystack.tracing.tracer import Span, Tracer, enable_tracing
    from haystack.tracing.tracer import tracer as proxy
except ModuleNotFoundError as error:
    raise MissingExtra("ragtrace_integrations.haystack", "haystack") from error

from opentelemetry.context import Context
from opentelemetry.trace import TracerProvider

from ragtrace import _steps as steps
from ragtrace_integrations._haystack_spans import PIPELINE, HaystackTranslator, name_of, role_of
from ragtrace_integrations._nouns import Role, Start
from ragtrace_integrations._recording import Recorder

__all__ = ["RagtraceTracer", "instrument", "open_runs", "uninstrument"]


class _Span(Span):
    """One operation: gathers what went in and came out, and tells the other tracer's span everything."""

    def __init__(self, other: Span) -> None:
        self.id, self.other = uuid.uuid4().hex, other
        self.given: object = None
        self.taken: object = None

    def set_tag(self, key: str, value: Any) -> None:
        """A tag for the other tracer alone."""
        self.other.set_tag(key, value)

    def set_content_tag(self, key: str, value: Any) -> None:
        """What an operation is given or gives."""
        if key.endswith(".input"):
            self.given = value
        elif key.endswith((".output", ".output_data")):
            self.taken = value
        self.other.set_content_tag(key, value)

    def raw_span(self) -> Any:
        """The other tracer's own span."""
        return self.other.raw_span()

    def get_correlation_data_for_logs(self) -> dict[str, Any]:
        """As the other tracer has it."""
        return self.other.get_correlation_data_for_logs()


_current: ContextVar[_Span | None] = ContextVar("ragtrace_haystack_span", default=None)


class RagtraceTracer(Tracer):
    """A Haystack tracer that records with ``recorder`` and passes everything on to ``other``."""

    def __init__(self, recorder: Recorder, other: Tracer) -> None:
        self.recorder, self.other = recorder, other

    @contextmanager
    def trace(
        self, operation_name: str, tags: dict[str, Any] | None = None, parent_span: Span | None = None
    ) -> Iterator[Span]:
        """Record one operation. Its parent is ``parent_span``, else the operation that it runs in."""
        ours = parent_span if isinstance(parent_span, _Span) else None
        above, outer = ours or _current.get(), parent_span if ours is None else ours.other
        with self.other.trace(operation_name, tags=tags, parent_span=outer) as other:
            span = _Span(other)
            span.taken = (tags or {}).get("haystack.pipeline.output_data")  # 3.0 fills it in place
            self._start(span, above, operation_name, tags or {})
            # A pipeline may be an async generator, whose consumer would see what is set here. Its components,
            # which are told their parent, are not.
            token = _current.set(span) if operation_name != PIPELINE else None
            try:
                yield span
            except BaseException as error:
                self.recorder.end(span.id, given=span.given, taken=span.taken, error=error)
                raise
            else:
                self.recorder.end(span.id, given=span.given, taken=span.taken)
            finally:
                if token is not None:
                    _current.reset(token)

    def current_span(self) -> Span | None:
        """The operation that the caller runs in."""
        return _current.get() or self.other.current_span()

    def _start(self, span: _Span, above: _Span | None, operation: str, tags: dict[str, Any]) -> None:
        parent_id = above.id if above is not None else None
        parent = self.recorder.get(parent_id)
        role = role_of(operation, tags)
        if role is Role.MODEL and parent is not None and parent.start.role is Role.MODEL:
            role = Role.FORMAT  # a generator inside a generator: told by the outer one
        start = Start(role, name_of(operation, tags), tags.get("haystack.pipeline.input_data"))
        self.recorder.start(span.id, parent_id, start)


def instrument(*, tracer_provider: TracerProvider | None = None, always: bool = False) -> None:
    """Record every Haystack run of the process, in all threads, until :func:`uninstrument`.

    Spans go to ``tracer_provider``; where it is ``None``, wherever the hooks' spans go. ``always`` records
    also what another instrumentation of Haystack (OpenInference, OpenLLMetry) records already. A second call
    starts afresh with the new arguments.
    """
    uninstrument()
    recorder = Recorder(HaystackTranslator(), tracer_provider, always=always)
    enable_tracing(RagtraceTracer(recorder, proxy.actual_tracer))


def uninstrument() -> None:
    """Undo :func:`instrument`: what is under way ends as cut short, the tracer before it is enabled again."""
    installed = proxy.actual_tracer
    if isinstance(installed, RagtraceTracer):
        enable_tracing(installed.other)
        installed.recorder.close()


def open_runs() -> int:
    """Operations that have started and not ended."""
    installed = proxy.actual_tracer
    return len(installed.recorder) if isinstance(installed, RagtraceTracer) else 0


def _inside(context: Context) -> Context:
    """The context of the operation that calls here."""
    installed, span = proxy.actual_tracer, _current.get()
    if span is None or not isinstance(installed, RagtraceTracer):
        return context
    return installed.recorder.inside(span.id, context)


steps.add_source(_inside)
