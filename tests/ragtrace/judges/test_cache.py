"""The verdict cache: content and revision decide, failures are never kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from servers.openai_chat import Chat, good_reply

from ragtrace.evaluation import Evaluator
from ragtrace.judges._chat.cache import MemoryStore, cache_key
from ragtrace.judges.base import Usage, Want
from ragtrace.judges.chat import ChatJudge, ChatOptions
from ragtrace.model import RetrievedDocument
from ragtrace.testing import make_interaction


def test_the_least_recently_used_is_forgotten() -> None:
    """Reading keeps an entry alive."""
    store = MemoryStore(2)
    store.put("a", "1")
    store.put("b", "2")
    assert store.get("a") == "1"
    store.put("c", "3")
    assert (store.get("a"), store.get("b"), store.get("c")) == ("1", None, "3")


def test_a_store_of_nothing_keeps_nothing() -> None:
    """``cache_entries: 0`` switches it off."""
    store = MemoryStore(0)
    store.put("a", "1")
    assert store.get("a") is None


def test_the_key_is_of_revision_and_content() -> None:
    """Nothing else, and the order of both matters."""
    assert cache_key("r1", "a", "b") == cache_key("r1", "a", "b")
    assert (
        len({cache_key("r1", "a"), cache_key("r2", "a"), cache_key("r1", "b"), cache_key("r1", "a", "b")})
        == 4
    )


async def test_equal_content_is_judged_once(bench: Any) -> None:
    """The reply is equal, and costs nothing."""
    judge = bench(good_reply)
    interaction = make_interaction(reference="Refunds take 3 days.")
    first = await judge.ask(interaction)
    second = await judge.ask(replace(interaction, trace_id="another", session="other"))
    assert replace(first, usage=Usage()) == second
    assert first.usage.calls == 3
    assert len(judge.server.requests) == 3


async def test_a_reference_that_comes_later_costs_one_call(bench: Any) -> None:
    """What is known of answer and questions stays known, as far as it does not depend on the reference."""
    judge = bench(good_reply)
    interaction = make_interaction()
    await judge.ask(interaction, Want.VERDICTS, Want.QUESTIONS, Want.REFERENCE)
    later = replace(interaction, reference="Refunds take 3 days.")
    reply = await judge.ask(later, Want.VERDICTS, Want.QUESTIONS, Want.REFERENCE)
    assert reply.usage.calls == 1


async def test_any_change_of_what_is_judged_is_judged_anew(bench: Any) -> None:
    """Question, documents and answer all count."""
    judge = bench(good_reply)
    interaction = make_interaction()
    changed = [
        interaction,
        replace(interaction, question="How quick are refunds?"),
        replace(interaction, documents=(RetrievedDocument("x", 1, "Refunds take 3 to 5 business days!"),)),
        replace(interaction, answer="Refunds take 3 to 5 days."),
        replace(interaction, rewritten_question="How long do refunds take in days?"),
    ]
    for each in changed:
        await judge.ask(each, Want.VERDICTS, Want.NEEDS)
    assert len(judge.server.requests) == len(changed)


async def test_failures_are_not_kept(bench: Any) -> None:
    """What failed is asked again next time."""
    judge = bench(Chat("no"), Chat("no"), good_reply)
    failed = await judge.ask(make_interaction(), Want.VERDICTS)
    assert failed.faults
    assert (await judge.ask(make_interaction(), Want.VERDICTS)).faults == ()


async def test_a_store_outlives_the_judge(bench: Any) -> None:
    """A second judge of the same revision on the same store asks nothing; one of another revision does."""
    store = MemoryStore(10)
    server = bench(good_reply).server
    options = ChatOptions(model="fake", base_url=server.url)

    async def judged_by(chosen: ChatOptions) -> int:
        before = len(server.requests)
        judge = ChatJudge(chosen, store=store)
        await Evaluator(judge, None, ["faithfulness"]).evaluate(make_interaction())
        await judge.aclose()
        await judge.aclose()
        return len(server.requests) - before

    assert [
        await judged_by(options),
        await judged_by(options),
        await judged_by(replace(options, seed=8)),
    ] == [1, 0, 1]


async def test_unreadable_entries_are_judged_anew(bench: Any) -> None:
    """A store that was damaged, or written by another version, does no harm."""

    class Damaged(MemoryStore):
        def get(self, key: str) -> str | None:
            return '{"entries": 7}'

    server = bench(good_reply).server
    judge = ChatJudge(ChatOptions(model="fake", base_url=server.url), store=Damaged(1))
    evaluation = await Evaluator(judge, None, ["faithfulness"]).evaluate(make_interaction())
    assert evaluation.outcomes["faithfulness"].value == 1.0
