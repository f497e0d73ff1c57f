"""How much is asked again after a fault, and what of a half good reply counts; all faults are in the sweep."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from servers.openai_chat import Answer, Chat, Http, Script, Seen, good_reply

from ragtrace.aggregates import Aggregate
from ragtrace.evaluation import Evaluator
from ragtrace.model import Evaluation, Score, Status
from ragtrace.records import evaluation_to_dict
from ragtrace.testing import ScriptedEmbedder, make_interaction

ANSWER = "The seal is replaced every 500 hours. The pump is painted blue."
DOCUMENTS = ("The seal is replaced every 500 hours.", "The pump is painted blue.")


def grounded(change: Callable[[dict[str, Any]], Answer]) -> Script:
    """An honest server, but for what ``change`` does to the replies of call 1."""

    def script(seen: Seen) -> Answer:
        reply = good_reply(seen)
        return change(reply) if seen.call == "grounding" else reply

    return script


def each_claim(**fields: Any) -> Script:
    """An honest server whose claims (the canary's too) have other ``fields``."""
    return grounded(lambda reply: reply | {"claims": [entry | fields for entry in reply["claims"]]})


async def evaluate(bench: Any, **fields: Any) -> Evaluation:
    question = "How often is the seal replaced?"
    embedder = ScriptedEmbedder([question, *(f"{ANSWER} ({n})?" for n in (1, 2, 3))])
    interaction = make_interaction(
        question, fields.pop("documents", DOCUMENTS), fields.pop("answer", ANSWER), **fields
    )
    return await Evaluator(bench.judge, embedder, clock=bench.clock).evaluate(interaction)


def assert_honest(evaluation: Evaluation) -> None:
    """Every metric has a finite number in 0..1 or a status with a reason."""
    for outcome in evaluation.outcomes.values():
        if isinstance(outcome, Score):
            assert math.isfinite(outcome.value)
            assert 0 <= outcome.value <= 1
        else:
            assert outcome.reason


async def test_a_reply_that_never_parses_is_asked_for_twice_and_no_more(bench: Any) -> None:
    """No repair calls that resend everything again and again."""
    judge = bench(Chat("no"))
    await evaluate(judge)
    assert sorted(seen.call for seen in judge.server.requests) == [
        "grounding",
        "grounding",
        "questions",
        "questions",
    ]


async def test_a_permanent_429_is_tried_no_more_than_the_attempts_allow(bench: Any) -> None:
    """Layers of retries do not multiply."""
    judge = bench(Http(429), attempts=3)
    await evaluate(judge)
    assert len(judge.server.requests) == 2 * 3


@pytest.mark.parametrize(
    "verdict",
    [
        *("-1", "null", "Null", "N/A", "", "yes", None, 1, True, ["SUPPORTED"], "支持"),
        *("0.8", "80%", 0.8, float("nan"), ["a", "b"], {"score": None}, {"verdict": "SUPPORTED"}),
    ],
)
async def test_a_verdict_outside_the_enum_never_counts(bench: Any, verdict: object) -> None:
    """Neither as support nor as its lack: the metric is a judge error."""
    evaluation = await evaluate(bench(each_claim(verdict=verdict)))
    assert_honest(evaluation)
    faithfulness = evaluation.outcomes["faithfulness"]
    assert (faithfulness.status, faithfulness.reason) == (Status.JUDGE_ERROR, "outside_enum")


async def test_one_bad_verdict_among_good_ones_costs_only_itself(bench: Any) -> None:
    """What was judged counts, and the share that was judged is said."""

    def change(reply: dict[str, Any]) -> Answer:
        claims = [e | {"verdict": "N/A"} if e["unit"] == 2 else e for e in reply["claims"]]
        return reply | {"claims": claims}

    faithfulness = (await evaluate(bench(grounded(change)))).outcomes["faithfulness"]
    assert (faithfulness.value, faithfulness.n_judged, faithfulness.n_total) == (1.0, 1, 2)


async def test_what_came_before_the_deadline_is_kept(bench: Any) -> None:
    """Call 2 hangs, call 1 came: only the metric of call 2 is timed out."""
    release = threading.Event()
    judge = bench(
        lambda seen: Http(hold=release) if seen.call == "questions" else good_reply(seen), real_clock=True
    )
    interaction = make_interaction("How often?", DOCUMENTS, ANSWER)
    try:
        evaluator = Evaluator(judge.judge, ScriptedEmbedder())
        evaluation = await evaluator.evaluate(interaction, deadline=time.monotonic() + 1.5)
    finally:
        release.set()
    assert evaluation.outcomes["answer_relevancy"].status is Status.TIMED_OUT
    assert evaluation.outcomes["faithfulness"].value == 1.0


async def test_an_unreachable_endpoint_is_a_judge_error(bench: Any) -> None:
    """Nothing listens there."""
    evaluation = await evaluate(bench(good_reply, base_url="http://127.0.0.1:9/v1"))
    assert evaluation.outcomes["faithfulness"].reason == "unreachable"
    assert_honest(evaluation)


async def test_rows_that_time_out_are_counted_beside_the_mean(bench: Any) -> None:
    """Three of ten, those with the long documents: the mean is of seven, and says so."""
    never = threading.Event()
    judge = bench(
        lambda seen: Http(hold=never) if "very long" in seen.user else good_reply(seen), real_clock=True
    )
    evaluator, whole = Evaluator(judge.judge, None, ["faithfulness"]), Aggregate()

    async def row(n: int) -> Evaluation:
        long = n < 3
        document = f"Refunds take {n} days." + " It is very long." * (100 if long else 0)
        interaction = make_interaction(documents=(document,), answer=f"Refunds take {n} days.")
        return await evaluator.evaluate(interaction, time.monotonic() + 0.2 if long else None)

    try:
        for evaluation in await asyncio.gather(*map(row, range(10))):
            whole.add(evaluation_to_dict(evaluation))
    finally:
        never.set()
    tally = whole.as_json()["metrics"]["faithfulness"]
    assert (tally["mean"], tally["n_scored"], tally["coverage"]) == (1.0, 7, 0.7)
    assert tally["statuses"] == {"scored": 7, "timed_out": 3}
    assert tally["reasons"] == {"timed_out: deadline": 3}
