"""Inputs larger than the judge's window: matched, batched, never over it, and never a low score for size."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from servers.openai_chat import Answer, Chat, Http, Script, Seen, good_reply
from servers.prose import filler

from ragtrace.evaluation import Evaluator
from ragtrace.judges._chat.tokens import estimate_tokens
from ragtrace.judges.base import Want
from ragtrace.model import Interaction, Status, Support
from ragtrace.testing import make_interaction


def fact(n: int) -> str:
    return f"Unit K{n} must be inspected every {100 + n} hours."


def large(documents: int, tokens: int, facts: int) -> Interaction:
    """Facts 0, 1, … each in the middle of a document of its own; the answer states all of them."""
    rng = random.Random(7)
    texts = []
    for n in range(documents):
        middle = f" {fact(n)} " if n < facts else " "
        texts.append(filler(rng, tokens // 2) + middle + filler(rng, tokens // 2))
    rng.shuffle(texts)
    return make_interaction("How often is each unit inspected?", texts, " ".join(map(fact, range(facts))))


def size_of(seen: Seen) -> int:
    return estimate_tokens(seen.system) + estimate_tokens(seen.user)


def windowed(window: int, message: str = "This model's maximum context length is {} tokens.") -> Script:
    """An honest server with a window, which tells its size in a refusal."""

    def script(seen: Seen) -> Answer:
        return Http(400, message.format(window)) if size_of(seen) > window else good_reply(seen)

    return script


@pytest.mark.parametrize("window", [4096, 32_000])
async def test_two_hundred_documents_and_sixty_sentences_are_judged(bench: Any, window: int) -> None:
    """Each sentence meets the passage that decides it; every document is judged for relevance."""
    interaction = large(documents=200, tokens=2000, facts=60)
    judge = bench(windowed(window), window_tokens=window)
    reply = await judge.ask(interaction, Want.VERDICTS, Want.RELEVANCE, Want.NEEDS)
    assert [claim.verdict and claim.verdict.support for claim in reply.claims] == [Support.SUPPORTED] * 60
    assert set(reply.relevance.values()) == {1.0}
    assert len(reply.relevance) == 200
    assert 0 < reply.kept_ratio < 1
    assert reply.needs
    assert reply.faults == ()
    assert max(map(size_of, judge.server.requests)) <= window


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is {} tokens. However, you requested 99999 tokens.",
        "the request exceeds the available context size. try increasing it: n_ctx = {}",
        "Range of input length should be [1, {0}]: input too long, limit {0}",
        "输入长度超过上下文长度，最大 {} tokens",
    ],
)
async def test_the_window_is_learned_from_a_refusal(bench: Any, message: str) -> None:
    """In the words of several servers; the next interaction fits at once."""
    judge = bench(windowed(4000, message))
    reply = await judge.ask(large(documents=20, tokens=1000, facts=3), Want.VERDICTS, Want.RELEVANCE)
    assert [claim.verdict and claim.verdict.support for claim in reply.claims] == [Support.SUPPORTED] * 3
    assert reply.kept_ratio < 1
    before = len(judge.server.requests)
    await judge.ask(large(documents=19, tokens=1000, facts=3), Want.VERDICTS, Want.RELEVANCE)
    assert all(size_of(seen) <= 4000 for seen in judge.server.requests[before:])


async def test_a_window_of_unknown_size_is_found_by_trying(bench: Any) -> None:
    """A refusal without a number: smaller requests until they pass."""
    judge = bench(windowed(4000, "prompt is too long"))
    reply = await judge.ask(large(documents=20, tokens=1000, facts=3), Want.VERDICTS, Want.RELEVANCE)
    assert [claim.verdict and claim.verdict.support for claim in reply.claims] == [Support.SUPPORTED] * 3
    assert reply.faults == ()


async def test_a_gateway_that_refuses_large_bodies_gets_smaller_ones(bench: Any) -> None:
    """413 names bytes, if anything: what fits is found by trying, and nothing is scored low for it."""

    def script(seen: Seen) -> Answer:
        size = len(json.dumps(seen.body))
        return (
            Http(413, "limit is 40000 bytes", body=b"<html>413</html>") if size > 40_000 else good_reply(seen)
        )

    judge = bench(script)
    reply = await judge.ask(large(documents=20, tokens=1500, facts=5), Want.VERDICTS, Want.RELEVANCE)
    assert [claim.verdict and claim.verdict.support for claim in reply.claims] == [Support.SUPPORTED] * 5
    assert set(reply.relevance) == set(range(1, 21))
    assert reply.faults == ()


async def test_a_server_that_cuts_silently_gives_itself_away(bench: Any) -> None:
    """It counts far fewer tokens than were sent: what it judged of the rest is void, and asked again in parts."""

    def script(seen: Seen) -> Answer:
        counted = min(2048, size_of(seen))
        reply = good_reply(seen) if size_of(seen) <= 2048 else {}
        return Chat(json.dumps(reply), usage=(counted, 10))

    judge = bench(script)
    reply = await judge.ask(large(documents=20, tokens=1000, facts=2), Want.VERDICTS, Want.RELEVANCE)
    assert [claim.verdict and claim.verdict.support for claim in reply.claims] == [Support.SUPPORTED] * 2
    assert reply.kept_ratio < 1


async def test_many_sentences_are_shared_out_over_requests(bench: Any) -> None:
    """Sixty sentences over short documents: three requests, all documents in each, relevance asked once."""
    facts = [fact(n) for n in range(60)]
    judge = bench(good_reply, units_per_request=24)
    reply = await judge.ask(
        make_interaction("How often?", facts, " ".join(facts)), Want.VERDICTS, Want.RELEVANCE
    )
    assert len(judge.server.requests) == 3
    assert sorted(len(seen.units) for seen in judge.server.requests) == [20, 20, 20]
    assert {claim.verdict.support for claim in reply.claims if claim.verdict} == {Support.SUPPORTED}
    assert len(reply.claims) == 60
    assert reply.kept_ratio == 1.0


async def test_replies_cut_at_a_small_cap_are_finished_piece_by_piece(bench: Any) -> None:
    """A server that cuts every reply at 256 tokens: forty sentences all get their verdicts, without repeats."""

    def script(seen: Seen) -> Answer:
        text = json.dumps(good_reply(seen))
        return Chat(text[:1024], finish="length") if len(text) > 1024 else Chat(text)

    facts = [fact(n) for n in range(40)]
    judge = bench(script)
    reply = await judge.ask(make_interaction("How often?", facts, " ".join(facts)), Want.VERDICTS)
    assert [claim.claim.unit for claim in reply.claims] == list(range(1, 41))
    assert {claim.verdict and claim.verdict.support for claim in reply.claims} == {Support.SUPPORTED}


async def test_only_the_missing_sentences_are_asked_again(bench: Any) -> None:
    """The second request shows one sentence, and not the answer around it."""
    facts = [fact(n) for n in range(4)]
    first: list[Seen] = []

    def script(seen: Seen) -> Answer:
        reply = good_reply(seen)
        if not first:
            first.append(seen)
            reply["claims"] = [entry for entry in reply["claims"] if entry["unit"] != 2]
        return reply

    judge = bench(script)
    reply = await judge.ask(
        make_interaction("How often?", facts, " ".join(facts)), Want.VERDICTS, Want.RELEVANCE
    )
    again = judge.server.requests[1]
    assert list(again.units.values()) == [fact(1)]
    assert "relevance" not in again.body["response_format"]["json_schema"]["schema"]["properties"]
    assert all(claim.verdict for claim in reply.claims)
    assert reply.usage.calls == 2


async def test_size_never_lowers_a_score(bench: Any) -> None:
    """The same answer over the same facts, alone and among a hundred documents: faithfulness 1 both times."""
    for interaction in (large(3, 200, 3), large(100, 1500, 3)):
        judge = bench(windowed(8000), window_tokens=8000)
        evaluation = await Evaluator(judge.judge, None, ["faithfulness"], clock=judge.clock).evaluate(
            interaction
        )
        assert evaluation.outcomes["faithfulness"].value == 1.0


async def test_a_window_that_nothing_fits_into_is_said(bench: Any) -> None:
    """A server that refuses whatever the size ends in a status, after a bounded number of requests."""
    judge = bench(Http(400, "maximum context length exceeded"))
    evaluation = await Evaluator(judge.judge, clock=judge.clock).evaluate(make_interaction())
    faithfulness = evaluation.outcomes["faithfulness"]
    assert (faithfulness.status, faithfulness.reason) == (Status.JUDGE_ERROR, "window_exceeded")
    assert len(judge.server.requests) < 20
