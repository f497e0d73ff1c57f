"""Recorded faults of existing scorers, with the value that is right; read from the shared cases."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from servers.openai_chat import Answer, Chat, FakeOpenAI, Http, Script, Seen, good_reply

from ragtrace.aggregates import Aggregate
from ragtrace.evaluation import Evaluator
from ragtrace.judges._chat.entries import Shown
from ragtrace.judges._chat.quotes import Evidence
from ragtrace.judges.base import Want
from ragtrace.judges.chat import ChatJudge, ChatOptions
from ragtrace.model import Cause, Evaluation, Interaction, Status
from ragtrace.records import evaluation_to_dict
from ragtrace.testing import ScriptedEmbedder, make_interaction

Fault = dict[str, Any]


@pytest.fixture(scope="module")
def faults(shared: Path) -> dict[str, Fault]:
    lines = (shared / "faults" / "judge_faults.jsonl").read_text("utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def interaction_of(fault: Fault) -> Interaction:
    repro = fault["repro"]
    return make_interaction(
        repro["question"], repro["contexts"], repro["answer"], reference=repro["reference"]
    )


def all_alike(fault: Fault) -> ScriptedEmbedder:
    """An embedder to which the generated questions and the question mean the same."""
    question, answer = fault["repro"]["question"], fault["repro"]["answer"]
    return ScriptedEmbedder([question, "Who approves?", *(f"{answer} ({n})?" for n in (1, 2, 3))])


async def run(
    bench: Any, fault: Fault, script: Answer | Script = good_reply, *metrics: str, **options: Any
) -> tuple[Evaluation, list[Seen]]:
    judge = bench(script, **options)
    evaluator = Evaluator(judge.judge, all_alike(fault), metrics or None, clock=judge.clock)
    return await evaluator.evaluate(interaction_of(fault)), judge.server.requests


def changed(**keys: Any) -> Script:
    """An honest server but for these keys of its replies."""
    return lambda seen: good_reply(seen) | {k: v for k, v in keys.items() if k in good_reply(seen)}


def verdicts(*supported: bool) -> Script:
    """An honest server that gives the first sentence these verdicts, one claim each, with a real quote."""

    def script(seen: Seen) -> Answer:
        reply = good_reply(seen)
        if seen.call == "grounding" and seen.units:
            quote = seen.documents[1]
            reply["claims"] = reply["claims"][-1:] + [
                {"unit": 1, "claim": f"claim {n}", "quote": quote if yes else "", "verdict": word}
                for n, yes in enumerate(supported)
                for word in ("SUPPORTED" if yes else "NOT_FOUND",)
            ]
        return reply

    return script


async def test_a_refusal_has_a_status_and_no_number(bench: Any, faults: dict[str, Fault]) -> None:
    """F01, F05: nothing was claimed; every metric on claims says so, and none is asked about them."""
    for name in ("F01", "F05"):
        evaluation, requests = await run(bench, faults[name])
        assert evaluation.outcomes["faithfulness"].status is Status.ABSTAINED
        assert not any(seen.units for seen in requests if seen.call == "grounding")


async def test_a_right_refusal_is_told_from_a_needless_one(bench: Any, faults: dict[str, Fault]) -> None:
    """F02: whether the documents would have allowed an answer decides."""
    need = {"need": "the warranty", "answered": "no"}
    right, _ = await run(bench, faults["F02"], changed(needs=[need | {"covered": "no"}]))
    needless, _ = await run(bench, faults["F02"], changed(needs=[need | {"covered": "yes"}]))
    assert right.diagnosis.cause is Cause.CORRECT_REFUSAL
    assert needless.diagnosis.cause is Cause.NEEDLESS_REFUSAL


async def test_evasiveness_is_one_flag_for_all_questions(bench: Any, faults: dict[str, Fault]) -> None:
    """F03: no vote of samples that a rule could swing."""
    committed, requests = await run(
        bench, faults["F03"], changed(evasive="no", questions=["Who approves?"] * 3)
    )
    assert committed.outcomes["answer_relevancy"].value == pytest.approx(1.0)
    assert [seen.call for seen in requests].count("questions") == 1
    evasive, _ = await run(bench, faults["F03"], changed(evasive="yes", questions=["Who approves?"]))
    assert evasive.outcomes["answer_relevancy"].value != pytest.approx(1.0)


async def test_a_refusal_makes_none_of_the_reference_claims(bench: Any, faults: dict[str, Fault]) -> None:
    """F06: against a full reference the claims part is 0, not 1."""

    def script(seen: Seen) -> Answer:
        reply = good_reply(seen)
        reply["claims"] = [entry | {"in_answer": "no"} for entry in reply["claims"]]
        return reply

    evaluation, _ = await run(bench, faults["F06"], script, "answer_correctness")
    assert evaluation.outcomes["answer_correctness"].evidence["f"] == 0.0


@pytest.mark.parametrize(("name", "metric"), [("F07", "faithfulness"), ("F08", "context_recall")])
async def test_nothing_retrieved_is_zero_without_a_call(
    bench: Any, faults: dict[str, Fault], name: str, metric: str
) -> None:
    """F07, F08: a model would answer from its own knowledge."""
    evaluation, requests = await run(bench, faults[name], good_reply, metric)
    assert evaluation.outcomes[metric].value == 0.0
    assert requests == []


async def test_questions_in_another_language_measure_nothing(bench: Any, faults: dict[str, Fault]) -> None:
    """F10: asked again once, then said."""
    fault = faults["F10"]
    english = json.loads(fault["repro"]["judge_replies"][0])["question"]
    evaluation, requests = await run(bench, fault, changed(questions=[english]), "answer_relevancy")
    outcome = evaluation.outcomes["answer_relevancy"]
    assert (outcome.status, outcome.reason) == (Status.JUDGE_ERROR, fault["expect"]["flag"])
    assert len(requests) == 2


@pytest.mark.parametrize("name", ["F11", "F32"])
async def test_equal_texts_are_correct_without_a_call(
    bench: Any, faults: dict[str, Fault], name: str
) -> None:
    """F11, F32: nobody has to compare them."""
    evaluation, requests = await run(bench, faults[name], good_reply, "answer_correctness")
    assert evaluation.outcomes["answer_correctness"].value == 1.0
    assert requests == []


async def test_other_languages_are_scored_alike(bench: Any, faults: dict[str, Fault]) -> None:
    """F12: Polish, judged by the English prompts."""
    evaluation, _ = await run(bench, faults["F12"], verdicts(True, True))
    expected = faults["F12"]["expect"]
    assert {metric: evaluation.outcomes[metric].value for metric in expected} == expected


async def test_unparseable_replies_have_a_reason_and_cost_two_calls(
    bench: Any, faults: dict[str, Fault]
) -> None:
    """F15: no repair calls without end."""
    fault = faults["F15"]
    evaluation, requests = await run(bench, fault, Chat(fault["repro"]["judge_replies"][0]), "faithfulness")
    assert evaluation.outcomes["faithfulness"].reason == "unparseable"
    assert len(requests) <= fault["expect"]["max_calls"]


async def test_a_cut_reply_is_called_cut(bench: Any, faults: dict[str, Fault]) -> None:
    """F19: and the output cap that we chose is lifted for what follows."""
    fault = faults["F19"]
    reply = Chat(
        fault["repro"]["judge_replies"][0]["content"].replace("statements", "claims"), finish="length"
    )
    evaluation, requests = await run(bench, fault, reply, "faithfulness")
    assert evaluation.outcomes["faithfulness"].reason == fault["expect"]["reason"]
    assert "max_tokens" in requests[0].body
    assert "max_tokens" not in requests[-1].body


async def test_documents_over_the_window_are_cut_to_fit(bench: Any, faults: dict[str, Fault]) -> None:
    """F20: scored, with the share that was seen; no request is over the window."""
    window = 2000

    def script(seen: Seen) -> Answer:
        if (len(seen.system) + len(seen.user)) / 4 > window:
            return Http(400, f"This model's maximum context length is {window} tokens.")
        return good_reply(seen)

    evaluation, _ = await run(bench, faults["F20"], script)
    assert evaluation.outcomes["faithfulness"].status is Status.SCORED
    assert evaluation.outcomes["context_precision"].kept_ratio < 1


async def test_n_is_never_sent(bench: Any, faults: dict[str, Fault]) -> None:
    """F21, F23: several questions come in one reply of one choice."""
    evaluation, requests = await run(
        bench, faults["F21"], changed(questions=["Who approves?"]), "answer_relevancy"
    )
    assert evaluation.outcomes["answer_relevancy"].value == pytest.approx(1.0)
    assert [seen.body.get("n") for seen in requests] == [None]


async def test_concurrent_requests_keep_their_parameters(bench: Any, faults: dict[str, Fault]) -> None:
    """F22: twenty interactions at once; every request carries what its own call needs."""
    judge = bench(good_reply)
    evaluator = Evaluator(judge.judge, all_alike(faults["F22"]))
    rows = [
        make_interaction(f"Question {n}?", ["The pump is blue."], f"The pump is blue {n}.") for n in range(20)
    ]
    evaluations = await asyncio.gather(*map(evaluator.evaluate, rows))
    assert {outcome.status for e in evaluations for outcome in (e.outcomes["faithfulness"],)} == {
        Status.SCORED
    }
    names = [
        (seen.call, seen.body["response_format"]["json_schema"]["name"]) for seen in judge.server.requests
    ]
    assert len(names) == 40
    assert all(call == name for call, name in names)
    assert {(seen.body["temperature"], seen.body["seed"]) for seen in judge.server.requests} == {(0.0, 7)}


async def test_rate_limits_are_waited_out(bench: Any, faults: dict[str, Fault]) -> None:
    """F24: Retry-After is honoured, and the number comes."""
    fault = faults["F24"]
    judge = bench(*[Http(429, headers=(("retry-after", "1"),))] * 2, verdicts(True))
    evaluator = Evaluator(judge.judge, None, ["faithfulness"], clock=judge.clock)
    evaluation = await evaluator.evaluate(
        interaction_of(fault | {"repro": fault["repro"] | {"answer": "Pumps run."}})
    )
    assert evaluation.outcomes["faithfulness"].value == fault["expect"]["score"]
    assert len(judge.server.requests) <= fault["expect"]["http_calls_max"]
    assert sum(judge.clock.slept) >= 2


def test_a_judge_outlives_its_event_loop(faults: dict[str, Fault]) -> None:
    """F26: two runs in one process share the judge, not a dead loop's connections."""
    with FakeOpenAI().running() as server:
        judge = ChatJudge(ChatOptions(model="fake", base_url=server.url, cache_entries=0))
        row = make_interaction("How often?", ["Every 500 hours."], "Every 500 hours.")
        for _ in range(3):
            evaluation = asyncio.run(Evaluator(judge, None, ["faithfulness"]).evaluate(row))
            assert evaluation.outcomes["faithfulness"].value == 1.0


