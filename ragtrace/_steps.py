"""A step is one hooked call: a span, what it says, and the interaction that it belongs to.

The step travels in OpenTelemetry's own context beside the span, so whatever carries that context to another
thread or task carries the step too. Nothing in here raises into the app: a step that cannot begin is ``None``
and the hook is then a plain call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextvars import Token
from dataclasses import replace
from typing import Any

from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY
from opentelemetry.context.context import Context
from opentelemetry.trace.span import Span
from opentelemetry.trace.status import Status, StatusCode

from ragtrace import _capture as capture
from ragtrace import semconv as names
from ragtrace.config import settings
from ragtrace.documents import read_documents
from ragtrace.model import RetrievedDocument
from ragtrace.spans import Content, write

_log = logging.getLogger("ragtrace")
_STEP_KEY = otel.create_key("ragtrace-step")
_SUPPRESSED = (_SUPPRESS_INSTRUMENTATION_KEY, "suppress_instrumentation")
"""OpenTelemetry's key, and the plain one that instrumentations still set."""
_CUT_SHORT = (GeneratorExit, asyncio.CancelledError, KeyboardInterrupt)
_NOWHERE = Context()


class Step:
    """One open span of ours.

    ``content`` is filled while the step is open and written when it ends. ``retrieved`` is what the last
    retriever or reranker of the interaction returned: the very object, so that a generator which is handed
    the same list says nothing new. ``context`` is what to attach while the step's code runs. ``items`` is
    what a stream gave so far, and ``gather`` records it when the stream is over. ``parts`` counts the steps
    that an interaction has had.
    """

    __slots__ = (
        *("_above", "content", "context", "gather", "items"),
        *("kind", "open", "parts", "retrieved", "span"),
    )

    def __init__(self, span: Span, kind: str | None, interaction: Step | None, context: Context) -> None:
        self.span = span
        self.kind = kind
        self.content = Content(kind=kind)
        self._above = interaction
        self.parts = 0
        if interaction is not None:
            interaction.parts += 1
        self.retrieved: Any = None
        self.open = True
        self.items: list[Any] = []
        self.gather: Callable[[Step], None] | None = None
        self.context = otel.set_value(_STEP_KEY, self, trace.set_span_in_context(span, context))

    @property
    def interaction(self) -> Step:
        """The step of the interaction that this one belongs to; itself for an outermost one."""
        return self if self._above is None else self._above

    def end(self, error: BaseException | None = None) -> None:
        """Write what is known and end the span, once. ``error`` is what ended the step."""
        if not self.open:
            return
        self.open = False
        if error is not None:
            self.content.partial = True
            _mark(self.span, error)
        if self.gather is not None:
            guarded(self.gather, self)
        write(self.span, self.content)
        self.span.end()
        # The context holds the step. With the way back cut, what was retrieved is freed now, not by the GC.
        self.context, self.retrieved, self.items = _NOWHERE, None, []

    def __del__(self) -> None:
        """A stream that was dropped without being closed still leaves its span, as cut short."""
        if self.open:
            self.end(GeneratorExit())


def begin(name: str, kind: str | None) -> Step | None:
    """Open a step under the current one; ``None`` where hooks are off or instrumentation is suppressed."""
    try:
        now = here()
        if is_off(now):
            return None
        interaction = interaction_in(now)
        if kind == names.KIND_INTERACTION and interaction is not None:
            kind = None  # an interaction inside an interaction is one of its parts
        return Step(_tracer.start_span(name, context=now), kind, interaction, now)
    except Exception as error:  # noqa: BLE001  # whatever a sampler or span processor does, the app runs on
        _log.warning("a step was not traced: %s", type(error).__name__)
        return None


def current() -> Step | None:
    """The innermost open step of this thread or task."""
    step = here().get(_STEP_KEY)
    return step if isinstance(step, Step) and step.open else None


def is_off(context: Context) -> bool:
    """Whether nothing is to be traced in ``context``: hooks are off, or instrumentation is suppressed."""
    return not settings().enabled or bool(context.get(_SUPPRESSED[0]) or context.get(_SUPPRESSED[1]))


def interaction_in(context: Context) -> Step | None:
    """The step of the interaction that is open in ``context``."""
    above = context.get(_STEP_KEY)
    return above.interaction if isinstance(above, Step) and above.interaction.open else None


def here() -> Context:
    """The current context, or the deeper one that a framework knows of: see :func:`add_source`."""
    context = otel.get_current()
    for find in _sources:
        context = find(context)
    return context


_sources: list[Callable[[Context], Context]] = []


