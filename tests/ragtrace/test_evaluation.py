"""One interaction in, one outcome a metric out, whatever judge and embedder do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ragtrace.errors import JudgeError, JudgeTimeout, JudgeUnavailable
from ragtrace.evaluation import Budget, Evaluator
from ragtrace.judges.base import Fault, JudgeReply, JudgeRequest, ReferenceClaim, Usage, Want
from ragtrace.metrics import DEFAULT_METRICS
from ragtrace.metrics.base import Evidence
from ragtrace.model import Cause, Evaluation, Interaction, Need, Outcome, Score, Status, Support
from ragtrace.testing import ScriptedEmbedder, ScriptedJudge, judged, make_interaction

QUESTION = "How long do refunds take?"


def agreeing(request: JudgeRequest) -> JudgeReply:
    """Everything holds."""
    documents = request.interaction.documents or ()
    return JudgeReply(
        claims=tuple(judged(unit) for unit in request.units),
        relevance=dict.fromkeys(range(1, len(documents) + 1), 1.0),
        needs=(Need("time", True, True),),
        questions=(QUESTION, "What is it about?"),
        noncommittal=(False, False),
        reference_claims=(ReferenceClaim("3 to 5 days", True, (1,), True),),
        unsupported_answer_claims=(),
        usage=Usage(2, 1000, 100),
    )


async def evaluate(
    judge: ScriptedJudge, interaction: Interaction | None = None, **options: Any
) -> Evaluation:
    options = {"embedder": ScriptedEmbedder()} | options
    return await Evaluator(judge, **options).evaluate(interaction or make_interaction())


async def test_a_good_answer() -> None:
    """All metrics are scored from one request, and the cost is on the result."""
    judge = ScriptedJudge(agreeing, model="m")
    found = await evaluate(judge)
    values = {name: outcome.value for name, outcome in found.outcomes.items()}
    assert values == {
        "faithfulness": 1.0,
        "answer_relevancy": 0.5,
        "context_precision": 1.0,
        "context_recall": 1.0,
        "context_noise": 0.0,
        "citation_presence": 1.0,
        "citation_correctness": 1.0,
        "citation_coverage": 1.0,
        "answer_correctness": None,
    }
    assert found.diagnosis.cause is Cause.OK
    assert (found.judge.model, found.judge.calls, found.judge.input_tokens) == ("m", 2, 1000)
    assert len(judge.requests) == 1


async def test_the_judge_is_asked_for_the_reference_only_where_there_is_one() -> None:
    """It is the dearest part."""
    judge = ScriptedJudge(agreeing)
    await evaluate(judge)
    assert Want.REFERENCE not in judge.wants
    await evaluate(judge, make_interaction(reference="3 to 5 days"))
    assert Want.REFERENCE in judge.wants


async def test_similarity_to_the_reference_is_part_of_correctness() -> None:
    """The scripted embedder holds answer and reference for the same."""
    answer = "Refunds take 3 to 5 business days."
    embedder = ScriptedEmbedder([answer, "3 to 5 days"])
    found = await evaluate(
        ScriptedJudge(agreeing), make_interaction(reference="3 to 5 days"), embedder=embedder
    )
    assert found.outcomes["answer_correctness"].value == 1.0


async def test_an_abstention_is_asked_only_for_what_tells_whether_it_was_needless() -> None:
    """Nobody looks for claims in a refusal."""
    judge = ScriptedJudge(agreeing)
    found = await evaluate(judge, make_interaction(answer="I don't know."))
    assert judge.wants == {Want.NEEDS, Want.RELEVANCE}
    assert found.outcomes["faithfulness"].status is Status.ABSTAINED
    assert (found.diagnosis.cause, found.diagnosis.stage) == (Cause.NEEDLESS_REFUSAL, "generation")


async def test_a_refusal_after_an_empty_retrieval_is_right_and_costs_nothing() -> None:
    """There was nothing to answer from, and nothing to ask."""
    judge = ScriptedJudge()
    found = await evaluate(
        judge, make_interaction(documents=(), answer="抱歉，资料中没有相关信息。", question="保修多久？")
    )
    assert judge.requests == []
    assert (found.diagnosis.cause, found.language) == (Cause.CORRECT_REFUSAL, "zh")


async def test_facts_after_an_empty_retrieval_are_unfaithful_and_missed() -> None:
    """Faithfulness is 0 by itself; only the relevancy is asked for."""
    judge = ScriptedJudge(agreeing)
    found = await evaluate(judge, make_interaction(documents=(), answer="Paris has 2.1M people."))
    assert judge.wants == {Want.QUESTIONS}
    assert found.outcomes["faithfulness"].value == 0.0
    assert (found.diagnosis.cause, found.diagnosis.also[0]) == (
        Cause.RETRIEVAL_MISSED,
        Cause.UNFAITHFUL_ANSWER,
    )


async def test_a_partial_answer_is_not_judged() -> None:
    """What was retrieved is; what was not finished is not held against anybody."""
    judge = ScriptedJudge(agreeing)
    found = await evaluate(judge, make_interaction(partial=True))
    assert judge.wants == {Want.NEEDS, Want.RELEVANCE}
    assert found.outcomes["faithfulness"].reason == "partial_answer"
    assert found.outcomes["context_precision"].value == 1.0
    assert (found.diagnosis.cause, found.diagnosis.missing) == (
        Cause.UNDETERMINED,
        ("faithfulness", "answer_relevancy"),
    )


async def test_nothing_recorded_asks_nothing() -> None:
    """An empty interaction has statuses, not numbers, and no bill."""
    judge = ScriptedJudge()
    found = await evaluate(judge, Interaction())
    assert judge.requests == []
    assert {outcome.status for outcome in found.outcomes.values()} == {Status.NOT_APPLICABLE}
    assert found.diagnosis.cause is Cause.UNDETERMINED


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (JudgeError("unparseable"), Status.JUDGE_ERROR, "unparseable"),
        (JudgeUnavailable("http_503"), Status.JUDGE_ERROR, "http_503"),
        (JudgeTimeout("timeout"), Status.TIMED_OUT, "deadline"),
        (TimeoutError(), Status.TIMED_OUT, "deadline"),
        (ValueError("our bug"), Status.JUDGE_ERROR, "judge_raised"),
    ],
)
async def test_a_judge_that_raises_becomes_a_status(error: Exception, status: Status, reason: str) -> None:
    """What needs no judge is scored all the same."""
    found = await evaluate(ScriptedJudge(error))
    assert (found.outcomes["faithfulness"].status, found.outcomes["faithfulness"].reason) == (status, reason)
    assert found.outcomes["citation_presence"].value == 1.0
    assert found.diagnosis.cause is Cause.UNDETERMINED


async def test_a_judge_that_hangs_is_cut_off_at_the_deadline() -> None:
    """The clock has passed the deadline before the judge has answered."""
    judge = ScriptedJudge(agreeing, until=asyncio.Event())
    evaluator = Evaluator(judge, clock=lambda: 100.0)
    found = await asyncio.wait_for(evaluator.evaluate(make_interaction(), deadline=99.0), 10)
    assert found.outcomes["faithfulness"].status is Status.TIMED_OUT
    assert found.outcomes["citation_presence"].value == 1.0


async def test_the_judge_learns_the_deadline_and_the_units() -> None:
    """It plans its own calls by them."""
    judge = ScriptedJudge(agreeing)
    await Evaluator(judge, clock=lambda: 5.0).evaluate(make_interaction(), deadline=50.0)
    (request,) = judge.requests
    assert request.deadline == 50.0
    assert [unit.cites for unit in request.units] == [(1,)]


async def test_a_cancelled_evaluation_is_cancelled() -> None:
    """Cancellation is not a judge error."""
    judge = ScriptedJudge(agreeing, until=asyncio.Event())
    task = asyncio.create_task(evaluate(judge))
    await judge.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_no_more_judgements_run_at_once_than_allowed() -> None:
    """The others wait for their turn, and all are done in the end."""
    release = asyncio.Event()
    judge = ScriptedJudge(agreeing, until=release)
    evaluator = Evaluator(judge, concurrency=2)
    tasks = [asyncio.create_task(evaluator.evaluate(make_interaction())) for _ in range(5)]
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(judge.requests) == 2
    release.set()
    assert len(await asyncio.gather(*tasks)) == len(judge.requests) == 5


async def test_a_spent_budget_skips() -> None:
    """The judgement that spends the last of it is finished; the next is skipped, with the reason."""
    judge = ScriptedJudge(agreeing)
    evaluator = Evaluator(judge, budget=Budget(max_tokens=1000))
    first, second = [await evaluator.evaluate(make_interaction()) for _ in range(2)]
    assert first.outcomes["faithfulness"].value == 1.0
    assert (second.outcomes["faithfulness"].status, second.outcomes["faithfulness"].reason) == (
        Status.SKIPPED,
        "budget_spent",
    )


class _BrokenEmbedder:
    name = "broken"

    async def embed(self, texts: Any) -> Any:
        raise JudgeUnavailable("embedder_http_500")


@pytest.mark.parametrize(
    ("embedder", "status", "reason"),
    [
        (None, Status.SKIPPED, "no_embedder"),
        (_BrokenEmbedder(), Status.JUDGE_ERROR, "embedder_http_500"),
    ],
)
async def test_without_vectors_relevancy_says_why(embedder: Any, status: Status, reason: str) -> None:
    """And the other metrics do not care."""
    found = await evaluate(ScriptedJudge(agreeing), embedder=embedder)
    assert (found.outcomes["answer_relevancy"].status, found.outcomes["answer_relevancy"].reason) == (
        status,
        reason,
    )
    assert found.outcomes["faithfulness"].value == 1.0


async def test_relevancy_is_against_the_rewritten_question() -> None:
    """A follow-up cannot be compared with anything by itself."""
    rewritten = make_interaction("And then?", rewritten_question=QUESTION)
    assert (await evaluate(ScriptedJudge(agreeing), rewritten)).outcomes["answer_relevancy"].value == 0.5


async def test_faults_of_single_wants_leave_the_others() -> None:
    """A steered verdict list does not spoil the relevance."""
    reply = JudgeReply(relevance={1: 1.0}, faults=(Fault(Want.VERDICTS, Status.JUDGE_ERROR, "steered"),))
    found = await evaluate(ScriptedJudge(reply))
    assert found.outcomes["faithfulness"].reason == "steered"
    assert found.outcomes["context_precision"].value == 1.0


class _Wild:
    """A user's metric that does as it likes."""

    name = "wild"

    def __init__(self, does: Any) -> None:
        self._does = does

    def wants(self, interaction: Interaction) -> frozenset[Want]:
        return frozenset()

    def score(self, evidence: Evidence) -> Outcome:
        if isinstance(self._does, Exception):
            raise self._does
        return Score("wild", self._does)


