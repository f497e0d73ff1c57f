"""The LLM judge: what each request shows, and what becomes of the replies."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from servers.openai_chat import Answer, Chat, Http, Seen, good_reply

from ragtrace.endpoint.untraced import untraced
from ragtrace.judges.base import Judge, JudgeReply, Usage, Want
from ragtrace.model import JudgedClaim, Need, Status, Support, Turn
from ragtrace.testing import make_interaction

A, B = "Refunds take 3 days.", "Shipping is free."
S, C, N = Support.SUPPORTED, Support.CONTRADICTED, Support.NOT_FOUND


def entry(unit: int, verdict: str, quote: str = "", claim: str = "", **more: Any) -> dict[str, Any]:
    return {"unit": unit, "claim": claim, "quote": quote, "verdict": verdict, **more}


def claims(*entries: dict[str, Any]) -> dict[str, Any]:
    """A reply, with the canary behind the last sentence judged rightly."""
    return {"claims": [*entries, entry(max(each["unit"] for each in entries) + 1, "NOT_FOUND")]}


def supports(reply: JudgeReply) -> list[Support | None]:
    return [claim.verdict.support if claim.verdict else None for claim in reply.claims]


def only(reply: JudgeReply) -> JudgedClaim:
    (claim,) = reply.claims
    return claim


def two_documents(answer: str = A, **fields: Any) -> Any:
    return make_interaction("How long do refunds take?", [A, B], answer, **fields)


# --- what is sent -----------------------------------------------------------------------------------------


async def test_it_is_a_judge(bench: Any) -> None:
    """By the protocol, and with the name of its kind."""
    judge = bench().judge
    assert isinstance(judge, Judge)
    assert judge.kind == "openai"


async def test_live_interactions_cost_two_calls_and_references_a_third(bench: Any) -> None:
    """All wants at once; nothing that is not wanted or not there is asked."""
    judge = bench()
    await judge.ask(two_documents())
    assert sorted(seen.call for seen in judge.server.requests) == ["grounding", "questions"]
    await judge.ask(two_documents(reference="Three days."))
    assert sorted(seen.call for seen in judge.server.requests[2:]) == ["grounding", "reference"]


@pytest.mark.parametrize(
    ("wants", "calls"),
    [
        ({Want.VERDICTS}, ["grounding"]),
        ({Want.RELEVANCE}, ["grounding"]),
        ({Want.NEEDS}, ["grounding"]),
        ({Want.QUESTIONS}, ["questions"]),
        ({Want.REFERENCE}, []),
        (set(), []),
    ],
)
async def test_calls_that_no_want_needs_are_not_made(bench: Any, wants: set[Want], calls: list[str]) -> None:
    """And of a call only the wanted keys are in the schema."""
    judge = bench()
    if wants:
        await judge.ask(two_documents(), *wants)
    assert [seen.call for seen in judge.server.requests] == calls
    keys = {Want.VERDICTS: "claims", Want.RELEVANCE: "relevance", Want.NEEDS: "needs"}
    for seen in judge.server.requests:
        if seen.call == "grounding":
            schema = seen.body["response_format"]["json_schema"]["schema"]
            assert set(schema["properties"]) == {keys[want] for want in wants}


async def test_the_question_generator_sees_the_answer_alone(bench: Any) -> None:
    """Neither question nor documents nor reference: the metric would measure copying."""
    judge = bench()
    await judge.ask(
        make_interaction("ZEBRA?", ["YAK."], "An answer.", reference="XERUS.", rewritten_question="WOLF?")
    )
    (seen,) = [seen for seen in judge.server.requests if seen.call == "questions"]
    assert [text for *_, text in seen.items] == ["An answer."]
    assert not any(word in json.dumps(seen.body) for word in ("ZEBRA", "YAK", "XERUS", "WOLF"))


async def test_faithfulness_never_sees_the_reference(bench: Any) -> None:
    """Only call 3 does."""
    judge = bench()
    await judge.ask(make_interaction(reference="XERUS."))
    for seen in judge.server.requests:
        assert ("XERUS" in seen.user) == (seen.call == "reference")


async def test_schemas_are_strict(bench: Any) -> None:
    """Every object lists all its keys and allows no others, as strict mode demands."""
    judge = bench()
    await judge.ask(two_documents(answer=f"{A} [1] {B} [2]", reference="Three days."))

    def objects(schema: Any) -> Any:
        if isinstance(schema, dict):
            if schema.get("type") == "object":
                yield schema
            for part in schema.values():
                yield from objects(part)

    for seen in judge.server.requests:
        wanted = seen.body["response_format"]["json_schema"]
        assert wanted["strict"] is True
        for each in objects(wanted["schema"]):
            assert each["required"] == list(each["properties"])
            assert each["additionalProperties"] is False


async def test_the_schema_goes_into_the_rubric_where_the_endpoint_takes_none(bench: Any) -> None:
    """With the word JSON in it, which json_object modes insist on, in the prompt's language."""

    def script(seen: Seen) -> Answer:
        kind = seen.body["response_format"]["type"]
        return good_reply(seen) if kind == "json_object" else Http(400, "json_schema is not supported")

    judge = bench(script)
    reply = await judge.ask(make_interaction("多久？", ["三天退款。"], "三天退款。"), Want.VERDICTS)
    assert supports(reply) == [S]
    last = judge.server.requests[-1]
    assert "JSON" in last.system
    assert '"additionalProperties":false' in last.system
    assert "只回复一个 JSON 对象" in last.system


