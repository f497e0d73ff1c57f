"""One POST and its whole answer, within bounds."""

from __future__ import annotations

import gzip
import itertools

import aiohttp
import pytest
from servers.openai_chat import FakeOpenAI, Http

from ragtrace.endpoint.fetching import Fetched, post
from ragtrace.errors import JudgeError


async def ask(server: FakeOpenAI, most: int = 1000) -> Fetched:
    async with aiohttp.ClientSession(headers={"authorization": "Bearer hush"}) as session:
        return await post(session, server.url, b"{}", most=most)


async def test_an_answer_comes_back_whole() -> None:
    """Status, headers in any letter case, body unpacked."""
    packed = Http(418, headers=(("Content-Encoding", "gzip"), ("X-Odd", "1")), body=gzip.compress(b"tea"))
    with FakeOpenAI(packed).running() as server:
        said = await ask(server)
    assert (said.status, said.headers.get("x-odd"), said.body) == (418, "1", b"tea")


@pytest.mark.parametrize(
    "answer",
    [
        Http(parts=itertools.repeat(b" " * 600)),
        Http(body=b" " * 1001),
        Http(500, body=b" " * 1001),
        Http(headers=(("content-encoding", "gzip"),), body=gzip.compress(bytes(10**6))),
    ],
    ids=["without end", "a byte too long", "an error", "packed"],
)
async def test_no_more_is_read_than_allowed(answer: Http) -> None:
    """Counted as it is unpacked."""
    with FakeOpenAI(answer).running() as server, pytest.raises(JudgeError) as caught:
        await ask(server)
    assert caught.value.reason == "reply_too_large"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_neither_key_nor_text_goes_to_another_host(status: int) -> None:
    """Wherever the endpoint says that it has moved."""
    with FakeOpenAI().running() as other:
        moved = Http(status, headers=(("location", f"{other.url}/chat/completions"),))
        with FakeOpenAI(moved).running() as server, pytest.raises(JudgeError) as caught:
            await ask(server)
        assert caught.value.reason == "redirected"
        assert other.requests == []


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_on_the_same_host_is_followed_with_the_body(status: int) -> None:
    """As gateways do that want a slash at the end."""
    with FakeOpenAI(Http(status, headers=(("location", "/v2/"),)), Http(body=b"here")).running() as server:
        assert (await ask(server)).body == b"here"
        assert [seen.body for seen in server.requests] == [{}, {}]
