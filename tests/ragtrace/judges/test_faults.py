"""What endpoints and models do wrong, replayed over real HTTP and scored to the end.

Either the right number comes out or an honest status: never a silent 0, 1 or NaN, never an exception.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from servers.openai_chat import Answer, Chat, Http, Script, Seen, good_reply

from ragtrace.evaluation import Evaluator
from ragtrace.model import Evaluation, Score, Status
from ragtrace.testing import ScriptedEmbedder, make_interaction

ANSWER = "The seal is replaced every 500 hours. The pump is painted blue."
DOCUMENTS = ("The seal is replaced every 500 hours.", "The pump is painted blue.")
JUDGED = ("faithfulness", "context_precision", "context_recall", "context_noise", "answer_relevancy")


def grounded(change: Callable[[dict[str, Any]], Answer]) -> Script:
    """An honest server, but for what ``change`` does to the replies of call 1."""

    def script(seen: Seen) -> Answer:
        reply = good_reply(seen)
        return change(reply) if seen.call == "grounding" else reply

    return script


def each_claim(**fields: Any) -> Script:
    """An honest server whose claims (the canary's too) have other ``fields``."""
    return grounded(lambda reply: reply | {"claims": [entry | fields for entry in reply["claims"]]})


def once(first: Answer | Script, then: Script = good_reply) -> Script:
    """``first`` for the first request of each call, an honest server ever after."""
    met: set[str] = set()
    lock = threading.Lock()

    def script(seen: Seen) -> Answer:
        with lock:
            new = seen.call not in met
            met.add(seen.call)
        step = first if new else then
        return step(seen) if callable(step) else step

    return script


def refusing(parameter: str, message: str = "Unsupported parameter: '{}' is not supported") -> Script:
    """A server that answers 400 while a request has ``parameter``."""
    return lambda seen: Http(400, message.format(parameter)) if parameter in seen.body else good_reply(seen)


def with_format(*known: str) -> Script:
    """A server that knows only these kinds of response_format (``none`` = its absence)."""

    def script(seen: Seen) -> Answer:
        kind = seen.body.get("response_format", {"type": "none"})["type"]
        if kind not in known:
            return Http(400, f"response_format type {kind} is unavailable now")
        return good_reply(seen)

    return script


def text_of(reply: dict[str, Any]) -> str:
    return json.dumps(reply, ensure_ascii=False)


def cut(reply: dict[str, Any]) -> Answer:
    text = text_of(reply)
    return Chat(text[: text.index('"claims"') + len(text) // 4], finish="length")


def stringly(reply: dict[str, Any]) -> Answer:
    """Numbers and flags as strings, as some providers' JSON mode gives them."""
    return json.loads(text_of(reply), parse_int=str)


def with_noise(reply: dict[str, Any]) -> Answer:
    """Repeats, sentences and documents that nobody asked about, and a verdict that is none."""
    claims, relevance = reply["claims"], reply["relevance"]
    strange = [
        {"unit": 99, "claim": "x", "quote": "", "verdict": "SUPPORTED"},
        "text",
        None,
        {"verdict": "-1"},
    ]
    return reply | {
        "claims": [*claims, *claims, *strange, claims[0] | {"claim": "other", "verdict": "N/A"}],
        "relevance": [
            *relevance,
            *({**entry, "helps": "no"} for entry in relevance),
            {"doc": 77, "helps": "yes"},
        ],
        "score": 0.1,
    }


RIGHT_IN_THE_END: dict[str, Script] = {
    "honest": good_reply,
    "429 with Retry-After": once(Http(429, headers=(("retry-after", "1"),))),
    "429 without": once(Http(429)),
    "503": once(Http(503)),
    "500": once(Http(500)),
    "529 overloaded": once(Http(529)),
    "html instead of json": once(Http(200, body=b"<html>bad gateway</html>")),
    "half a response body": once(Http(200, body=b'{"id": "x", "choices": [')),
    "empty choices": once(Chat(choices=False)),
    "content null": once(Chat(None)),
    "empty text": once(Chat("")),
    "prose once": once(Chat("Sure! The statement is supported.")),
    "empty object": once(Chat("{}")),
    "cut once": once(grounded(cut)),
    "finish says length, reply is whole": grounded(lambda reply: Chat(text_of(reply), finish="length")),
    "finish says a word nobody knows": grounded(lambda reply: Chat(text_of(reply), finish="eos_token")),
    "finish says content_filter, reply is whole": grounded(
        lambda r: Chat(text_of(r), finish="content_filter")
    ),
    "thinking before": grounded(lambda reply: Chat(f'<think>{{"claims": []}} hm</think>\n{text_of(reply)}')),
    "thinking without its opening tag": grounded(lambda reply: Chat(f"so...\n</think>\n\n{text_of(reply)}")),
    "code fence": grounded(lambda reply: Chat(f"```json\n{text_of(reply)}\n```")),
    "numbers in strings": grounded(stringly),
    "flags as booleans": grounded(
        lambda r: json.loads(text_of(r).replace('"yes"', "true").replace('"no"', "false"))
    ),
    "verdicts in lower case": grounded(lambda r: Chat(text_of(r).replace("SUPPORTED", "supported"))),
    "repeats and strangers": grounded(with_noise),
    "no usage": grounded(lambda reply: Chat(text_of(reply), usage=None)),
    "temperature unsupported": refusing(
        "temperature", "Unsupported value: '{}' does not support 0 with this model"
    ),
    "seed unsupported": refusing("seed"),
    "max_tokens unsupported": refusing("max_tokens", "Use 'max_completion_tokens' instead of '{}'"),
    "json_object only": with_format("json_object", "none"),
    "no response_format at all": with_format("none"),
    "refuses without a reason": lambda seen: (
        Http(400) if "response_format" in seen.body else good_reply(seen)
    ),
    "array lengths unsupported": lambda seen: (
        Http(400, "schema: 'minItems' is not permitted")
        if "maxItems" in json.dumps(seen.body)
        else good_reply(seen)
    ),
    "422 instead of 400": lambda seen: Http(422, "seed: extra") if "seed" in seen.body else good_reply(seen),
    "more than one choice refused": lambda seen: (
        Http(400, "only n=1 supported") if seen.body.get("n", 1) != 1 else good_reply(seen)
    ),
}

JUDGE_ERROR, TIMED_OUT = Status.JUDGE_ERROR, Status.TIMED_OUT
NEVER_RIGHT: dict[str, tuple[Script | Answer, Status, str]] = {
    "429 for ever": (Http(429), JUDGE_ERROR, "rate_limited"),
    "429 with a day to wait": (Http(429, headers=(("retry-after", "86400"),)), JUDGE_ERROR, "rate_limited"),
    "quota spent": (Http(429, "You exceeded your quota", code="insufficient_quota"), JUDGE_ERROR, "quota"),
    "500 for ever": (Http(500), JUDGE_ERROR, "server_error"),
    "401": (Http(401), JUDGE_ERROR, "unauthorized"),
    "403": (Http(403), JUDGE_ERROR, "forbidden"),
    "404": (Http(404), JUDGE_ERROR, "not_found"),
    "400 for ever": (Http(400, "bad"), JUDGE_ERROR, "bad_request"),
    "filtered on the way in": (Http(400, "flagged", code="content_filter"), JUDGE_ERROR, "content_filter"),
    "filtered on the way out": (Chat(None, finish="content_filter"), JUDGE_ERROR, "content_filter"),
    "refusal": (Chat(None, refusal="I cannot help with that"), JUDGE_ERROR, "refused"),
    "never JSON": (Chat("I think the answer is mostly fine."), JUDGE_ERROR, "unparseable"),
    "always empty": (Chat(""), JUDGE_ERROR, "empty_reply"),
    "no choices ever": (Chat(choices=False), JUDGE_ERROR, "empty_reply"),
    "html for ever": (Http(200, body=b"<html></html>"), JUDGE_ERROR, "malformed_response"),
    "endless thinking": (Chat('<think>well {"claims": []}'), JUDGE_ERROR, "unparseable"),
}


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


@pytest.mark.parametrize("name", RIGHT_IN_THE_END)
async def test_what_can_be_mended_ends_in_the_right_numbers(bench: Any, name: str) -> None:
    """Retries, fewer parameters, tolerant reading and re-asks lead to the scores of an honest judge."""
    evaluation = await evaluate(bench(RIGHT_IN_THE_END[name]))
    assert_honest(evaluation)
    values = {metric: evaluation.outcomes[metric].value for metric in JUDGED}
    assert values == {
        "faithfulness": 1.0,
        "context_precision": 1.0,
        "context_recall": 1.0,
        "context_noise": 0.0,
        "answer_relevancy": pytest.approx(1.0),
    }
    assert [claim.verdict is not None for claim in evaluation.claims] == [True, True]


@pytest.mark.parametrize("name", NEVER_RIGHT)
async def test_what_cannot_be_mended_ends_in_a_status(bench: Any, name: str) -> None:
    """Every judged metric says why it has no number."""
    script, status, reason = NEVER_RIGHT[name]
    evaluation = await evaluate(bench(script))
    assert_honest(evaluation)
    outcomes = {metric: evaluation.outcomes[metric] for metric in JUDGED}
    assert {outcome.status for outcome in outcomes.values()} == {status}
    assert outcomes["faithfulness"].reason == reason


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
    "verdict", ["-1", "null", "Null", "N/A", "", "yes", None, 1, True, ["SUPPORTED"], "支持"]
)
async def test_a_verdict_outside_the_enum_never_counts(bench: Any, verdict: object) -> None:
    """Neither as support nor as its lack: the metric is a judge error."""
    evaluation = await evaluate(bench(each_claim(verdict=verdict)))
    assert_honest(evaluation)
    faithfulness = evaluation.outcomes["faithfulness"]
    assert (faithfulness.status, faithfulness.reason) == (JUDGE_ERROR, "outside_enum")


async def test_one_bad_verdict_among_good_ones_costs_only_itself(bench: Any) -> None:
    """What was judged counts, and the share that was judged is said."""

    def change(reply: dict[str, Any]) -> Answer:
        claims = [e | {"verdict": "N/A"} if e["unit"] == 2 else e for e in reply["claims"]]
        return reply | {"claims": claims}

    faithfulness = (await evaluate(bench(grounded(change)))).outcomes["faithfulness"]
    assert (faithfulness.value, faithfulness.n_judged, faithfulness.n_total) == (1.0, 1, 2)


async def test_a_hanging_endpoint_ends_at_the_deadline(bench: Any) -> None:
    """Timed out, not zero, and the request is dropped."""
    release = threading.Event()
    judge = bench(Http(hold=release), real_clock=True)
    interaction = make_interaction("How often?", DOCUMENTS, ANSWER)
    try:
        evaluation = await Evaluator(judge.judge).evaluate(interaction, deadline=time.monotonic() + 0.3)
    finally:
        release.set()
    assert {
        evaluation.outcomes[m].status for m in ("faithfulness", "context_precision", "context_recall")
    } == {TIMED_OUT}


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
    assert evaluation.outcomes["answer_relevancy"].status is TIMED_OUT
    assert evaluation.outcomes["faithfulness"].value == 1.0


async def test_an_unreachable_endpoint_is_a_judge_error(bench: Any) -> None:
    """Nothing listens there."""
    evaluation = await evaluate(bench(good_reply, base_url="http://127.0.0.1:9/v1"))
    assert evaluation.outcomes["faithfulness"].reason == "unreachable"
    assert_honest(evaluation)
