"""LangChain and LangGraph: one callback handler, or one line for the whole process.

::

    from ragtrace_integrations.langchain import RagtraceCallbackHandler, instrument

    chain.invoke(question, config={"callbacks": [RagtraceCallbackHandler()]})  # this call
    instrument()  # every call from here on, in every thread

A chain, graph or agent that the app calls becomes an interaction; below it stand its retrievers, reranks,
models, tools and graph nodes. Prompts, parsers and lambdas have no span of their own, unless one of them
retrieved or reordered documents.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar
from typing import Any

from ragtrace.errors import MissingExtra

try:
    from langchain_core.tracers.context import register_configure_hook
except ModuleNotFoundError as error:
    raise MissingExtra("ragtrace_integrations.langchain", "langchain") from error

from opentelemetry.trace import TracerProvider

from ragtrace_integrations._langchain_handler import RagtraceCallbackHandler

__all__ = ["RagtraceCallbackHandler", "instrument", "uninstrument"]


def instrument(
    *, tracer_provider: TracerProvider | None = None, always: bool = False
) -> RagtraceCallbackHandler:
    """Record every LangChain and LangGraph call of the process, in all threads, until :func:`uninstrument`.

    Calls that are given a handler of their own stay with that. A second call starts afresh with the new
    arguments, which are those of :class:`RagtraceCallbackHandler`. Returns the handler in use.
    """
    handler = _installed()
    handler.reopen(tracer_provider, always=always)
    return handler


def uninstrument() -> None:
    """Undo :func:`instrument`: calls that are under way end as cut short."""
    _installed().close()


@functools.cache
def _installed() -> RagtraceCallbackHandler:
    """The one handler that LangChain knows of. LangChain forgets no hook, so it stays and is switched."""
    handler = RagtraceCallbackHandler()
    handler.close()
    # A default is seen in every thread; a value that was set would be seen in this context only.
    current: ContextVar[Any | None] = ContextVar("ragtrace_langchain", default=handler)
    register_configure_hook(current, inheritable=True, handle_class=RagtraceCallbackHandler)
    return handler