@pytest.mark.parametrize(
    ("question", "answer", "forced", "word"),
    [
        ("How long?", A, None, "Check units"),
        ("多久？", "三天退款。", None, "核查回答"),
        ("How long?", A, "zh", "核查回答"),
        ("多久？", "三天退款。", "en", "Check units"),
    ],
)
async def test_prompts_are_in_the_interactions_language(
    bench: Any, question: str, answer: str, forced: Any, word: str
) -> None:
    """Unless one is forced."""
    judge = bench(good_reply, language=forced)
    await judge.ask(make_interaction(question, ["x"], answer), Want.VERDICTS)
    assert word in judge.server.requests[0].system


async def test_greetings_are_context_not_claims(bench: Any) -> None:
    """Shown without a number, so that pronouns keep their meaning."""
    judge = bench()
    reply = await judge.ask(two_documents(answer=f"Hi there! {A} Anything else?"), Want.VERDICTS)
    (seen,) = judge.server.requests
    assert list(seen.units.values()) == [A]
    assert "Hi there!" in [text for kind, number, _, text in seen.items if kind == "U" and not number]
    assert [claim.claim.text for claim in reply.claims] == [A]


async def test_a_model_that_loses_count_is_asked_for_keyed_replies(bench: Any) -> None:
    """A key for each sentence and document; the endpoint is remembered to need them."""

    def script(seen: Seen) -> Answer:
        properties = seen.body["response_format"]["json_schema"]["schema"]["properties"]
        if properties["claims"]["type"] == "array":
            return {"claims": [entry(1, "SUPPORTED", A), entry(2, "SUPPORTED", A)], "relevance": []}
        assert list(properties["claims"]["properties"]) == ["U1", "U2"]
        assert list(properties["relevance"]["properties"]) == ["D1", "D2", "D3"]
        assert '{"claims":{"U1":[' in seen.system
        unit = {"claim": "", "quote": A, "verdict": "SUPPORTED"}
        return {
            "claims": {"U1": [unit], "U2": [{"claim": "", "quote": "", "verdict": "NOT_FOUND"}]},
            "relevance": {"D1": "yes", "D2": "no", "D3": "no"},
        }

    judge = bench(script)
    reply = await judge.ask(two_documents(), Want.VERDICTS, Want.RELEVANCE)
    assert (supports(reply), reply.relevance, reply.faults) == ([S], {1: 1.0, 2: 0.0}, ())
    await judge.ask(two_documents("Refunds take 3 days!"), Want.VERDICTS, Want.RELEVANCE)
    assert len(judge.server.requests) == 3
    keyed = bench(script, keyed=True)
    await keyed.ask(two_documents(), Want.VERDICTS, Want.RELEVANCE)
    assert len(keyed.server.requests) == 1


