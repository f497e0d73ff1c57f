"""The last spans of a process."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ragtrace.lifecycle import flush, flush_celery, serverless, within, worker_exit


def test_what_takes_too_long_is_left_behind() -> None:
    """A dead endpoint does not hold a worker that wants to go."""
    never = threading.Event()
    assert within(0.01, never.wait) is False
    never.set()
    assert within(10, lambda: None) is True


def test_what_fails_is_not_raised() -> None:
    """An exporter's failure is no failure of the app."""

    def fail() -> None:
        raise LookupError

    assert within(10, fail) is False


def test_flushing_without_a_provider_is_done_at_once() -> None:
    """And the gunicorn hook is that."""
    assert isinstance(flush(), bool)
    worker_exit(object(), object())


def test_serverless_handlers_keep_their_results_and_exceptions() -> None:
    """Sync and async."""

    @serverless
    def handle(event: int) -> int:
        return 10 // event

    @serverless
    async def handle_async(event: int) -> int:
        return 10 // event

    assert (handle(2), asyncio.run(handle_async(5))) == (5, 2)
    assert asyncio.iscoroutinefunction(handle_async)
    with pytest.raises(ZeroDivisionError):
        handle(0)


def test_celery_tasks_send_their_spans_when_they_end() -> None:
    """A worker that is recycled after each task loses none."""
    celery = pytest.importorskip("celery", reason="celery is not installed")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    sent = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(sent))
    trace.set_tracer_provider(provider)
    flush_celery()
    app = celery.Celery("shop")

    @app.task
    def answer() -> None:
        provider.get_tracer("shop").start_span("answer").end()

    answer.apply()
    assert [span.name for span in sent.get_finished_spans()] == ["answer"]
