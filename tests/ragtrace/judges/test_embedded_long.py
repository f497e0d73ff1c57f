"""Answers as long as their documents: judged in time that grows with them, in turns, never low for their size."""

from __future__ import annotations

import asyncio

import pytest

from ragtrace.evaluation import Evaluator
from ragtrace.judges._local.claims import read_claim
from ragtrace.judges._local.corpus import Corpus, places_a_claim
from ragtrace.judges._local.passages import Reader
from ragtrace.judges.base import JudgeRequest, Want
from ragtrace.judges.embedded import EmbeddedJudge
from ragtrace.model import Interaction, Score, Status, Support
from ragtrace.reading import read
from ragtrace.testing import make_interaction

TOPICS = ("warranty", "refund", "parcel", "invoice", "battery", "deposit", "licence", "voucher")


def fact(number: int, hours: int | None = None) -> str:
    """A sentence that shares all of its words but the numbers with an eighth of the others."""
    return f"The {TOPICS[number % 8]} of order K{number} is settled within {hours or 1000 + number} hours."


def facts(size: int) -> str:
    return " ".join(map(fact, range(size)))


def long(size: int, answer: str | None = None) -> Interaction:
    return make_interaction("When is the warranty settled?", [facts(size)], answer or facts(size))


def looked_at(size: int) -> int:
    """How many pairs of claim and passage are compared for an answer and a document of ``size`` sentences."""
    document = Reader().read(facts(size), 1)
    corpus = Corpus((document,), places_a_claim(size, len(document.passages)))
    return sum(len(corpus.held(read_claim(passage.text).weights)) for passage in document.passages)


@pytest.mark.parametrize(("size", "most"), [(100, 100 * 100), (500, 100_000), (1500, 100_000)])
def test_comparisons_do_not_grow_with_the_square_of_the_length(size: int, most: int) -> None:
    """Short ones are compared all with all; from a budget on, longer ones share it."""
    assert size <= looked_at(size) <= most


async def test_a_long_copied_answer_is_supported_and_says_that_it_was_held_against_candidates() -> None:
    """Every sentence finds its own among hundreds that are built alike; what was passed over is shown."""
    outcome = (await Evaluator(EmbeddedJudge()).evaluate(long(400))).outcomes["faithfulness"]
    assert isinstance(outcome, Score)
    assert (outcome.value, outcome.n_judged) == (1.0, 400)
    assert 0 < outcome.kept_ratio < 1


async def test_a_short_one_is_held_against_everything() -> None:
    """Nothing is passed over below the budget."""
    outcome = (await Evaluator(EmbeddedJudge()).evaluate(long(50))).outcomes["faithfulness"]
    assert isinstance(outcome, Score)
    assert (outcome.value, outcome.kept_ratio) == (1.0, 1.0)


def test_what_a_long_answer_gets_wrong_is_found_among_the_candidates() -> None:
    """A wrong number in every hundredth sentence is contradicted by the passage of that order."""
    wrong = frozenset(range(50, 400, 100))
    answer = " ".join(fact(number, 31 if number in wrong else None) for number in range(400))
    interaction = long(400, answer)
    units = read(interaction).units
    reply = EmbeddedJudge().reply(JudgeRequest(interaction, units, frozenset({Want.VERDICTS}), "en"))
    assert reply.kept_ratio < 1
    found = {number for number, one in enumerate(reply.claims) if _support(one) is Support.CONTRADICTED}
    assert found == wrong


def _support(judged: object) -> Support | None:
    verdict = getattr(judged, "verdict", None)
    return None if verdict is None else verdict.support


@pytest.mark.parametrize("tokens", [(), ("nowhere",)])
def test_tokens_that_stand_nowhere_are_looked_up_nowhere(tokens: tuple[str, ...]) -> None:
    """A claim without a word of the documents has no candidates."""
    corpus = Corpus((Reader().read(facts(10), 1),), 64)
    assert corpus.held(dict.fromkeys(tokens, 1.0)) == {}
    assert corpus.kept(tokens) == (0, 0)


async def test_a_long_answer_does_not_hold_up_a_short_one_behind_it() -> None:
    """They take turns: the short one is done first although it came second."""
    evaluator, done = Evaluator(EmbeddedJudge()), list[str]()

    async def judge(name: str, size: int) -> None:
        await evaluator.evaluate(long(size))
        done.append(name)

    await asyncio.gather(judge("long", 70), judge("short", 3))
    assert done == ["short", "long"]


async def test_a_long_answer_is_stopped_at_its_deadline() -> None:
    """Between two turns the time is looked at; what is not there by then is timed_out, not late."""
    evaluator = Evaluator(EmbeddedJudge(), clock=lambda: 100.0)
    evaluation = await evaluator.evaluate(long(70), deadline=100.0)
    assert evaluation.outcomes["faithfulness"].status is Status.TIMED_OUT