async def test_earlier_turns_and_the_rewritten_question_are_shown(bench: Any) -> None:
    """A claim that only an earlier turn establishes is supported, and says so by naming no document."""
    history = (Turn("Who founded Acme?", "Ann Lee founded Acme in 1999."),)

    def script(seen: Seen) -> Answer:
        return claims(
            entry(1, "SUPPORTED", "Ann Lee founded Acme"), entry(2, "SUPPORTED", "Ann left in 2004")
        )

    judge = bench(script)
    interaction = make_interaction(
        "When did she leave?",
        ["Ann left in 2004."],
        "Ann Lee founded it. She left in 2004.",
        history=history,
        rewritten_question="When did Ann Lee leave Acme?",
    )
    reply = await judge.ask(interaction, Want.VERDICTS)
    (seen,) = judge.server.requests
    assert "Ann Lee founded Acme in 1999." in seen.documents[0]
    assert [(label, text) for kind, _, label, text in seen.items if kind == "Q"] == [
        ("", "When did she leave?"),
        ("rewritten", "When did Ann Lee leave Acme?"),
    ]
    assert supports(reply) == [S, S]
    assert [claim.verdict.documents for claim in reply.claims if claim.verdict] == [(), (1,)]


# --- claims, quotes, pairs --------------------------------------------------------------------------------


async def test_claims_inherit_their_sentence(bench: Any) -> None:
    """Offsets and citations of the unit, also where a sentence is split; "" stands for the sentence itself."""
    answer = f"Refunds take 3 days and shipping is free [2]. {A}"
    judge = bench(
        claims(
            entry(1, "SUPPORTED", A, "Refunds take 3 days"),
            entry(1, "SUPPORTED", B, "Shipping is free"),
            entry(2, "SUPPORTED", A),
        )
    )
    reply = await judge.ask(two_documents(answer), Want.VERDICTS)
    texts = [(c.claim.text, c.claim.unit, c.claim.cites) for c in reply.claims]
    assert texts == [("Refunds take 3 days", 1, (2,)), ("Shipping is free", 1, (2,)), (A, 2, ())]
    assert answer[reply.claims[2].claim.start : reply.claims[2].claim.end] == A


async def test_a_claim_in_another_language_keeps_the_sentences_words(bench: Any) -> None:
    """The verdict counts, the foreign paraphrase is not shown."""
    judge = bench(claims(entry(1, "SUPPORTED", "三天退款", "Refunds take three days")))
    reply = await judge.ask(make_interaction("多久？", ["三天退款。"], "三天退款。"), Want.VERDICTS)
    assert only(reply).claim.text == "三天退款。"
    assert supports(reply) == [S]


async def test_no_claim_leaves_no_claim(bench: Any) -> None:
    """A sentence that states nothing counts nowhere, and that is no fault."""
    judge = bench(claims(entry(1, "NO_CLAIM"), entry(2, "SUPPORTED", B)))
    reply = await judge.ask(two_documents(f"{A} {B}"), Want.VERDICTS)
    assert [claim.claim.text for claim in reply.claims] == [B]
    assert reply.faults == ()


async def test_the_documents_of_a_verdict_are_those_that_hold_the_quote(bench: Any) -> None:
    """Code finds them; the model is not asked."""
    judge = bench(claims(entry(1, "CONTRADICTED", "shipping is FREE")))
    verdict = only(await judge.ask(two_documents(), Want.VERDICTS)).verdict
    assert verdict is not None
    assert (verdict.support, verdict.documents, verdict.quote) == (C, (2,), "shipping is FREE")


@pytest.mark.parametrize(
    ("second", "support"),
    [
        (entry(1, "SUPPORTED", A), S),
        (entry(1, "CONTRADICTED", B), C),
        (entry(1, "NOT_FOUND"), N),
        (entry(1, "SUPPORTED", "invented again"), N),
        (entry(1, "CONTRADICTED", "invented again"), N),
    ],
)
async def test_a_verdict_on_an_invented_quote_is_asked_again_once(
    bench: Any, second: dict[str, Any], support: Support
) -> None:
    """Only the disputed claim is asked about; without evidence it ends as not found."""
    answer = f"Refunds are quick. {B}"
    first = claims(entry(1, "SUPPORTED", "Refunds are paid at once"), entry(2, "SUPPORTED", B))
    judge = bench(first, claims(second))
    reply = await judge.ask(two_documents(answer), Want.VERDICTS)
    assert supports(reply) == [support, S]
    again = judge.server.requests[1]
    assert list(again.units.values()) == ["Refunds are quick."]
    assert len(judge.server.requests) == 2
    assert reply.usage.calls == 2


