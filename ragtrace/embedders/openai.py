"""Embeddings from any endpoint that speaks OpenAI's ``/embeddings``."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragtrace.errors import JudgeError, JudgeTimeout, JudgeUnavailable, MissingExtra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class OpenAIEmbedder:
    """Vectors from an endpoint.

    Args:
        model: the model's name at the endpoint.
        base_url: the endpoint up to ``/v1``; ``None`` = OPENAI_BASE_URL, else OpenAI's own.
        api_key: ``None`` = OPENAI_API_KEY; endpoints of your own mostly take any.
        batch_size: texts a request.
        timeout: seconds a request.
        client: an ``openai.AsyncOpenAI`` of your own, instead of the three above.

    Raises:
        MissingExtra: the ``openai`` package is not installed.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        batch_size: int = 64,
        timeout: float = 30.0,
        client: Any = None,
    ) -> None:
        self._model, self._batch_size = model, batch_size
        self._client = client or _client(base_url, api_key, timeout)

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
        vectors = [vector for batch in await asyncio.gather(*map(self._request, batches)) for vector in batch]
        try:
            stacked = np.asarray(vectors, np.float32)
        except (TypeError, ValueError) as error:
            raise JudgeError("embedder_unparseable") from error
        lengths = np.linalg.norm(stacked, axis=-1, keepdims=True)
        if stacked.ndim != 2 or not np.isfinite(lengths).all() or not lengths.all():
            raise JudgeError("embedder_unparseable")
        unit: NDArray[np.float32] = stacked / lengths
        return unit

    async def aclose(self) -> None:
        """Free connections; may be called twice."""
        await self._client.close()

    async def _request(self, texts: Sequence[str]) -> list[list[float]]:
        import openai

        try:
            # Some endpoints refuse an empty text; a space is as good.
            reply = await self._client.embeddings.create(
                model=self._model, input=[text or " " for text in texts], encoding_format="float"
            )
        except openai.APITimeoutError as error:
            raise JudgeTimeout("embedder_timeout") from error
        except openai.APIConnectionError as error:
            raise JudgeUnavailable("embedder_unreachable") from error
        except openai.APIStatusError as error:
            raise JudgeUnavailable(f"embedder_http_{error.status_code}") from error
        except openai.OpenAIError as error:
            raise JudgeError("embedder_unparseable") from error
        # The client does not check what it is sent: a page of HTML comes through as a string.
        rows = sorted(getattr(reply, "data", None) or (), key=lambda row: row.index)
        if len(rows) != len(texts):
            raise JudgeError("embedder_unparseable", f"{len(rows)} vectors for {len(texts)} texts")
        return [row.embedding for row in rows]


def _client(base_url: str | None, api_key: str | None, timeout: float) -> Any:
    import os

    try:
        import openai
    except ModuleNotFoundError as error:
        raise MissingExtra("the openai embedder", "score") from error
    # The client insists on a key; endpoints of one's own take any.
    key = api_key or os.environ.get("OPENAI_API_KEY") or "none"
    return openai.AsyncOpenAI(base_url=base_url, api_key=key, timeout=timeout)
