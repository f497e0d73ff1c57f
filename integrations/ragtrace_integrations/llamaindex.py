"""LlamaIndex: one line for the whole process.

::

    from ragtrace_integrations.llamaindex import instrument

    instrument()

A query, chat or agent run that the app calls becomes an interaction; below it stand its retrievals, reranks,
models and tools. Streaming answers are followed to their end; a streaming response is handed out as it was
made, but for its ``response_gen``, which tells when it ends.

Session and user are taken from LlamaIndex's ``instrument_tags({"session_id": …, "user_id": …})``.
"""

from __future__ import annotations

from dataclasses import dataclass

from ragtrace.errors import MissingExtra

try:
    from llama_index_instrumentation import get_dispatcher
    from llama_index_instrumentation.span import active_span_id
except ModuleNotFoundError as error:
    raise MissingExtra("ragtrace_integrations.llamaindex", "llamaindex") from error

from opentelemetry.context import Context
from opentelemetry.trace import TracerProvider

from ragtrace import _steps as steps
from ragtrace_integrations._llamaindex_handler import EventHandler, SpanHandler
from ragtrace_integrations._llamaindex_spans import LlamaIndexTranslator
from ragtrace_integrations._recording import Recorder

__all__ = ["instrument", "open_runs", "uninstrument"]


@dataclass(frozen=True, slots=True)
class _Installed:
    recorder: Recorder
    spans: SpanHandler
    events: EventHandler


_installed: list[_Installed] = []


def instrument(*, tracer_provider: TracerProvider | None = None, always: bool = False) -> None:
    """Record every LlamaIndex call of the process, in all threads, until :func:`uninstrument`.

    Spans go to ``tracer_provider``; where it is ``None``, wherever the hooks' spans go. ``always`` records
    also what another instrumentation of LlamaIndex (OpenInference, OpenLLMetry) records already. A second
    call starts afresh with the new arguments.
    """
    uninstrument()
    recorder = Recorder(LlamaIndexTranslator(), tracer_provider, always=always)
    installed = _Installed(recorder, SpanHandler(recorder), EventHandler(recorder))
    dispatcher = get_dispatcher()
    dispatcher.add_span_handler(installed.spans)
    dispatcher.add_event_handler(installed.events)
    _installed.append(installed)


def uninstrument() -> None:
    """Undo :func:`instrument`: calls that are under way end as cut short."""
    dispatcher = get_dispatcher()
    while _installed:
        installed = _installed.pop()
        dispatcher.span_handlers = [h for h in dispatcher.span_handlers if h is not installed.spans]
        dispatcher.event_handlers = [h for h in dispatcher.event_handlers if h is not installed.events]
        installed.recorder.close()


def _inside(context: Context) -> Context:
    """The context of the run that calls here: LlamaIndex keeps its id in a variable."""
    for installed in _installed:
        context = installed.recorder.inside(active_span_id.get(), context)
    return context


steps.add_source(_inside)


def open_runs() -> int:
    """Runs that have started and not ended."""
    return sum(len(installed.recorder) for installed in _installed)