async def test_a_dispute_is_shown_only_the_documents_that_may_decide_it(bench: Any) -> None:
    """The nearest three and the cited ones."""
    documents = [
        f"Article {n} is about {word}."
        for n, word in enumerate(["rust", "kelp", "moss", "jade", "opal", "lava"])
    ]
    answer = "Opal is a gem [1]."
    judge = bench(claims(entry(1, "SUPPORTED", "made up", pairs=[])), claims(entry(1, "NOT_FOUND", pairs=[])))
    await judge.ask(make_interaction("Opal?", documents, answer), Want.VERDICTS)
    shown = judge.server.requests[1].documents
    assert 1 in shown
    assert documents[4] in shown.values()
    assert len(shown) <= 4


async def test_a_dispute_that_cannot_be_asked_again_is_undecided(bench: Any) -> None:
    """Not found would be a verdict that nobody gave."""
    first = claims(entry(1, "SUPPORTED", "made up"), entry(2, "SUPPORTED", B))
    judge = bench(first, Chat(None, finish="content_filter"))
    reply = await judge.ask(two_documents(f"Refunds are quick. {B}"), Want.VERDICTS)
    assert supports(reply) == [None, S]


async def test_a_literal_claim_is_not_left_unfound(bench: Any) -> None:
    """It stands in a document word for word: the judge is asked again, and then believed."""
    judge = bench(claims(entry(1, "NOT_FOUND")), claims(entry(1, "SUPPORTED", A)))
    assert supports(await judge.ask(two_documents(), Want.VERDICTS)) == [S]
    denied = "It is false that refunds take 3 days."
    judge = bench(claims(entry(1, "NOT_FOUND")), claims(entry(1, "CONTRADICTED", denied)))
    assert supports(await judge.ask(make_interaction("Q?", [denied], A), Want.VERDICTS)) == [C]


async def test_each_cited_document_gets_its_own_verdict(bench: Any) -> None:
    """True, but cited to the wrong document: the pair says so."""
    pairs = [
        {"doc": 1, "says": "SUPPORTED"},
        {"doc": "2", "says": "NOT_FOUND"},
        {"doc": 9, "says": "SUPPORTED"},
    ]
    judge = bench(claims(entry(1, "SUPPORTED", A, pairs=pairs)))
    claim = only(await judge.ask(two_documents("Refunds take 3 days [1][2]."), Want.VERDICTS))
    assert {rank: verdict and verdict.support for rank, verdict in claim.pairs.items()} == {1: S, 2: N}


async def test_a_missing_pair_verdict_follows_from_the_quote_or_is_unknown(bench: Any) -> None:
    """Document 1 holds the quote, of document 2 nobody spoke."""
    judge = bench(claims(entry(1, "SUPPORTED", A)))
    claim = only(await judge.ask(two_documents("Refunds take 3 days [1][2]."), Want.VERDICTS))
    assert {rank: verdict and verdict.support for rank, verdict in claim.pairs.items()} == {1: S, 2: None}


async def test_what_was_not_found_no_cited_document_supports(bench: Any) -> None:
    """A contradiction between claim and pair is asked again; what stays not found is so for every pair."""
    odd = entry(1, "NOT_FOUND", pairs=[{"doc": 2, "says": "SUPPORTED"}])
    judge = bench(claims(odd), claims(entry(1, "NOT_FOUND", pairs=[{"doc": 2, "says": "NOT_FOUND"}])))
    claim = only(await judge.ask(two_documents("Refunds are quick [2]."), Want.VERDICTS))
    assert claim.verdict is not None
    assert claim.verdict.support is N
    assert {rank: verdict and verdict.support for rank, verdict in claim.pairs.items()} == {2: N}


# --- relevance, needs, questions, reference ---------------------------------------------------------------