def add_source(find: Callable[[Context], Context]) -> None:
    """Let ``find`` say where a hook is called: given the current context, it gives that or a deeper one.

    For frameworks whose callbacks cannot attach a context, but which know which of their runs calls. ``find``
    must not raise.
    """
    _sources.append(find)


def enter(step: Step) -> Token[Context]:
    """Make ``step`` current; :func:`leave` undoes it."""
    return otel.attach(step.context)


def leave(token: Token[Context]) -> None:
    """Undo :func:`enter`. In another context, where the garbage collector closes it, nothing is to undo."""
    try:
        token.var.reset(token)
    except ValueError:
        return


def suspend(step: Step, token: Token[Context]) -> None:
    """Leave ``step`` over a yield. Spans that its code holds open there are current again when it goes on."""
    step.context = otel.get_current()
    leave(token)


def guarded(fill: Callable[..., None], *args: Any) -> None:
    """Call ``fill(*args)``; what it raises is logged by type and goes no further."""
    try:
        fill(*args)
    except Exception as error:  # noqa: BLE001  # a bug of ours, or an extractor of the user's
        _log.warning("part of a step was not recorded: %s", type(error).__name__)


# --- what each kind of step takes from its call ----------------------------------------------------------


def fill_documents(step: Step, value: Any, documents: tuple[RetrievedDocument, ...] | None = None) -> None:
    """A retriever or reranker returned ``value``; ``documents`` are those of the user's extractor."""
    step.interaction.retrieved = value
    content = step.content
    if content.documents is None:
        content.documents = read_documents(value) if documents is None else documents
    if step.kind == names.KIND_RERANK and content.documents is not None:
        content.documents = _reranked(content.documents, content.input_documents or ())


def _reranked(documents: Any, given: Any) -> tuple[RetrievedDocument, ...]:
    """Scores that differ from those that went in are the reranker's."""
    before = {document.id: document.score for document in given}
    if all(document.score is None or before.get(document.id) == document.score for document in documents):
        return tuple(documents)
    return tuple(
        document if document.rerank_score is not None else replace(document, rerank_score=document.score)
        for document in documents
    )


def fill_prompt_documents(step: Step, value: Any) -> None:
    """A generator was handed ``value``: new to the interaction unless it is what was retrieved last.

    A text is taken only where nothing was retrieved: else it is the retrieved documents, joined.
    """
    entry = step.interaction
    if value is None or value is entry.retrieved or entry.content.documents is not None:
        return
    if entry.retrieved is not None and (isinstance(value, str) or _same_items(value, entry.retrieved)):
        return
    entry.content.documents = read_documents(value)


def _same_items(one: Any, other: Any) -> bool:
    if not (isinstance(one, list | tuple) and isinstance(other, list | tuple)) or len(one) != len(other):
        return False
    return all(a is b for a, b in zip(one, other, strict=True))


def fill_answer(step: Step, value: Any, answer: str | None = None) -> None:
    """An interaction or generator returned ``value``; ``answer`` is that of the user's extractor."""
    content = step.content
    if content.answer is None:
        content.answer = capture.read_answer(value) if answer is None else answer
    if step.kind == names.KIND_INTERACTION and content.documents is None and step.retrieved is None:
        content.documents = capture.result_documents(value)


def _mark(span: Span, error: BaseException) -> None:
    """An exception is an error of the step; a break, a close or a cancellation is none."""
    try:
        if isinstance(error, _CUT_SHORT):
            return
        span.set_attribute(names.ERROR_TYPE, type(error).__qualname__)
        span.set_status(Status(StatusCode.ERROR, type(error).__qualname__))
        if settings().capture_content and settings().redactor is None:
            span.record_exception(error)
    except Exception as ours:  # noqa: BLE001  # an exception of the app whose __str__ raises
        _log.warning("an error was not recorded: %s", type(ours).__name__)


class _Tracer:
    """The tracer in force: the global provider's, unless :func:`use_provider` named another."""

    def __init__(self) -> None:
        self.start_span = trace.get_tracer(names.SCOPE).start_span


_tracer = _Tracer()


def start_span(name: str, context: Context, start_ns: int | None = None) -> Span:
    """Start a span where the hooks' spans go; ``start_ns`` counts from the epoch, ``None`` = now."""
    return _tracer.start_span(name, context=context, start_time=start_ns)


def use_provider(provider: trace.TracerProvider | None) -> None:
    """Send the hooks' spans to ``provider``; ``None`` = the global one."""
    _tracer.start_span = trace.get_tracer(names.SCOPE, tracer_provider=provider).start_span
