"""The embedder protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into vectors of unit length."""

    @property
    def name(self) -> str:
        """Name and version, part of the judge's revision."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed ``texts`` → float32 array of shape (len(texts), d), each row of length 1.

        Raises:
            JudgeError: the embedder's endpoint gave no vectors.
        """


def cosine(one: NDArray[Any], many: NDArray[Any]) -> NDArray[Any]:
    """Cosines of one unit vector (d,) with the rows of ``many`` (n, d) → (n,), each in -1..1."""
    product: NDArray[Any] = many @ one
    return product.clip(-1.0, 1.0)