def test_it_runs_under_uvloop(faults: dict[str, Fault]) -> None:
    """F27: no patching of loops."""
    uvloop = pytest.importorskip("uvloop")
    with FakeOpenAI().running() as server:
        judge = ChatJudge(ChatOptions(model="fake", base_url=server.url))
        row = make_interaction("How often?", ["Every 500 hours."], "Every 500 hours.")
        evaluation = uvloop.run(Evaluator(judge, None, ["faithfulness"]).evaluate(row))
    assert evaluation.outcomes["faithfulness"].value == 1.0


async def test_a_row_that_hangs_holds_up_no_other(bench: Any, faults: dict[str, Fault]) -> None:
    """F25: the others are there while it hangs; it ends at its deadline, timed out."""
    never = threading.Event()
    hung = replace(interaction_of(faults["F25"]), answer="Pumps run.")
    others = [make_interaction(answer=f"Refunds take {n} days.") for n in range(3)]

    def script(seen: Seen) -> Answer:
        return Http(hold=never) if "Pumps run." in seen.user else good_reply(seen)

    judge = bench(script, real_clock=True)
    evaluator = Evaluator(judge.judge, None, ["faithfulness"])
    stored: list[Interaction] = []

    async def store(row: Interaction, deadline: float | None = None) -> Evaluation:
        evaluation = await evaluator.evaluate(row, deadline)
        stored.append(row)
        return evaluation

    try:
        hanging = asyncio.create_task(store(hung, time.monotonic() + 30))
        await asyncio.gather(*map(store, others))
        assert [row in stored for row in (*others, hung)] == [True, True, True, False]
        hanging.cancel()
        late = await store(hung, time.monotonic() + 0.1)
    finally:
        never.set()
    assert late.outcomes["faithfulness"].status is Status.TIMED_OUT


