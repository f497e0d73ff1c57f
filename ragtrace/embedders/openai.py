"""Embeddings from any endpoint that speaks OpenAI's ``/embeddings``.

Not through the openai client: it takes a second to load, and spends more CPU on a request than all else that
is done for an interaction.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
import weakref
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from ragtrace.endpoint.address import api_url, proxy_of
from ragtrace.endpoint.retrying import asked_pause, backoff, is_transient
from ragtrace.endpoint.untraced import untraced
from ragtrace.errors import JudgeError, JudgeTimeout, JudgeUnavailable, MissingExtra

if TYPE_CHECKING:
    import aiohttp
    import numpy as np
    from numpy.typing import NDArray

_LONGEST_PAUSE = 30.0
_MOST_BYTES_A_TEXT = 2**19
"""More than any model's vector takes when it is written out."""


class OpenAIEmbedder:
    """Vectors from an endpoint. Build one and share it: its connections are kept.

    Args:
        model: the model's name at the endpoint.
        base_url: the endpoint up to ``/v1``; ``None`` = OPENAI_BASE_URL, else OpenAI's own.
        api_key: ``None`` = OPENAI_API_KEY; endpoints of your own mostly take any.
        batch_size: texts a request.
        timeout: seconds a request.
        attempts: most HTTP requests for one batch.
        sleep: how to wait between attempts.

    Raises:
        ConfigError: ``base_url`` is no URL of HTTP.
        MissingExtra: ``aiohttp`` is not installed.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        batch_size: int = 64,
        timeout: float = 30.0,
        attempts: int = 3,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        try:
            import aiohttp  # noqa: F401  # told here, not by the first text
        except ModuleNotFoundError as error:
            raise MissingExtra("the openai embedder", "score") from error
        self._model, self._batch_size = model, batch_size
        self._timeout, self._attempts, self._sleep = timeout, attempts, sleep
        self._url = api_url(base_url, "/embeddings", "embedder.base_url")
        # Some endpoints of one's own insist on a key, and take any.
        self._key = api_key or os.environ.get("OPENAI_API_KEY") or "none"
        self._sessions: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def name(self) -> str:
        """The model's name, behind ``openai/``."""
        return f"openai/{self._model}"

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed ``texts`` → float32 (len(texts), d), each row of length 1.

        Raises:
            JudgeUnavailable, JudgeTimeout: the endpoint cannot be reached, refuses, or takes too long.
            JudgeError: it answers with anything but one finite vector a text.
        """
        import numpy as np

        if not texts:
            return np.zeros((0, 0), np.float32)
        batches = [texts[i : i + self._batch_size] for i in range(0, len(texts), self._batch_size)]
        with untraced():
            answered = await asyncio.gather(*map(self._persist, batches))
        try:
            stacked = np.asarray([vector for batch in answered for vector in batch], np.float32)
        except (TypeError, ValueError) as error:
            raise JudgeError("embedder_unparseable") from error
        lengths = np.linalg.norm(stacked, axis=-1, keepdims=True)
        if stacked.ndim != 2 or not np.isfinite(lengths).all() or not lengths.all():
            raise JudgeError("embedder_unparseable")
        unit: NDArray[np.float32] = stacked / lengths
        return unit

    async def aclose(self) -> None:
        """Close the connections of this event loop; may be called twice."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    async def _persist(self, texts: Sequence[str]) -> list[Any]:
        """The vectors of one batch, asked for again where that may help."""
        attempt = 1
        while True:
            try:
                return _vectors(await self._request(texts), len(texts))
            except _Denied:
                raise
            except JudgeUnavailable as failure:
                pause = backoff(attempt, failure.retry_after, random.random())  # noqa: S311  # spreads load
                if attempt >= self._attempts or pause > _LONGEST_PAUSE:
                    raise
            attempt += 1
            await self._sleep(pause)

    async def _request(self, texts: Sequence[str]) -> bytes:
        import aiohttp

        from ragtrace.endpoint.fetching import post

        # Some endpoints refuse an empty text; a space is as good.
        sent = {"model": self._model, "input": [text or " " for text in texts], "encoding_format": "float"}
        try:
            said = await post(
                self._session(),
                self._url,
                json.dumps(sent).encode(),
                proxy_of(self._url),
                most=_MOST_BYTES_A_TEXT * (1 + len(texts)),
            )
        except JudgeError as error:
            raise JudgeError(f"embedder_{error.reason}") from error
        except TimeoutError as error:
            raise JudgeTimeout("embedder_timeout") from error
        except aiohttp.ClientError as error:
            raise JudgeUnavailable("embedder_unreachable") from error
        if said.status >= 400:
            failed = JudgeUnavailable if is_transient(said.status) else _Denied
            pause = asked_pause(said.headers, time.time())
            raise failed(f"embedder_http_{said.status}", retry_after=pause)
        return said.body

    def _session(self) -> aiohttp.ClientSession:
        from ragtrace.endpoint.fetching import open_session

        loop = asyncio.get_running_loop()
        if (session := self._sessions.get(loop)) is None:
            session = self._sessions[loop] = open_session(self._key, self._timeout)
        return session


class _Denied(JudgeUnavailable):
    """The endpoint answered, and would answer the same request no better later."""


def _vectors(said: bytes, count: int) -> list[Any]:
    """The vectors of a reply in the order of the texts.

    Raises:
        JudgeError: it is no list of ``count`` vectors.
    """
    try:
        reply = json.loads(said)
        rows = sorted(reply["data"], key=lambda row: row["index"])
        vectors = [row["embedding"] for row in rows]
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise JudgeError("embedder_unparseable") from error
    if len(vectors) != count:
        raise JudgeError("embedder_unparseable", f"{len(vectors)} vectors for {count} texts")
    return vectors