@pytest.mark.parametrize("does", [float("nan"), 1.5, -0.1, float("inf"), ZeroDivisionError()])
async def test_no_number_that_is_none_leaves(does: Any) -> None:
    """NaN, numbers out of range and exceptions of a user's metric are judge errors of that metric."""
    found = await evaluate(ScriptedJudge(), metrics=[_Wild(does)])
    assert found.outcomes["wild"].status is Status.JUDGE_ERROR


async def test_gold_documents_bring_the_retrieval_measures() -> None:
    """Interactions without gold are not littered with them."""
    with_gold = await evaluate(ScriptedJudge(agreeing), make_interaction(gold={"doc-1": 1}))
    assert with_gold.outcomes["mrr"].value == 1.0
    assert "mrr" not in (await evaluate(ScriptedJudge(agreeing))).outcomes


async def test_only_the_asked_metrics_are_paid_for() -> None:
    """Presence needs no judge."""
    judge = ScriptedJudge()
    found = await evaluate(judge, metrics=["citation_presence"])
    assert (list(found.outcomes), judge.requests) == (["citation_presence"], [])


async def test_the_embedder_is_part_of_the_revision() -> None:
    """Cosines of two embedders do not compare."""
    plain = Evaluator(ScriptedJudge()).judge_info
    assert plain.revision == "r1"
    assert Evaluator(ScriptedJudge(), ScriptedEmbedder()).judge_info.revision != plain.revision