async def test_a_mean_shows_how_many_rows_it_lacks(bench: Any, faults: dict[str, Fault]) -> None:
    """F28: one row scored, one failed: the mean is that of the first, the coverage is a half; of rows that all
    failed there is no mean, and no NaN."""
    expect, garbage = faults["F28"]["expect"], Chat(faults["F28"]["repro"]["judge_replies"][1])
    good, _ = await run(bench, faults["F36"], verdicts(True), "faithfulness")
    failed, _ = await run(bench, faults["F36"], garbage, "faithfulness")

    def summary(*evaluations: Evaluation) -> dict[str, Any]:
        whole = Aggregate()
        for evaluation in evaluations:
            whole.add(evaluation_to_dict(evaluation))
        found: dict[str, Any] = whole.as_json()["metrics"]["faithfulness"]
        return found

    both = summary(good, failed)
    assert (both["mean"], both["n_scored"], both["coverage"]) == (
        expect["mean"],
        expect["scored"],
        expect["coverage"],
    )
    assert both["statuses"] == {"scored": expect["scored"], "judge_error": expect["failed"]}
    assert both["reasons"] == {"judge_error: unparseable": expect["failed"]}
    none = summary(failed)
    assert (none["mean"], none["n_scored"], none["coverage"]) == (None, 0, 0.0)


