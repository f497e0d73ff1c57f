"""An LLM judge in front of a scripted server, over real HTTP."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from servers.openai_chat import Answer, FakeOpenAI, Script

from ragtrace.evaluation import Evaluation, Evaluator
from ragtrace.judges.base import JudgeReply, JudgeRequest, Want
from ragtrace.judges.chat import ChatJudge, ChatOptions
from ragtrace.judges.embedded import EmbeddedJudge
from ragtrace.model import Interaction, RetrievedDocument
from ragtrace.text.citations import parse
from ragtrace.text.language import detect_language
from ragtrace.text.segment import units


class Clock:
    """A clock that only a sleeper moves; ``slept`` holds every wait."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def _request_for(interaction: Interaction, *wants: Want, deadline: float | None = None) -> JudgeRequest:
    """The request that the evaluator would make; without ``wants`` it wants everything."""
    answer = interaction.answer or ""
    found = units(answer, parse(answer, interaction.documents))
    language = detect_language(interaction.question, answer)
    return JudgeRequest(interaction, found, frozenset(wants or Want), language, deadline)


class Embedded:
    """The embedded judge, asked with plain texts."""

    def __init__(self) -> None:
        self._judge = EmbeddedJudge()

    def ask(self, question: str, documents: Sequence[str], answer: str) -> JudgeReply:
        """Its reply to everything that can be wanted."""
        return self._judge.reply(_request_for(self._interaction(question, documents, answer)))

    async def evaluate(self, question: str, documents: Sequence[str], answer: str) -> Evaluation:
        """The evaluation with its verdicts."""
        return await Evaluator(self._judge).evaluate(self._interaction(question, documents, answer))

    @staticmethod
    def _interaction(question: str, documents: Sequence[str], answer: str) -> Interaction:
        read = tuple(RetrievedDocument(str(rank), rank, text) for rank, text in enumerate(documents, start=1))
        return Interaction(question=question, documents=read, answer=answer)


@pytest.fixture
def embedded() -> Embedded:
    """The embedded judge."""
    return Embedded()


class Bench:
    """A judge and the server that it asks."""

    def __init__(self, server: FakeOpenAI, judge: ChatJudge, clock: Clock) -> None:
        self.server, self.judge, self.clock = server, judge, clock

    async def ask(self, interaction: Interaction, *wants: Want, deadline: float | None = None) -> JudgeReply:
        return await self.judge.judge(_request_for(interaction, *wants, deadline=deadline))


@pytest.fixture
async def bench() -> AsyncIterator[Callable[..., Bench]]:
    """Start a server with a script and a judge in front of it: ``bench(*script, real_clock=False, **options)``."""
    started: list[Bench] = []
    with ExitStack() as stack:

        def start(*script: Answer | Script, real_clock: bool = False, **options: Any) -> Bench:
            server = stack.enter_context(FakeOpenAI(*script).running())
            chosen = ChatOptions(**{"model": "fake", "base_url": server.url, **options})
            clock = Clock()
            judge = ChatJudge(chosen) if real_clock else ChatJudge(chosen, clock=clock, sleep=clock.sleep)
            started.append(Bench(server, judge, clock))
            return started[-1]

        yield start
        for each in started:
            await each.judge.aclose()


@pytest.fixture
def request_for() -> Callable[..., JudgeRequest]:
    """The request that the evaluator would make for an interaction: ``request_for(interaction, *wants)``."""
    return _request_for


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared cases; tests that read it skip where it is not."""
    folder = Path(os.environ.get("RAGTRACE_SHARED", Path(__file__).parents[3] / ".." / "shared"))
    if not folder.is_dir():
        pytest.skip("the shared cases are not here")
    return folder
