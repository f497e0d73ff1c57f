"""The streams of answers that LlamaIndex hands out, followed to their end.

A streaming query is over, for LlamaIndex, before its first token: the model starts when the app reads, in a
place where nothing says to which query it belongs. So the stream itself carries the query's id, which is
current while the stream works, and tells when it is read to the end, left or broken.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from llama_index_instrumentation.span import active_span_id

Ended = Callable[[str, BaseException | None], None]
"""Is told what the stream gave and what ended it: ``None`` = it was read to the end."""


class _Follower:
    """What both kinds of stream do: gather the pieces, tell the end once."""

    def __init__(self, span_id: str, ended: Ended) -> None:
        self._span_id, self._ended = span_id, ended
        self._pieces: list[str] = []
        self._over = False

    def gather(self, piece: Any) -> Any:
        if isinstance(piece, str):
            self._pieces.append(piece)
        return piece

    def end(self, error: BaseException | None) -> None:
        if not self._over:
            self._over = True
            self._ended("".join(self._pieces), error)

    def __enter__(self) -> None:
        """The stream works now: spans that start belong to its query."""
        self._token = active_span_id.set(self._span_id)

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        active_span_id.reset(self._token)
        if error is not None:
            self.end(None if isinstance(error, StopIteration | StopAsyncIteration) else error)


class FollowedStream(Generator[Any, Any, None]):
    """A sync stream, piece by piece the same as ``stream``."""

    def __init__(self, stream: Generator[Any, Any, None], span_id: str, ended: Ended) -> None:
        self._stream, self._follower = stream, _Follower(span_id, ended)

    def send(self, value: Any) -> Any:
        """As the stream's own."""
        with self._follower:
            piece = next(self._stream) if value is None else self._stream.send(value)
        return self._follower.gather(piece)

    def throw(self, *error: Any) -> Any:
        """As the stream's own."""
        with self._follower:
            piece = self._stream.throw(*error)
        return self._follower.gather(piece)

    def close(self) -> None:
        """As the stream's own; what was not read is not waited for."""
        try:
            with self._follower:
                self._stream.close()
        finally:
            self._follower.end(GeneratorExit())

    def __del__(self) -> None:
        self._follower.end(GeneratorExit())


class FollowedAsyncStream(AsyncGenerator[Any, Any]):
    """An async stream, piece by piece the same as ``stream``."""

    def __init__(self, stream: AsyncGenerator[Any, Any], span_id: str, ended: Ended) -> None:
        self._stream, self._follower = stream, _Follower(span_id, ended)

    async def asend(self, value: Any) -> Any:
        """As the stream's own."""
        with self._follower:
            piece = await (anext(self._stream) if value is None else self._stream.asend(value))
        return self._follower.gather(piece)

    async def athrow(self, *error: Any) -> Any:
        """As the stream's own."""
        with self._follower:
            piece = await self._stream.athrow(*error)
        return self._follower.gather(piece)

    async def aclose(self) -> None:
        """As the stream's own; what was not read is not waited for."""
        try:
            with self._follower:
                await self._stream.aclose()
        finally:
            self._follower.end(GeneratorExit())

    def __del__(self) -> None:
        self._follower.end(GeneratorExit())
