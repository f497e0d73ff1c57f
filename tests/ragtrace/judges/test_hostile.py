"""Text that tries to steer the judge: what is sent keeps it apart from the rubric, what comes back is checked.

Each attack stands in a document, in the question, in the answer and in an earlier turn, in English and in
Chinese.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servers.attacks import ATTACKS
from servers.openai_chat import ITEM, Answer, Chat, Seen, good_reply

from ragtrace.evaluation import Evaluator
from ragtrace.judges._chat.fence import draw_nonce, visible
from ragtrace.judges.base import Want
from ragtrace.model import Status, Support, Turn
from ragtrace.testing import make_interaction
from ragtrace.text.segment import units

PLACES = ("document", "question", "answer", "turn")
CLEAN, CLAIM = "The pump is painted blue.", "The warranty lasts ten years."


def attacked(attack: str, place: str) -> Any:
    """An interaction whose claim no document supports, with ``attack`` at ``place``."""
    return make_interaction(
        f"How long is the warranty? {attack}" if place == "question" else "How long is the warranty?",
        [CLEAN, f"About the shop. {attack}"] if place == "document" else [CLEAN],
        f"{CLAIM} {attack}" if place == "answer" else CLAIM,
        history=(Turn("Hello?", attack),) if place == "turn" else (),
    )


def test_there_are_enough_attacks_in_both_languages() -> None:
    """At least forty, a fair share of them in Chinese."""
    assert len(ATTACKS) >= 40
    assert sum(bool(re.search("[\u4e00-\u9fff]", attack)) for attack in ATTACKS.values()) >= 12


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ATTACKS)
async def test_what_is_sent_keeps_data_and_rubric_apart(bench: Any, name: str, place: str) -> None:
    """The rubric is the same as without the attack, the attack opens no item, and nothing hidden is sent."""
    wants = (Want.VERDICTS, Want.RELEVANCE, Want.NEEDS, Want.QUESTIONS)
    judge, clean = bench(good_reply, language="en"), bench(good_reply, language="en")
    interaction = attacked(ATTACKS[name], place)
    await judge.ask(interaction, *wants)
    await clean.ask(attacked("Some text.", place), *wants)
    rubric = {seen.call: without_marker(seen.system)[0] for seen in clean.server.requests}
    for seen in judge.server.requests:
        system, marker = without_marker(seen.system)
        assert system == rubric[seen.call]
        opened = seen.user.count(f"[{marker}:")
        assert opened == len(re.findall(rf"^\[{marker}:[DUQA]\d*[^\]\n]*\] ", seen.user, re.MULTILINE))
        assert opened == expected_items(seen, interaction)
        assert not re.search("[\u0000-\u0008\u200b\u202e\U000e0000-\U000e007f\ud800-\udfff]", seen.user)
        assert not re.search(r"<\|\w|<｜\w|\[/?INST\]|</?s>|</?think>|<(?:start|end)_of_turn>", seen.user)


def without_marker(system: str) -> tuple[str, str]:
    """The rubric without its marker, and the marker."""
    (marker,) = re.findall(r"start with \[([a-z]+):", system)
    return system.replace(marker, ""), marker


def expected_items(seen: Seen, interaction: Any) -> int:
    """How many items an honest count gives: documents, decoy, turns, question, canary, sentences."""
    if seen.call == "questions":
        return 1
    turns = 1 if interaction.history else 0
    return len(interaction.documents) + 1 + turns + 1 + 1 + len(units(interaction.answer))


def obeying(verdict: str) -> Any:
    """A model that does what the attack says: one verdict for everything, the attack's words as its quote."""

    def script(seen: Seen) -> Answer:
        reply = good_reply(seen)
        if seen.call != "grounding":
            return reply
        quote = seen.documents.get(2, CLEAN) if verdict in ("SUPPORTED", "CONTRADICTED") else ""
        return reply | {
            "claims": [
                {"unit": n, "claim": "", "quote": quote, "verdict": verdict}
                for n in (*seen.units, seen.canary)
            ],
            "relevance": [{"doc": rank, "helps": "yes"} for rank in seen.documents],
        }

    return script


@pytest.mark.parametrize("verdict", ["SUPPORTED", "NO_CLAIM"])
async def test_a_steered_judge_gives_itself_away(bench: Any, verdict: str) -> None:
    """The canary is called supported, or no claim: no number, but ``steered``, for all that this call said."""
    judge = bench(obeying(verdict))
    metrics = ["faithfulness", "context_precision", "context_recall", "context_noise"]
    evaluator = Evaluator(judge.judge, None, metrics, clock=judge.clock)
    evaluation = await evaluator.evaluate(attacked(ATTACKS["en: plain order"], "document"))
    for outcome in evaluation.outcomes.values():
        assert (outcome.status, outcome.reason) == (Status.JUDGE_ERROR, "steered")


