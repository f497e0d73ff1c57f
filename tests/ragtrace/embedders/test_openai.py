"""The endpoint's embedder: batches in order, unit length, and errors with reasons."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import numpy as np
import openai
import pytest

from ragtrace.embedders.openai import OpenAIEmbedder
from ragtrace.errors import JudgeError, JudgeTimeout, JudgeUnavailable

Handler = Callable[[httpx2.Request], httpx2.Response]


def embedder(handler: Handler, **options: Any) -> OpenAIEmbedder:
    transport = httpx2.MockTransport(handler)
    client = openai.AsyncOpenAI(
        base_url="http://embedder.test/v1",
        api_key="none",
        max_retries=0,
        http_client=httpx2.AsyncClient(transport=transport),
    )
    return OpenAIEmbedder("m", client=client, **options)


def reply(vectors: list[Any], indices: list[int] | None = None) -> httpx2.Response:
    indices = indices or list(range(len(vectors)))
    data = [
        {"object": "embedding", "index": i, "embedding": v} for i, v in zip(indices, vectors, strict=True)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return httpx2.Response(200, json={"object": "list", "data": data, "model": "m", "usage": usage})


async def test_vectors_are_made_unit_length_and_put_in_order() -> None:
    """Endpoints may answer in any order and any length."""
    found = await embedder(lambda _: reply([[0.0, 2.0], [3.0, 4.0]], [1, 0])).embed(["a", "b"])
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array([[0.6, 0.8], [0.0, 1.0]]))


async def test_texts_are_sent_in_batches_and_empty_ones_as_a_space() -> None:
    """Endpoints limit the texts of a request, and some refuse an empty one."""
    requests: list[list[str]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        texts = json.loads(request.content)["input"]
        requests.append(texts)
        return reply([[float(len(text)), 0.0] for text in texts])

    found = await embedder(answer, batch_size=2).embed(["a", "", "c"])
    assert sorted(requests) == [["a", " "], ["c"]]
    assert found.shape == (3, 2)


async def test_no_texts_ask_nothing() -> None:
    """Nor fail."""

    def never(_: httpx2.Request) -> httpx2.Response:
        raise AssertionError("asked")

    assert len(await embedder(never).embed([])) == 0


def _times_out(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ReadTimeout("slow", request=request)


def _refuses(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("refused", request=request)


@pytest.mark.parametrize(
    ("handler", "error", "reason"),
    [
        pytest.param(_times_out, JudgeTimeout, "embedder_timeout", id="time-out"),
        pytest.param(_refuses, JudgeUnavailable, "embedder_unreachable", id="refused"),
        pytest.param(lambda _: httpx2.Response(503), JudgeUnavailable, "embedder_http_503", id="503"),
        pytest.param(lambda _: httpx2.Response(401), JudgeUnavailable, "embedder_http_401", id="401"),
        pytest.param(lambda _: reply([[1.0]]), JudgeError, "embedder_unparseable", id="too few"),
        pytest.param(lambda _: reply([[1.0], [1.0, 2.0]]), JudgeError, "embedder_unparseable", id="ragged"),
        pytest.param(lambda _: reply([[0.0], [1.0]]), JudgeError, "embedder_unparseable", id="zero vector"),
        pytest.param(lambda _: reply([["x"], ["y"]]), JudgeError, "embedder_unparseable", id="no numbers"),
        pytest.param(
            lambda _: httpx2.Response(200, text="hello"), JudgeError, "embedder_unparseable", id="no JSON"
        ),
        pytest.param(
            lambda _: httpx2.Response(200, json={}), JudgeError, "embedder_unparseable", id="no data"
        ),
    ],
)
async def test_what_goes_wrong_has_a_reason(handler: Handler, error: type[JudgeError], reason: str) -> None:
    """From a short list, fit for an attribute."""
    with pytest.raises(error) as caught:
        await embedder(handler).embed(["a", "b"])
    assert caught.value.reason == reason
