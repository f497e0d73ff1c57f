"""The cascade: who decides what, and what that saves."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import pairwise

import pytest
from servers.openai_chat import Http

from ragtrace.errors import ConfigError
from ragtrace.evaluation import Evaluator
from ragtrace.judges.base import JudgeReply, JudgeRequest, ReferenceClaim, Usage, Want
from ragtrace.judges.cascade import CascadeJudge, fitted_bounds
from ragtrace.judges.embedded import EmbeddedJudge
from ragtrace.model import (
    Claim,
    Interaction,
    JudgedClaim,
    RetrievedDocument,
    Score,
    Status,
    Support,
    Turn,
    Verdict,
)
from ragtrace.testing import ScriptedEmbedder, make_interaction
from ragtrace.text.citations import parse
from ragtrace.text.segment import units


@dataclass
class Model:
    """A judge that supports whatever it is asked, and keeps the requests."""

    kind: str = "openai"
    revision: str = "r1"
    model: str = "m"
    asked: list[JudgeRequest] = field(default_factory=list)

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        self.asked.append(request)
        claims = tuple(
            JudgedClaim(Claim(u.text, u.index, u.start, u.end), Verdict(Support.SUPPORTED, (1,)))
            for u in request.units
            if u.check_worthy and Want.VERDICTS in request.wants
        )
        references = (ReferenceClaim("r", True),) if Want.REFERENCE in request.wants else ()
        return JudgeReply(claims=claims, reference_claims=references, usage=Usage(1, 100, 10))

    async def aclose(self) -> None:
        pass


COPIED = "The ferry to the island leaves every morning at eight from the northern pier."
UNCLEAR = "Boats for visitors start their trip early near the northern pier each day."
REMADE = "Visitors near the pier can start their trip in boats each afternoon."
ELSEWHERE = "Violinists rehearse Mozart tonight."
QUESTION = "When does the ferry to the island leave?"


def request(
    answer: str,
    wants=frozenset({Want.VERDICTS}),
    language="en",
    text=f"{COPIED} Tickets are sold on board.",
    **fields,
) -> JudgeRequest:
    documents = (RetrievedDocument("1", 1, text),)
    interaction = Interaction(
        question="When?", documents=documents, answer=answer, reference="At eight.", **fields
    )
    return JudgeRequest(interaction, units(answer), wants, language)


async def test_clear_claims_never_reach_the_model():
    """A copied claim is decided locally, the unclear one is asked, and both come back in order."""
    model = Model()
    reply = await CascadeJudge(model).judge(request(f"{COPIED} {UNCLEAR}"))
    assert [unit.text for unit in model.asked[0].units if unit.check_worthy] == [UNCLEAR]
    assert [judged.claim.text for judged in reply.claims] == [COPIED, UNCLEAR]
    assert reply.usage == Usage(1, 100, 10, 1)


async def test_nothing_is_asked_when_all_is_clear():
    """With every claim clear and nothing else wanted no request is made."""
    model = Model()
    reply = await CascadeJudge(model).judge(request(COPIED))
    assert model.asked == []
    assert reply.usage == Usage(local_claims=1)


async def test_a_reference_is_compared_with_the_whole_answer():
    """What was decided locally still takes part in the comparison with the reference, in the one request."""
    model = Model()
    reply = await CascadeJudge(model).judge(request(COPIED, frozenset({Want.VERDICTS, Want.REFERENCE})))
    (asked,) = model.asked
    assert [unit.text for unit in asked.units] == [COPIED]
    assert asked.wants == {Want.REFERENCE}
    assert len(reply.reference_claims) == 1


async def test_chinese_is_left_to_the_model():
    """Nothing is decided locally in Chinese."""
    model = Model()
    await CascadeJudge(model).judge(request(COPIED, language="zh"))
    assert len(model.asked[0].units) == 1


def test_a_chinese_sentence_in_an_english_answer_is_asked():
    """Each claim is held against the bounds of its own language."""
    assert local(request(f"{COPIED} 小提琴家今晚排练莫扎特的曲子。")) == 1


def test_a_language_without_bounds_is_refused():
    """Nothing would be decided there, without a word."""
    with pytest.raises(ConfigError, match="in zh"):
        CascadeJudge(Model(), languages=("en", "zh"))


def local(asked: JudgeRequest) -> int:
    return len(CascadeJudge(Model()).decided(asked))


def test_a_claim_that_shares_nothing_with_the_documents_is_clear():
    """Nothing of it is there: the model need not be asked."""
    assert local(request(ELSEWHERE)) == 1


@pytest.mark.parametrize(
    "asked",
    [
        request(ELSEWHERE, history=(Turn("Who plays tonight?", ELSEWHERE),)),
        request(ELSEWHERE, text="每天早上八点，渡轮从北码头开往岛上。船上售票。"),
        request(ELSEWHERE, text="Le ferry part tous les matins à huit heures de la jetée nord."),
        request(ELSEWHERE, text=""),
    ],
    ids=["an earlier turn may hold it", "Chinese documents", "French documents", "no text"],
)
def test_nothing_shared_says_nothing_where_words_must_differ(asked):
    """Earlier turns, another language and missing texts leave the claim to the model."""
    assert local(asked) == 0


def test_a_copied_claim_is_clear_in_a_conversation_too():
    """Support that the documents show needs no earlier turn."""
    assert local(request(COPIED, history=(Turn("Is there a ferry?", "Yes."),))) == 1


def test_a_claim_with_an_unclear_citation_is_asked():
    """The claim is copied from one document, but what the other, cited one says of it is not clear."""
    documents = (RetrievedDocument("1", 1, COPIED), RetrievedDocument("2", 2, UNCLEAR))
    answer = COPIED.replace(".", " [2].")
    found = units(answer, parse(answer, documents))
    interaction = Interaction(question="When?", documents=documents, answer=answer)
    assert local(JudgeRequest(interaction, found, frozenset({Want.VERDICTS}))) == 0


def test_a_precision_without_bounds_is_refused():
    """Only targets that bounds were fitted for can be asked for, and the message lists them."""
    with pytest.raises(ConfigError, match=r"0\.8, 0\.85"):
        CascadeJudge(Model(), precision=0.99)


def test_the_bounds_belong_to_the_judge_that_ships():
    """Bounds are probabilities of one revision of the embedded judge: refit them with it."""
    table = json.loads((files("ragtrace.judges") / "cascade.json").read_text("utf-8"))
    assert table["judge"] == EmbeddedJudge().revision
    assert set(table) >= {"date", "data"}
    assert all(table["data"].values())


def test_a_higher_precision_decides_no_more():
    """In each language the bounds of a higher target lie outside those of a lower one."""
    for rows in fitted_bounds().values():
        ordered = [rows[target] for target in sorted(rows)]
        for wide, narrow in pairwise(ordered):
            assert (narrow.low or 0.0) <= (wide.low or 0.0)
            assert (narrow.high or 1.0) >= (wide.high or 1.0)


async def test_over_http_only_the_unclear_claim_wants_a_verdict(bench):
    """Through evaluator, judge and a real endpoint: one grounding request, in which the clear sentence is in
    view without a number, and every outcome of the whole answer under the cascade's name."""
    endpoint = bench()
    judge = CascadeJudge(endpoint.judge)
    interaction = make_interaction(
        QUESTION, [f"{COPIED} {UNCLEAR}", "Dogs are welcome."], f"{COPIED} {REMADE}"
    )
    found = await Evaluator(judge, ScriptedEmbedder()).evaluate(interaction)
    (grounding,) = [seen for seen in endpoint.server.requests if seen.call == "grounding"]
    assert list(grounding.units.values()) == [REMADE]
    assert ("U", 0, "", COPIED) in grounding.items
    assert len(endpoint.server.requests) == 2
    assert (found.judge.kind, found.judge.model, found.judge.local_claims) == ("cascade", "fake", 1)
    assert found.judge.revision == Evaluator(judge, ScriptedEmbedder()).judge_info.revision
    assert [claim.claim.text for claim in found.claims] == [COPIED, REMADE]
    supports = [claim.verdict and claim.verdict.support for claim in found.claims]
    assert supports == [Support.SUPPORTED, Support.NOT_FOUND]
    faithfulness = found.outcomes["faithfulness"]
    assert isinstance(faithfulness, Score)
    assert (faithfulness.value, faithfulness.n_judged, faithfulness.n_total) == (0.5, 2, 2)
    assert all(
        found.outcomes[name].status is Status.SCORED for name in ("context_precision", "context_recall")
    )