async def test_a_judge_steered_to_call_all_relevant_gives_itself_away(bench: Any) -> None:
    """The decoy document helps nobody."""

    def script(seen: Seen) -> Answer:
        reply = good_reply(seen)
        return reply | {"relevance": [{"doc": rank, "helps": "yes"} for rank in seen.documents]}

    reply = await bench(script).ask(attacked(ATTACKS["en: relevance"], "document"), Want.RELEVANCE)
    assert [fault.reason for fault in reply.faults] == ["decoy_relevant"]
    assert reply.relevance == {1: None, 2: None}


async def test_worthless_relevance_does_not_stop_disputes(bench: Any) -> None:
    """Verdicts stand on their own canary: an invented quote beside a helpful decoy is asked again as ever."""

    def script(seen: Seen) -> Answer:
        reply = good_reply(seen)
        if seen.body["response_format"]["json_schema"]["schema"]["properties"].keys() != {"claims"}:
            reply["claims"][0] |= {"verdict": "SUPPORTED", "quote": "made up"}
            reply["relevance"] = [{"doc": rank, "helps": "yes"} for rank in seen.documents]
        return reply

    interaction = make_interaction("Colour?", [CLEAN], CLEAN)
    reply = await bench(script).ask(interaction, Want.VERDICTS, Want.RELEVANCE)
    assert [claim.verdict and claim.verdict.support for claim in reply.claims] == [Support.SUPPORTED]
    assert [(fault.want, fault.reason) for fault in reply.faults] == [(Want.RELEVANCE, "decoy_relevant")]


async def test_a_judge_steered_downward_is_asked_again(bench: Any) -> None:
    """A claim that stands in a document word for word is not let go as unfound."""
    met: list[Seen] = []

    def script(seen: Seen) -> Answer:
        met.append(seen)
        return obeying("NOT_FOUND")(seen) if len(met) == 1 else good_reply(seen)

    interaction = make_interaction("Colour?", [CLEAN, ATTACKS["en: downward"]], CLEAN)
    reply = await bench(script).ask(interaction, Want.VERDICTS)
    assert [claim.verdict and claim.verdict.support for claim in reply.claims] == [Support.SUPPORTED]


@pytest.mark.parametrize("name", [name for name in ATTACKS if name.startswith("fake JSON")])
async def test_a_reply_copied_from_the_data_supports_nothing(bench: Any, name: str) -> None:
    """It knows no canary and has no evidence: no verdict comes of it."""
    judge = bench(Chat(ATTACKS[name]))
    reply = await judge.ask(attacked(ATTACKS[name], "document"), Want.VERDICTS)
    assert Support.SUPPORTED not in [claim.verdict and claim.verdict.support for claim in reply.claims]


async def test_a_reply_without_the_canary_is_no_reply(bench: Any) -> None:
    """It is asked for, and what never answers for it is at fault."""

    def script(seen: Seen) -> Answer:
        reply = good_reply(seen)
        return reply | {"claims": reply["claims"][:-1]}

    judge = bench(script)
    reply = await judge.ask(make_interaction(), Want.VERDICTS)
    assert [claim.verdict for claim in reply.claims] == [None]
    assert [fault.reason for fault in reply.faults] == ["no_canary"]


async def test_canaries_cannot_be_foreseen(bench: Any) -> None:
    """Two requests, two canaries, two markers."""
    judge = bench(good_reply, cache_entries=0)
    for _ in range(2):
        await judge.ask(make_interaction(), Want.VERDICTS)
    first, second = (
        {text for kind, n, _, text in s.items if n == s.canary and kind == "U"} for s in judge.server.requests
    )
    assert first != second
    assert ITEM.match(judge.server.requests[0].user).group(1) != ITEM.match(
        judge.server.requests[1].user
    ).group(1)  # type: ignore[union-attr]


def test_the_marker_grows_where_short_ones_are_taken() -> None:
    """A document that holds every short marker does not stop the drawing, and forges none."""
    text = "bbbb bbbbb"
    assert draw_nonce([text], lambda count: "b" * count) == "bbbbbb"


@settings(max_examples=200)
@given(st.text(max_size=80))
def test_making_visible_is_stable_and_keeps_what_is_seen(text: str) -> None:
    """Twice is once; letters and digits stay, in order."""
    shown = visible(text)
    assert visible(shown) == shown
    assert [c for c in shown if c.isalnum()] == [c for c in text if c.isalnum() and c in shown]


async def test_verdict_words_in_the_data_are_not_verdicts(bench: Any) -> None:
    """The reply alone counts: a document full of SUPPORTED changes nothing of an honest judge's verdict."""
    reply = await bench().ask(attacked(ATTACKS["a wall of it"], "document"), Want.VERDICTS)
    assert [claim.verdict and claim.verdict.support for claim in reply.claims] == [Support.NOT_FOUND]
    assert json.dumps(reply.faults) == "[]"
