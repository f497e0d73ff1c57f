"""Threads that keep the interaction: a pool that carries context, and an opt-in patch for others' pools.

A plain :class:`~concurrent.futures.ThreadPoolExecutor` and ``loop.run_in_executor`` run their work without
the caller's context, so that a retriever called there starts a trace of its own. ``asyncio.to_thread`` and
tasks carry it by themselves.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def carried(function: Callable[P, R]) -> Callable[P, R]:
    """``function``, to be called once in another thread, with the context of here and now."""
    context = contextvars.copy_context()

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return context.run(function, *args, **kwargs)

    return call


class ContextExecutor(ThreadPoolExecutor):
    """A thread pool whose work runs in the context of the call that submitted it."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """As :meth:`ThreadPoolExecutor.submit`, in the caller's context."""
        return super().submit(carried(fn), *args, **kwargs)


def patch_thread_pools() -> Callable[[], None]:
    """Make every :class:`ThreadPoolExecutor` of the process carry context; returns what undoes it.

    Reaches pools that exist already and those of libraries (``map`` and ``run_in_executor`` go through
    ``submit``). Calling it twice patches once.
    """
    pool: Any = ThreadPoolExecutor
    original = pool.submit
    if getattr(original, "_ragtrace", False):
        return lambda: None

    @functools.wraps(original)
    def submit(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return original(self, carried(fn), *args, **kwargs)

    submit.__dict__["_ragtrace"] = True
    pool.submit = submit

    def undo() -> None:
        pool.submit = original

    return undo
