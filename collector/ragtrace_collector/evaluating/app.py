"""The user's app: called with each question, its trace kept."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import inspect
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

from ragtrace import extract
from ragtrace._capture import join_chunks, read_answer, read_chunk, result_documents
from ragtrace.documents import read_documents
from ragtrace.errors import ConfigError
from ragtrace.model import Interaction
from ragtrace_collector import otlp

_row: contextvars.ContextVar[int | None] = contextvars.ContextVar("ragtrace_evaluated_row", default=None)
"""Which call of the app the running code belongs to."""


class Recorder(SpanProcessor):
    """Keeps the spans of each call: those whose trace began in its context."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[int, int] = {}
        self._spans: dict[int, list[ReadableSpan]] = {}

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Note which call the span's trace belongs to."""
        call, context = _row.get(), span.get_span_context()
        if call is not None and context is not None:
            with self._lock:
                self._calls.setdefault(context.trace_id, call)

    def on_end(self, span: ReadableSpan) -> None:
        """Keep the span."""
        context = span.get_span_context()
        with self._lock:
            call = None if context is None else self._calls.get(context.trace_id)
            if call is not None:
                self._spans.setdefault(call, []).append(span)

    def take(self, call: int) -> list[ReadableSpan]:
        """The spans of a call that ended, which are forgotten here."""
        with self._lock:
            self._calls = {id: one for id, one in self._calls.items() if one != call}
            return self._spans.pop(call, [])

    def shutdown(self) -> None:
        """Nothing to free."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing waits."""
        return True


class App:
    """The app's function, ready to be called ``concurrency`` times at once."""

    def __init__(self, function: Callable[..., Any], concurrency: int, traces: TextIO | None = None) -> None:
        self._function, self._traces = function, traces
        self._history = "history" in _parameters(function)
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="ragtrace-app")
        self._room = asyncio.Semaphore(concurrency)
        self._calls = 0
        self._recorder = _install(Recorder())

    async def answer(self, row: Interaction) -> Interaction:
        """Call the app with the row's question.

        Documents and answer come from its trace and from what it returns: text, an object with the usual
        names, (answer, documents), or a stream. An app that raises gives a row with an ``error``.
        """
        async with self._room:
            self._calls += 1
            call = self._calls
            token, failure = _row.set(call), None
            try:
                returned = await self._called(row)
            except Exception as error:  # noqa: BLE001  # the app may raise anything; the other rows go on
                returned, failure = None, type(error).__name__
            finally:
                _row.reset(token)
            recorded = self._recorded(self._recorder.take(call))
        if failure is not None:
            return replace(row, answer=None, documents=None, error=failure)
        return merged(row, returned, recorded)

    async def _called(self, row: Interaction) -> Any:
        turns = [{"question": turn.question, "answer": turn.answer} for turn in row.history]
        extra = {"history": turns} if self._history and turns else {}
        if inspect.iscoroutinefunction(self._function) or inspect.isasyncgenfunction(self._function):
            return await _settled(self._function(row.question, **extra))
        context = contextvars.copy_context()
        work = lambda: _drained(self._function(row.question, **extra))  # noqa: E731
        made = await asyncio.get_running_loop().run_in_executor(self._threads, context.run, work)
        return await _settled(made)

    def _recorded(self, spans: Sequence[ReadableSpan]) -> list[Interaction]:
        if not spans:
            return []
        body = encode_spans(spans).SerializeToString()
        if self._traces is not None:
            self._traces.write(otlp.to_json(otlp.split(body)) + "\n")
            self._traces.flush()
        return list(extract.interactions(otlp.read_spans(body), ()))

    def close(self) -> None:
        """Free the threads and the file."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._traces is not None:
            self._traces.close()


def load_app(path: str, concurrency: int, traces: Path | None = None) -> App:
    """The app at ``module:function``; the working directory is looked in first.

    Raises:
        ConfigError: there is none, or ``traces`` cannot be written.
    """
    module, colon, name = path.partition(":")
    if not colon or not module or not name:
        raise ConfigError(f"{path!r} is no module:function", "--app")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"cannot load {path!r}: {error}", "--app") from error
    if not callable(found):
        raise ConfigError(f"{path!r} cannot be called", "--app")
    try:
        return App(found, concurrency, None if traces is None else traces.open("w", encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot write {traces}: {error.strerror}", "--traces") from error


def merged(row: Interaction, returned: Any, recorded: Sequence[Interaction]) -> Interaction:
    """The row with what its call returned and recorded: the answer that was returned, the documents that
    reached the prompt by the trace, else those that were returned."""
    answer, documents = read_result(returned)
    seen = next((one for one in reversed(recorded) if one.answer and one.documents is not None), None)
    seen = seen or next(iter(reversed(recorded)), None)
    if seen is None:
        return replace(row, answer=answer, documents=documents, missing=_missing(answer, documents))
    answer = seen.answer if answer is None else answer
    documents = documents if seen.documents is None else seen.documents
    return replace(
        row,
        answer=answer,
        documents=documents,
        rewritten_question=seen.rewritten_question,
        hops=seen.hops,
        citations=seen.citations,
        trace_id=seen.trace_id,
        entry_span_id=seen.entry_span_id,
        retrieval_span_ids=seen.retrieval_span_ids,
        generation_span_id=seen.generation_span_id,
        dialect=seen.dialect,
        missing=_missing(answer, documents),
    )


def read_result(returned: Any) -> tuple[str | None, Any]:
    """(answer, documents) of what an app returned; each ``None`` where it is not there."""
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[0], str):
        return returned[0], read_documents(returned[1])
    return read_answer(returned), None if isinstance(returned, str) else result_documents(returned)


def restored(row: Interaction, stored: str) -> Interaction:
    """The answered row that the journal keeps of a run that was cut off."""
    record: Mapping[str, Any] = json.loads(stored)
    from ragtrace.rows import interaction_from_row

    names = ("question", "rewritten_question", "documents", "answer", "trace_id", "span_id")
    found = interaction_from_row({name: record.get(name) for name in names})
    return replace(
        row,
        answer=found.answer,
        documents=found.documents,
        rewritten_question=found.rewritten_question,
        trace_id=found.trace_id,
        entry_span_id=found.entry_span_id,
        dialect=record["dialect"],
        missing=tuple(record["missing"]),
    )


def _missing(answer: str | None, documents: Any) -> tuple[str, ...]:
    return tuple(name for name, value in (("documents", documents), ("answer", answer)) if value is None)


def _install(recorder: Recorder) -> Recorder:
    """Put the recorder beside the exporters of the app's provider, or into one of our own."""
    provider = trace.get_tracer_provider()
    if not hasattr(provider, "add_span_processor"):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(recorder)
    return recorder


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _drained(made: Any) -> Any:
    """A stream's text; anything else as it is."""
    if not isinstance(made, Iterator):
        return made
    return join_chunks([text for chunk in made if (text := read_chunk(chunk)) is not None])


async def _settled(made: Any) -> Any:
    if inspect.isawaitable(made):
        made = await made
    if isinstance(made, AsyncIterator):
        chunks = [text async for chunk in made if (text := read_chunk(chunk)) is not None]
        return join_chunks(chunks)
    return _drained(made)
