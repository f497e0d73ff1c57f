"""The endpoint's embedder: batches in order, unit length, another try where that helps, errors with reasons."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from aiohttp import web
from servers.ports import free_ports

from ragtrace.embedders.openai import OpenAIEmbedder
from ragtrace.errors import ConfigError, JudgeError, JudgeTimeout, JudgeUnavailable

Answer = Callable[[list[str]], web.Response]


@asynccontextmanager
async def embedder(answer: Answer, **options: Any) -> AsyncIterator[OpenAIEmbedder]:
    """An embedder of an endpoint on loopback that answers so; it does not wait between attempts."""

    async def handle(request: web.Request) -> web.Response:
        return answer((await request.json())["input"])

    async def at_once(_: float) -> None:
        pass

    app = web.Application()
    app.router.add_post("/v1/embeddings", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    made = OpenAIEmbedder("m", base_url=url, api_key="none", **({"sleep": at_once} | options))
    try:
        yield made
    finally:
        await made.aclose()
        await runner.cleanup()


def reply(vectors: list[Any], indices: list[int] | None = None) -> web.Response:
    indices = indices or list(range(len(vectors)))
    data = [
        {"object": "embedding", "index": i, "embedding": v} for i, v in zip(indices, vectors, strict=True)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return web.json_response({"object": "list", "data": data, "model": "m", "usage": usage})


async def test_vectors_are_made_unit_length_and_put_in_order() -> None:
    """Endpoints may answer in any order and any length."""
    async with embedder(lambda _: reply([[0.0, 2.0], [3.0, 4.0]], [1, 0])) as made:
        found = await made.embed(["a", "b"])
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array([[0.6, 0.8], [0.0, 1.0]]))


async def test_texts_are_sent_in_batches_and_empty_ones_as_a_space() -> None:
    """Endpoints limit the texts of a request, and some refuse an empty one."""
    requests: list[list[str]] = []

    def answer(texts: list[str]) -> web.Response:
        requests.append(texts)
        return reply([[float(len(text)), 0.0] for text in texts])

    async with embedder(answer, batch_size=2) as made:
        found = await made.embed(["a", "", "c"])
    assert sorted(requests) == [["a", " "], ["c"]]
    assert found.shape == (3, 2)


async def test_no_texts_ask_nothing() -> None:
    """Nor fail."""
    assert len(await OpenAIEmbedder("m", base_url="http://127.0.0.1:9/v1").embed([])) == 0


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_may_pass_is_tried_again(status: int) -> None:
    """An endpoint that stumbles once costs no score."""
    answers = iter([web.Response(status=status, headers={"retry-after": "1"}), reply([[2.0]])])
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async with embedder(lambda _: next(answers), sleep=sleep) as made:
        assert (await made.embed(["a"])).tolist() == [[1.0]]
    assert pauses == [1.0]


async def test_an_endpoint_that_stays_away_is_left_after_some_attempts() -> None:
    """And one that asks for a long wait at once: the deadline is nearer."""
    asked: list[int] = []

    def busy(wait: str) -> Answer:
        def answer(_: list[str]) -> web.Response:
            asked.append(1)
            return web.Response(status=503, headers={"retry-after": wait})

        return answer

    for wait, times in (("0", 3), ("3600", 1)):
        asked.clear()
        async with embedder(busy(wait)) as made:
            with pytest.raises(JudgeUnavailable):
                await made.embed(["a"])
        assert len(asked) == times


@pytest.mark.parametrize(
    ("answer", "error", "reason"),
    [
        pytest.param(lambda _: web.Response(status=503), JudgeUnavailable, "embedder_http_503", id="503"),
        pytest.param(lambda _: web.Response(status=401), JudgeUnavailable, "embedder_http_401", id="401"),
        pytest.param(lambda _: reply([[1.0]]), JudgeError, "embedder_unparseable", id="too few"),
        pytest.param(lambda _: reply([[1.0], [1.0, 2.0]]), JudgeError, "embedder_unparseable", id="ragged"),
        pytest.param(lambda _: reply([[0.0], [1.0]]), JudgeError, "embedder_unparseable", id="zero vector"),
        pytest.param(lambda _: reply([["x"], ["y"]]), JudgeError, "embedder_unparseable", id="no numbers"),
        pytest.param(lambda _: web.Response(text="hello"), JudgeError, "embedder_unparseable", id="no JSON"),
        pytest.param(lambda _: web.json_response({}), JudgeError, "embedder_unparseable", id="no data"),
        pytest.param(lambda _: web.json_response([1]), JudgeError, "embedder_unparseable", id="no object"),
    ],
)
async def test_what_goes_wrong_has_a_reason(answer: Answer, error: type[JudgeError], reason: str) -> None:
    """From a short list, fit for an attribute."""
    async with embedder(answer) as made:
        with pytest.raises(error) as caught:
            await made.embed(["a", "b"])
    assert caught.value.reason == reason


async def test_an_endpoint_that_is_not_there_or_too_slow_says_so() -> None:
    """Nobody listens; somebody listens and never answers."""

    async def at_once(_: float) -> None:
        pass

    (port,) = free_ports(1)
    made = OpenAIEmbedder("m", base_url=f"http://127.0.0.1:{port}/v1", sleep=at_once)
    with pytest.raises(JudgeUnavailable, match="embedder_unreachable"):
        await made.embed(["a"])
    await made.aclose()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        made = OpenAIEmbedder("m", base_url=f"http://127.0.0.1:{silent.getsockname()[1]}/v1", timeout=0.05)
        with pytest.raises(JudgeTimeout, match="embedder_timeout"):
            await made.embed(["a"])
        await made.aclose()


def test_what_is_no_url_is_told_before_the_first_text() -> None:
    """The error names the option."""
    with pytest.raises(ConfigError, match=r"embedder\.base_url: must be the http"):
        OpenAIEmbedder("m", base_url="localhost:8000/v1")