async def test_precision_by_rank_and_noise_are_two_numbers(bench: Any, faults: dict[str, Fault]) -> None:
    """F30: one good document on top of three bad ones."""
    evaluation, _ = await run(
        bench, faults["F30"], lambda seen: good_reply(seen, relevant=lambda t: "Paris" in t)
    )
    expected = faults["F30"]["expect"]
    assert evaluation.outcomes["context_precision"].value == expected["average_precision"]
    assert evaluation.outcomes["context_noise"].value == 1 - expected["precision"]


async def test_the_same_content_gets_the_same_verdict_for_nothing(
    bench: Any, faults: dict[str, Fault]
) -> None:
    """F32: the second judgement comes from the cache, equal and free."""
    judge = bench(verdicts(True))
    evaluator = Evaluator(judge.judge, None, ["faithfulness", "context_precision"], clock=judge.clock)
    row = interaction_of(faults["F36"])
    first, second = await evaluator.evaluate(row), await evaluator.evaluate(row)
    assert first.outcomes == second.outcomes
    assert (first.judge.calls, second.judge.calls) == (1, 0)


async def test_numeric_answers_are_scored(bench: Any, faults: dict[str, Fault]) -> None:
    """F36: one of two claims is supported."""
    evaluation, _ = await run(bench, faults["F36"], verdicts(True, False))
    assert evaluation.outcomes["faithfulness"].value == faults["F36"]["expect"]["score"]