async def test_advice_follows_the_interaction_or_the_force() -> None:
    """Chinese advice for a Chinese question, English where it is forced."""
    chinese = make_interaction("退款需要多久？", (), "退款需要七天。")
    ours, forced = [
        (await evaluate(ScriptedJudge(agreeing), chinese, language=language)).diagnosis.advice
        for language in ("auto", "en")
    ]
    assert "知识库" in ours[0]
    assert "knowledge base" in forced[0]


async def test_a_contradiction_is_told_from_a_gap() -> None:
    """A claim that the documents deny is named as such."""

    def denying(request: JudgeRequest) -> JudgeReply:
        return JudgeReply(
            claims=tuple(judged(unit, Support.CONTRADICTED) for unit in request.units),
            relevance={1: 1.0},
            needs=(Need("time", True, True),),
        )

    found = await evaluate(ScriptedJudge(denying))
    assert (found.diagnosis.cause, found.diagnosis.path) == (Cause.CONTRADICTS_DOCUMENTS, "C")


@pytest.mark.parametrize(
    ("interaction", "says"),
    [
        (make_interaction(), "1 of 1 claims are supported by the documents"),
        (
            make_interaction("退款要多久？", ("退款需要3天。",), "退款需要3天。"),
            "1 条论断中有 1 条得到文档支持",
        ),
    ],
)
async def test_a_score_says_what_was_counted(interaction: Interaction, says: str) -> None:
    """In the interaction's language; every one of our scores does."""
    found = await evaluate(ScriptedJudge(agreeing), interaction)
    assert found.outcomes["faithfulness"].explanation == says  # type: ignore[union-attr]
    assert all(outcome.explanation for outcome in found.outcomes.values() if isinstance(outcome, Score))


def test_the_evaluator_names_its_metrics() -> None:
    """For those who must write statuses without it."""
    assert Evaluator(ScriptedJudge()).metric_names == tuple(metric.name for metric in DEFAULT_METRICS)
