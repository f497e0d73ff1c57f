"""Streams that are handed to the app as they are, and followed to their end.

A stream's end is what tells that an answer is whole, and it comes in many ways: read to the last piece,
closed, dropped unread, broken. A followed stream tells each of them once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any


class Follower:
    """Hears the pieces of one stream, and its end.

    ``gather`` is told each piece, ``ended`` once what ended it: ``None`` where it was read to the end,
    ``GeneratorExit`` where it was left. Neither may raise. It is entered while the stream works on a piece.
    """

    def __init__(self, gather: Callable[[Any], None], ended: Callable[[BaseException | None], None]) -> None:
        self._gather, self._ended = gather, ended
        self._is_over = False

    def hear(self, piece: Any) -> Any:
        """One piece → the same piece."""
        if not self._is_over:
            self._gather(piece)
        return piece

    def end(self, error: BaseException | None) -> None:
        """The stream is over; a second call does nothing."""
        if not self._is_over:
            self._is_over = True
            self._ended(error)

    def __enter__(self) -> None:
        """The stream works now."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """The stream has given a piece, or ``error``, which is its end."""
        if error is not None:
            self.end(None if isinstance(error, StopIteration | StopAsyncIteration) else error)


class FollowedStream(Generator[Any, Any, None]):
    """A sync stream, piece by piece the same as ``stream``."""

    def __init__(self, stream: Iterator[Any], follower: Follower) -> None:
        self._stream, self._follower = stream, follower

    def send(self, value: Any) -> Any:
        """As the stream's own."""
        with self._follower:
            piece = self._stream.send(value) if value is not None else next(self._stream)  # type: ignore[attr-defined]
        return self._follower.hear(piece)

    def throw(self, *error: Any) -> Any:
        """As the stream's own."""
        with self._follower:
            piece = self._stream.throw(*error)  # type: ignore[attr-defined]
        return self._follower.hear(piece)

    def close(self) -> None:
        """As the stream's own; what was not read is not waited for."""
        try:
            with self._follower:
                self._stream.close()  # type: ignore[attr-defined]
        finally:
            self._follower.end(GeneratorExit())

    def __del__(self) -> None:
        self._follower.end(GeneratorExit())


class FollowedAsyncStream(AsyncGenerator[Any, Any]):
    """An async stream, piece by piece the same as ``stream``."""

    def __init__(self, stream: AsyncIterator[Any], follower: Follower) -> None:
        self._stream, self._follower = stream, follower

    async def asend(self, value: Any) -> Any:
        """As the stream's own."""
        with self._follower:
            step = self._stream.asend(value) if value is not None else anext(self._stream)  # type: ignore[attr-defined]
            piece = await step
        return self._follower.hear(piece)

    async def athrow(self, *error: Any) -> Any:
        """As the stream's own."""
        with self._follower:
            piece = await self._stream.athrow(*error)  # type: ignore[attr-defined]
        return self._follower.hear(piece)

    async def aclose(self) -> None:
        """As the stream's own; what was not read is not waited for."""
        try:
            with self._follower:
                await self._stream.aclose()  # type: ignore[attr-defined]
        finally:
            self._follower.end(GeneratorExit())

    def __del__(self) -> None:
        self._follower.end(GeneratorExit())