async def test_a_document_of_signs_does_not_fail_the_rest(bench: Any, faults: dict[str, Fault]) -> None:
    """F37: it does not help, the other one does."""
    evaluation, _ = await run(
        bench, faults["F37"], lambda seen: good_reply(seen, relevant=lambda t: "thumb" in t)
    )
    assert evaluation.outcomes["context_precision"].value == faults["F37"]["expect"]["context_precision"]


async def test_a_refused_parameter_is_learned_once(bench: Any, faults: dict[str, Fault]) -> None:
    """F38: one refusal, then every request goes through."""
    fault = faults["F38"]

    def script(seen: Seen) -> Answer:
        message = fault["repro"]["judge_replies"][0]["error"]
        return Http(400, message) if "temperature" in seen.body else verdicts(True)(seen)

    judge = bench(script)
    evaluator = Evaluator(judge.judge, None, ["faithfulness"], clock=judge.clock)
    await evaluator.evaluate(make_interaction(answer="Refunds are quick."))
    assert len(judge.server.requests) == fault["expect"]["http_calls"]
    await evaluator.evaluate(make_interaction(answer="Refunds are slow."))
    assert len(judge.server.requests) == fault["expect"]["http_calls"] + 1


async def test_the_cost_is_known_beforehand(
    bench: Any, request_for: Callable[..., Any], faults: dict[str, Fault], shared: Path
) -> None:
    """F39: calls and input tokens, estimated without a request, are what the endpoint then counts, but for a
    tenth: a token for four characters of all that it is sent, the schema too. What was spent is on the row."""
    row = json.loads((shared / "cases" / "cost_sample.jsonl").read_text("utf-8").splitlines()[0])
    interaction = make_interaction(
        row["question"], row["contexts"], row["answer"], reference=row["ground_truth"]
    )

    def counting(seen: Seen) -> Answer:
        schema = json.dumps(seen.body["response_format"]["json_schema"]["schema"])
        characters = sum(len(message["content"]) for message in seen.body["messages"]) + len(schema)
        return Chat(json.dumps(good_reply(seen)), usage=(characters // 4, 9))

    judge = bench(counting)
    estimate = judge.judge.estimate(request_for(interaction, *Want))
    assert judge.server.requests == []
    spent = (await Evaluator(judge.judge, None, clock=judge.clock).evaluate(interaction)).judge
    assert (estimate.calls, estimate.estimated_calls) == (spent.calls, 3) == (3, 3)
    assert estimate.input_tokens == pytest.approx(
        spent.input_tokens, rel=faults["F39"]["expect"]["estimate_error_max"]
    )
    assert (spent.estimated_calls, spent.output_tokens) == (0, 3 * 9)


def test_everything_loads_without_any_vendors_library(faults: dict[str, Fault]) -> None:
    """F40: whatever a vendor removes or renames, an import of ours does not find out."""
    script = """
import pkgutil, sys
for vendor in ("openai", "langchain", "langchain_core", "llama_index", "haystack", "anthropic", "tiktoken"):
    sys.modules[vendor] = None
import ragtrace
for module in pkgutil.walk_packages(ragtrace.__path__, "ragtrace."):
    __import__(module.name)
print("ok")
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (run.stdout.strip(), run.stderr) == (faults["F40"]["expect"]["import"], "")


def test_chinese_quotes_are_found(faults: dict[str, Fault]) -> None:
    """F43: quotation marks of any kind around a quote do not hide it."""
    repro = faults["F43"]["repro"]
    assert Evidence([Shown(1, repro["contexts"][0])]).holding(repro["answer"]) == (1,)


def test_every_recorded_fault_has_a_test(faults: dict[str, Fault]) -> None:
    """The tests above name the rows that they hold."""
    told = " ".join(str(test.__doc__) for name, test in globals().items() if name.startswith("test_"))
    named = set(re.findall(r"\bF\d\d\b", told))
    assert faults.keys() - named == set()