async def test_relevance_is_said_of_every_document_or_unknown(bench: Any) -> None:
    """A flag that is neither yes nor no is asked again, for that document alone, and then unknown."""

    def script(seen: Seen) -> Answer:
        reply = good_reply(seen)
        for each in reply["relevance"]:
            if each["doc"] == 2:
                each["helps"] = "perhaps"
        return reply

    judge = bench(script)
    reply = await judge.ask(two_documents(), Want.RELEVANCE)
    assert reply.relevance == {1: 1.0, 2: None}
    assert reply.ignored > 0
    assert list(judge.server.requests[1].documents) == [2, 3]


async def test_documents_without_a_text_are_not_shown(bench: Any) -> None:
    """Their relevance is unknown, and the others keep their numbers."""
    judge = bench()
    interaction = make_interaction("Q?", [None, A], A)
    reply = await judge.ask(interaction, Want.RELEVANCE)
    assert reply.relevance == {1: None, 2: 1.0}
    assert judge.server.requests[0].documents[2] == A


@pytest.mark.parametrize(("documents", "covered"), [([A], True), ([], False), (None, None), ([None], None)])
async def test_needs_are_covered_only_by_documents_that_were_seen(
    bench: Any, documents: Any, covered: Any
) -> None:
    """Whatever the model says of documents that are not there."""
    judge = bench({"needs": [{"need": "the time", "covered": "yes", "answered": "yes"}]})
    reply = await judge.ask(make_interaction("How long?", documents, A), Want.NEEDS)
    assert reply.needs == (Need("the time", covered, True),)


async def test_generated_questions_are_distinct_and_share_one_flag(bench: Any) -> None:
    """Three equal ones are one."""
    judge = bench({"questions": ["Who?", "Who?", " ", "When?"], "evasive": "yes"})
    reply = await judge.ask(two_documents(), Want.QUESTIONS)
    assert (reply.questions, reply.noncommittal) == (("Who?", "When?"), (True, True))


@pytest.mark.parametrize("flag", ["maybe", 2, None])
async def test_a_flag_for_evasiveness_outside_the_enum_is_asked_again_and_never_read_as_no(
    bench: Any, flag: Any
) -> None:
    """Whether the answer commits to anything decides between a score and none."""
    strange = {"questions": ["Who?"], "evasive": flag}
    replies = iter([strange, {"questions": ["Who?"], "evasive": "no"}])
    mended = await bench(lambda seen: next(replies)).ask(two_documents(), Want.QUESTIONS)
    assert (mended.questions, mended.noncommittal, mended.fault(Want.QUESTIONS)) == (
        ("Who?",),
        (False,),
        None,
    )
    lasting = await bench(strange).ask(two_documents(), Want.QUESTIONS)
    assert lasting.questions == ()
    assert lasting.fault(Want.QUESTIONS).reason == "outside_enum"


@pytest.mark.parametrize(
    ("answer", "questions", "usable"),
    [
        ("每500小时更换。", ["How often?"], False),
        ("每500小时更换。", ["How often?", "多久更换？"], True),
        ("Every 500 hours.", ["多久更换？"], False),
        ("用 Python 3.12 运行 main.py。", ["用什么运行？"], True),
        ("500", ["多久更换？"], True),
        ("500", ["How often?"], True),
    ],
)
async def test_questions_must_be_in_the_answers_language(
    bench: Any, answer: str, questions: list[str], usable: bool
) -> None:
    """As far as the script tells; an answer without letters allows any."""
    judge = bench({"questions": questions, "evasive": "no"})
    reply = await judge.ask(make_interaction("Q?", [A], answer), Want.QUESTIONS)
    fault = reply.fault(Want.QUESTIONS)
    assert (fault is None) == usable
    assert usable or (fault is not None and fault.reason == "language_mismatch")


async def test_a_reference_is_compared_sentence_by_sentence(bench: Any) -> None:
    """Attributed with evidence, present in the answer, and what the answer adds."""

    def script(seen: Seen) -> Answer:
        return {
            "claims": [
                entry(1, "SUPPORTED", A, in_answer="yes"),
                entry(2, "NOT_FOUND", in_answer="no"),
                entry(3, "NOT_FOUND", in_answer="no"),
            ],
            "relevance": [{"doc": n, "helps": "yes" if n == 1 else "no"} for n in (1, 2, 3)],
            "extra": ["Shipping is free"],
        }

    judge = bench(script)
    reply = await judge.ask(two_documents(f"{A} {B}", reference=f"{A} Returns cost 5 euros."), Want.REFERENCE)
    assert [(c.attributed, c.documents, c.in_answer) for c in reply.reference_claims] == [
        (True, (1,), True),
        (False, (), False),
    ]
    assert reply.unsupported_answer_claims == ("Shipping is free",)
    assert reply.reference_relevance == {1: 1.0, 2: 0.0}