async def test_over_http_no_verdict_is_asked_where_all_is_clear(bench):
    """The request for relevance and needs stays, without a claim to judge; for verdicts alone none is made."""
    endpoint = bench()
    interaction = make_interaction(QUESTION, [f"{COPIED} {UNCLEAR}", "Dogs are welcome."], COPIED)
    judge = CascadeJudge(endpoint.judge)
    alone = await Evaluator(judge, metrics=["faithfulness"]).evaluate(interaction)
    assert endpoint.server.requests == []
    assert isinstance(alone.outcomes["faithfulness"], Score)
    await Evaluator(judge, ScriptedEmbedder()).evaluate(interaction)
    grounding, *_ = [seen for seen in endpoint.server.requests if seen.call == "grounding"]
    schema = grounding.body["response_format"]["json_schema"]["schema"]
    assert set(schema["properties"]) == {"relevance", "needs"}


async def test_over_http_an_endpoint_that_fails_leaves_no_half_score(bench):
    """What was clear is no sample of the answer: the metric says that the judge failed."""
    endpoint = bench(Http(400))
    interaction = make_interaction(QUESTION, [f"{COPIED} {UNCLEAR}"], f"{COPIED} {REMADE}")
    found = await Evaluator(CascadeJudge(endpoint.judge), metrics=["faithfulness"]).evaluate(interaction)
    assert found.outcomes["faithfulness"].status is Status.JUDGE_ERROR


def test_the_revision_hangs_on_both_judges_and_the_options():
    """Another model or another precision is another judge."""
    revisions = {
        CascadeJudge(Model()).revision,
        CascadeJudge(Model(revision="r2")).revision,
        CascadeJudge(Model(), precision=0.8).revision,
    }
    assert len(revisions) == 3
