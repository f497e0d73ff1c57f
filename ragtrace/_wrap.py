"""One wrapper for each shape of function: sync, async, generator, async generator.

A wrapper is of the same shape as what it wraps, so that frameworks which look at the shape see what they saw.
For generators the step is current only while the generator's own code runs: between two items its context is
the consumer's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, Protocol

from ragtrace._steps import Step, enter, leave, suspend


class Recorder(Protocol):
    """What a hook does around a call. None of it raises."""

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Step | None:
        """Open a step for a call; ``None`` = do not trace it."""

    def returned(self, step: Step, value: Any) -> None:
        """The call returned ``value``: record it and end the step."""

    def yielded(self, step: Step, item: Any) -> None:
        """The stream gave ``item``."""

    def streamed(self, step: Step) -> None:
        """The stream is over: record what it gave. Called by ``step.end``."""


def wrap(function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """``function`` with its calls recorded; same shape, same signature, same results."""
    if isinstance(function, staticmethod | classmethod):
        return type(function)(wrap(function.__func__, recorder))
    target = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    if isinstance(function, functools.partial):
        target = function.func
    if inspect.isasyncgenfunction(target):
        wrapper = _async_generator(function, recorder)
    elif inspect.isgeneratorfunction(target):
        wrapper = _generator(function, recorder)
    elif inspect.iscoroutinefunction(target):
        wrapper = _coroutine(function, recorder)
    else:
        wrapper = _plain(function, recorder)
    return functools.wraps(function)(wrapper)


def _plain(function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        step = recorder.begin(args, kwargs)
        if step is None:
            return function(*args, **kwargs)
        token = enter(step)
        try:
            value = function(*args, **kwargs)
        except BaseException as error:
            step.end(error)
            raise
        finally:
            leave(token)
        recorder.returned(step, value)
        return value

    return wrapper


def _coroutine(function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        step = recorder.begin(args, kwargs)
        if step is None:
            return await function(*args, **kwargs)
        token = enter(step)
        try:
            value = await function(*args, **kwargs)
        except BaseException as error:
            step.end(error)
            raise
        finally:
            leave(token)
        recorder.returned(step, value)
        return value

    return wrapper


def _generator(function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        step = recorder.begin(args, kwargs)
        stream = function(*args, **kwargs)
        if step is None:
            return (yield from stream)
        step.gather = recorder.streamed
        try:
            value = yield from _followed(stream, step, recorder)
        except BaseException as error:
            step.end(error)
            raise
        step.end()
        return value

    return wrapper


def _followed(stream: Generator[Any, Any, Any], step: Step, recorder: Recorder) -> Generator[Any, Any, Any]:
    """``stream`` as ``yield from`` gives it, with ``step`` current while, and only while, it works."""
    advance: Callable[[Any], Any] = stream.send
    argument: Any = None
    while True:
        token = enter(step)
        try:
            item = advance(argument)
        except StopIteration as stop:
            return stop.value
        finally:
            suspend(step, token)
        recorder.yielded(step, item)
        try:
            argument = yield item
            advance = stream.send
        except GeneratorExit:
            token = enter(step)
            try:
                stream.close()
            finally:
                leave(token)
            raise
        except BaseException as error:  # noqa: BLE001  # handed to the stream, which raises it or handles it
            advance, argument = stream.throw, error


def _async_generator(function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        step = recorder.begin(args, kwargs)
        stream = function(*args, **kwargs)
        if step is not None:
            step.gather = recorder.streamed
        advance: Callable[[Any], Awaitable[Any]] = stream.asend
        argument: Any = None
        try:
            while True:
                try:
                    item = await _within(step, advance, argument)
                except StopAsyncIteration:
                    break
                if step is not None:
                    recorder.yielded(step, item)
                try:
                    argument = yield item
                    advance = stream.asend
                except GeneratorExit:
                    await _within(step, lambda _: stream.aclose(), None)
                    raise
                except BaseException as error:  # noqa: BLE001  # as for generators
                    advance, argument = stream.athrow, error
        except BaseException as error:
            if step is not None:
                step.end(error)
            raise
        if step is not None:
            step.end()

    return wrapper


async def _within(step: Step | None, advance: Callable[[Any], Awaitable[Any]], argument: Any) -> Any:
    """Await ``advance(argument)`` with ``step`` current."""
    if step is None:
        return await advance(argument)
    token = enter(step)
    try:
        return await advance(argument)
    finally:
        suspend(step, token)