# --- faults and cost --------------------------------------------------------------------------------------


async def test_a_part_that_fails_leaves_the_others(bench: Any) -> None:
    """Call 2 is filtered; verdicts and needs are there, and only questions are at fault."""

    def script(seen: Seen) -> Answer:
        return Chat(None, finish="content_filter") if seen.call == "questions" else good_reply(seen)

    reply = await bench(script).ask(two_documents())
    assert [(f.want, f.status, f.reason) for f in reply.faults] == [
        (Want.QUESTIONS, Status.JUDGE_ERROR, "content_filter")
    ]
    assert supports(reply) == [S]


async def test_usage_is_the_providers_and_counts_re_asks(bench: Any) -> None:
    """Where the provider gives none it is estimated."""
    judge = bench(Chat("no", usage=(70, 7)), lambda seen: Chat(json.dumps(good_reply(seen)), usage=(90, 9)))
    reply = await judge.ask(two_documents(), Want.VERDICTS)
    assert reply.usage == Usage(2, 160, 16)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        "70",
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": -7, "completion_tokens": -7},
        {"prompt_tokens": 0, "completion_tokens": True},
        {"prompt_tokens": "many", "completion_tokens": float("nan")},
        {"prompt_tokens": 10**30, "completion_tokens": 1e300},
        {"prompt_tokens": "95", "completion_tokens": "n/a"},
    ],
)
async def test_tokens_that_nobody_counted_are_estimated_and_called_so(bench: Any, usage: object) -> None:
    """Whatever stands where the count should."""
    judge = bench(lambda seen: Chat(json.dumps(good_reply(seen)), usage=None, more={"usage": usage}))
    used = (await judge.ask(two_documents(), Want.VERDICTS)).usage
    assert (used.calls, used.estimated_calls) == (1, 1)
    assert 90 < used.input_tokens < 2000
    assert 10 < used.output_tokens < 200


async def test_tokens_counted_in_strings_are_counted(bench: Any) -> None:
    """They are numbers in another dress."""
    usage = {"prompt_tokens": "70", "completion_tokens": "7"}
    judge = bench(lambda seen: Chat(json.dumps(good_reply(seen)), usage=None, more={"usage": usage}))
    assert (await judge.ask(two_documents(), Want.VERDICTS)).usage == Usage(1, 70, 7)


async def test_an_answer_of_endless_length_has_a_bounded_cost(bench: Any) -> None:
    """What is left out has no verdict, and says so by its absence from the judged."""
    answer = " ".join(f"Refund number {n} takes {n} days." for n in range(300))
    judge = bench(good_reply, max_units=50, max_documents=3)
    interaction = make_interaction("How long?", [A, B, "x", "y", "z"], answer)
    reply = await judge.ask(interaction, Want.VERDICTS, Want.RELEVANCE, Want.QUESTIONS)
    assert len(reply.claims) == 300
    assert sum(claim.verdict is not None for claim in reply.claims) == 50
    assert [reply.relevance[rank] for rank in range(1, 6)] == [1.0, 1.0, 1.0, None, None]
    assert reply.kept_ratio < 1
    assert len(judge.server.requests) == 4


async def test_nothing_retrieved_needs_no_verdict_from_a_model(bench: Any) -> None:
    """Every claim is not found, and no request is made."""
    judge = bench()
    reply = await judge.ask(make_interaction("Q?", [], f"{A} {B}"), Want.VERDICTS, Want.RELEVANCE)
    assert supports(reply) == [N, N]
    assert (reply.faults, judge.server.requests) == ((), [])


async def test_texts_that_were_not_recorded_are_a_fault_not_a_verdict(bench: Any) -> None:
    """Nobody can say whether they support anything."""
    reply = await bench().ask(make_interaction("Q?", None, A), Want.VERDICTS)
    assert supports(reply) == [None]
    assert [fault.want for fault in reply.faults] == [Want.VERDICTS]


