"""The cascade: who decides what, and what that saves."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from ragtrace.errors import ConfigError
from ragtrace.judges.base import JudgeReply, JudgeRequest, ReferenceClaim, Usage, Want
from ragtrace.judges.cascade import CascadeJudge
from ragtrace.model import Claim, Interaction, JudgedClaim, RetrievedDocument, Support, Verdict
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
            if Want.VERDICTS in request.wants
        )
        references = (ReferenceClaim("r", True),) if Want.REFERENCE in request.wants else ()
        return JudgeReply(claims=claims, reference_claims=references, usage=Usage(1, 100, 10))

    async def aclose(self) -> None:
        pass


COPIED = "The ferry to the island leaves every morning at eight from the northern pier."
UNCLEAR = "Boats for visitors start their trip early near the northern pier each day."


def request(answer: str, wants=frozenset({Want.VERDICTS}), language="en") -> JudgeRequest:
    documents = (RetrievedDocument("1", 1, f"{COPIED} Tickets are sold on board."),)
    interaction = Interaction(question="When?", documents=documents, answer=answer, reference="At eight.")
    return JudgeRequest(interaction, units(answer), wants, language)


async def test_clear_claims_never_reach_the_model():
    """A copied claim is decided locally, the unclear one is asked, and both come back in order."""
    model = Model()
    reply = await CascadeJudge(model).judge(request(f"{COPIED} {UNCLEAR}"))
    assert [unit.text for unit in model.asked[0].units] == [UNCLEAR]
    assert [judged.claim.text for judged in reply.claims] == [COPIED, UNCLEAR]
    assert reply.usage == Usage(1, 100, 10, 1)


async def test_nothing_is_asked_when_all_is_clear():
    """With every claim clear and nothing else wanted no request is made."""
    model = Model()
    reply = await CascadeJudge(model).judge(request(COPIED))
    assert model.asked == []
    assert reply.usage == Usage(local_claims=1)


async def test_a_reference_is_compared_with_the_whole_answer():
    """What was decided locally still takes part in the comparison with the reference."""
    model = Model()
    reply = await CascadeJudge(model).judge(request(COPIED, frozenset({Want.VERDICTS, Want.REFERENCE})))
    assert [unit.text for unit in model.asked[0].units] == [COPIED]
    assert model.asked[0].wants == {Want.REFERENCE}
    assert len(reply.reference_claims) == 1


async def test_chinese_is_left_to_the_model():
    """By default nothing is decided locally in Chinese."""
    model = Model()
    await CascadeJudge(model).judge(request(COPIED, language="zh"))
    assert len(model.asked[0].units) == 1


def test_a_precision_without_thresholds_is_refused():
    """Only targets that thresholds were fitted for can be asked for."""
    with pytest.raises(ConfigError, match=r"judge\.precision"):
        CascadeJudge(Model(), precision=0.99)


def test_the_revision_hangs_on_both_judges_and_the_options():
    """Another model or another precision is another judge."""
    revisions = {
        CascadeJudge(Model()).revision,
        CascadeJudge(Model(revision="r2")).revision,
        CascadeJudge(Model(), precision=0.8).revision,
    }
    assert len(revisions) == 3
