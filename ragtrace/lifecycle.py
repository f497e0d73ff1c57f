"""The last spans of a process: flush hooks for task queues, pre-forking servers and serverless functions.

A batch waits up to five seconds for its turn. A worker that is recycled, or a function that is frozen between
two calls, loses what waits unless it is told to send it.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from opentelemetry import trace

F = TypeVar("F", bound=Callable[..., Any])


def flush(timeout: float = 5.0) -> bool:
    """Send what waits in the process's tracer provider; true when done within ``timeout`` seconds.

    Never raises: what the exporter does is its own matter.
    """
    force_flush = getattr(trace.get_tracer_provider(), "force_flush", None)
    return force_flush is None or within(timeout, force_flush)


def within(seconds: float, act: Callable[[], Any]) -> bool:
    """Run ``act`` for at most ``seconds``; false when it took longer, failed, or said false.

    The SDK's own flush waits as long as the endpoint does.
    """
    outcome: list[bool] = []
    run = threading.Thread(target=_attempt, args=(act, outcome), daemon=True)
    run.start()
    run.join(seconds)
    return outcome == [True]


def _attempt(act: Callable[[], Any], outcome: list[bool]) -> None:
    try:
        outcome.append(act() is not False)
    except Exception:  # noqa: BLE001  # an exporter's failure is no reason to fail the app
        outcome.append(False)


def serverless(function: F) -> F:
    """Decorate a serverless handler, sync or async: its spans are sent before it returns."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def handle_async(*args: Any, **kwargs: Any) -> Any:
            try:
                return await function(*args, **kwargs)
            finally:
                flush()

        return handle_async  # type: ignore[return-value]  # the same signature, by wraps

    @functools.wraps(function)
    def handle(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        finally:
            flush()

    return handle  # type: ignore[return-value]  # the same signature, by wraps


def flush_celery() -> None:
    """Send the spans of each Celery task when it ends, and those of a worker when its process stops."""
    from celery.signals import task_postrun, worker_process_shutdown

    task_postrun.connect(_on_signal, weak=False)
    worker_process_shutdown.connect(_on_signal, weak=False)


def _on_signal(**_: Any) -> None:
    flush()


def worker_exit(server: Any, worker: Any) -> None:
    """Gunicorn's ``worker_exit`` hook: in its config file, ``from ragtrace.lifecycle import worker_exit``."""
    del server, worker
    flush()