async def test_what_is_learned_of_an_endpoint_holds(bench: Any) -> None:
    """The key goes out as a bearer token, and the model's name."""
    judge = bench(good_reply, api_key="sk-mine", model="m7")
    await judge.ask(two_documents(), Want.VERDICTS)
    (seen,) = judge.server.requests
    assert seen.headers["authorization"] == "Bearer sk-mine"
    assert seen.body["model"] == "m7"


# --- confidence -------------------------------------------------------------------------------------------


def with_logprobs(reply: dict[str, Any], probabilities: dict[str, float]) -> Chat:
    """``reply`` in tokens of one character, but for verdicts, which are a token with these alternatives."""
    text = json.dumps(reply)
    tokens: list[dict[str, Any]] = []
    position = 0
    while position < len(text):
        word = next((w for w in ("SUPPORTED", "NOT_FOUND") if text.startswith(w, position)), text[position])
        others = [{"token": t, "logprob": math.log(p), "bytes": None} for t, p in probabilities.items()]
        tokens.append(
            {
                "token": word,
                "logprob": math.log(probabilities.get(word, 1.0)),
                "bytes": None,
                "top_logprobs": others if len(word) > 1 else [],
            }
        )
        position += len(word)
    return Chat(text, logprobs=tokens)


async def test_the_probability_of_the_verdict_is_the_confidence(bench: Any) -> None:
    """Found at its place in the JSON, over the alternatives that are verdicts, prefixes counted in."""
    probabilities = {"SUPPORTED": 0.5, "SUPP": 0.1, "NOT": 0.2, "CON": 0.1, "banana": 0.1}
    judge = bench(with_logprobs(claims(entry(1, "SUPPORTED", A)), probabilities), logprobs=True)
    verdict = only(await judge.ask(two_documents(), Want.VERDICTS)).verdict
    assert verdict is not None
    assert verdict.confidence == pytest.approx(0.6 / 0.9)
    assert judge.server.requests[0].body["logprobs"] is True


@pytest.mark.parametrize(("threshold", "support"), [(0.5, S), (0.7, N)])
async def test_a_fitted_threshold_decides(bench: Any, threshold: float, support: Support) -> None:
    """Below it a supported claim is not found; the confidence stays to be seen."""
    answer = "Refunds are quick."
    probabilities = {"SUPPORTED": 0.6, "NOT_FOUND": 0.4}
    chat = with_logprobs(claims(entry(1, "SUPPORTED", A)), probabilities)
    judge = bench(chat, logprobs=True, threshold=threshold)
    verdict = only(await judge.ask(two_documents(answer), Want.VERDICTS)).verdict
    assert verdict is not None
    assert verdict.support is support
    assert verdict.confidence == pytest.approx(0.6)


async def test_endpoints_without_logprobs_give_no_confidence(bench: Any) -> None:
    """Nor do tokens that do not spell the reply."""

    def script(seen: Seen) -> Answer:
        return Http(400, "logprobs is not supported") if "logprobs" in seen.body else good_reply(seen)

    for answers in ([script], [replace(with_logprobs(claims(entry(1, "SUPPORTED", A)), {}), logprobs=[])]):
        verdict = only(await bench(*answers, logprobs=True).ask(two_documents(), Want.VERDICTS)).verdict
        assert verdict is not None
        assert (verdict.support, verdict.confidence) == (S, None)


# --- its own calls are not traced -------------------------------------------------------------------------


async def test_its_own_calls_are_suppressed_and_the_callers_context_is_left_alone(bench: Any) -> None:
    """Instrumentations that honour the suppression keys see them inside, and not after."""
    keys = (context._SUPPRESS_INSTRUMENTATION_KEY, "suppress_language_model_instrumentation")
    with untraced():
        assert all(context.get_value(key) for key in keys)
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("app").start_as_current_span("app") as span:
        await bench().ask(two_documents())
        assert trace.get_current_span() is span
        assert not any(context.get_value(key) for key in keys)
    assert [finished.name for finished in exporter.get_finished_spans()] == ["app"]
