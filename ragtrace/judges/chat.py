"""The LLM judge: any OpenAI-compatible chat endpoint.

At most three requests an interaction, at the same time, each shown only what its answer may depend on:

1. question, documents and the answer's sentences → claims with verdicts, relevance of documents, needs;
2. the answer alone → questions that it would answer, whether it is evasive;
3. with a reference only: reference, documents and answer → what of the reference they hold, what it lacks.

The model gives verdicts, never a score. What it leaves out is asked again, and only that; what it says
without evidence is asked again once; what stays missing is a fault with a reason.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable

from pydantic import TypeAdapter

from ragtrace.endpoint.untraced import untraced
from ragtrace.errors import ConfigError, JudgeError
from ragtrace.judges._chat.assembly import assemble
from ragtrace.judges._chat.cache import MemoryStore, VerdictStore, cache_key, recall, remember
from ragtrace.judges._chat.canary import draw_canary
from ragtrace.judges._chat.conversation import Conversation
from ragtrace.judges._chat.endpoint import Endpoint
from ragtrace.judges._chat.entries import Task
from ragtrace.judges._chat.limiter import Sleep
from ragtrace.judges._chat.options import ChatOptions, read_options
from ragtrace.judges._chat.parts import (
    MAX_ANSWER_CHARS,
    ClaimsPart,
    QuestionsPart,
    claims_part,
    failed_claims,
    failed_questions,
    grounding_task,
    reference_task,
)
from ragtrace.judges._chat.planning import Limits, Plan, bounded, plan
from ragtrace.judges._chat.questions import ask_usable_questions
from ragtrace.judges._chat.rendering import questions_prompt, task_prompt
from ragtrace.judges._chat.rounds import DECOY, Settled, settle
from ragtrace.judges._chat.tokens import prompt_tokens
from ragtrace.judges._chat.wire import WindowExceeded
from ragtrace.judges.base import JudgeReply, JudgeRequest, Usage, Want
from ragtrace.judges.prompting import load_prompts
from ragtrace.model import Language

__all__ = ["ChatJudge", "ChatOptions", "VerdictStore", "read_options"]

PROTOCOL = 1
"""Raised when the meaning of a verdict changes through code alone."""

_PLANS = 5
_GRACE = 0.25
_LARGE_TEXT = 200_000
_CLAIMS, _QUESTIONS = TypeAdapter(ClaimsPart), TypeAdapter(QuestionsPart)


class ChatJudge:
    """Judges with a language model. Build one and share it: limiter, cache and what it learns are inside.

    Args:
        options: how to reach the model and what to ask.
        clock: seconds; deadlines of requests are times of this clock.
        sleep: how to wait between attempts.
        store: keeps judged parts beyond this process; ``None`` = in memory.

    Raises:
        ConfigError: the prompts folder is unusable, or no API key is to be had.
    """

    kind = "openai"

    def __init__(
        self,
        options: ChatOptions | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        store: VerdictStore | None = None,
    ) -> None:
        self._options, self._clock = options or ChatOptions(), clock
        if not self._options.key():
            raise ConfigError(
                "no API key: set OPENAI_API_KEY, or base_url for a server that needs none", "judge.api_key"
            )
        self._prompts = load_prompts(self._options.prompts)
        self._endpoint = Endpoint(self._options, clock, sleep)
        self._store = store if store is not None else MemoryStore(self._options.cache_entries)
        self._revision = _revision(self._options, self._prompts.digest())

    @property
    def revision(self) -> str:
        """Hash of model, prompt texts, the options that decide verdicts, and the protocol number."""
        return self._revision

    @property
    def model(self) -> str:
        """The model's name."""
        return self._options.model

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Judge one interaction. Never raises for what the endpoint or the texts do: see ``faults``."""
        language = self._options.language or request.language
        deadline = _early(request.deadline, self._clock())
        talk = Conversation(self._endpoint, self._prompts, self._options, deadline)
        with untraced():
            grounding, questions, reference = await asyncio.gather(
                self._claims(talk, grounding_task(request, language)),
                self._questions(talk, request, language),
                self._claims(talk, reference_task(request, language)),
            )
        return assemble(request, grounding, questions, reference, talk.usage)

    def estimate(self, request: JudgeRequest) -> Usage:
        """What judging ``request`` is going to cost, without re-asks and without sending anything."""
        language = self._options.language or request.language
        made = [
            task_prompt(task, draw_canary(language), self._prompts)
            for whole in (grounding_task(request, language), reference_task(request, language))
            if whole is not None
            for task in plan(self._bounded(whole), self._limits(whole)).tasks
        ]
        answer = request.interaction.answer
        if Want.QUESTIONS in request.wants and answer:
            made.append(questions_prompt(answer, self._options.questions, language, self._prompts))
        spent = sum(prompt_tokens(prompt, self._options.chars_per_token) for prompt in made)
        written = sum(prompt.output_tokens for prompt in made) // 2
        return Usage(len(made), spent, written, estimated_calls=len(made))

    async def aclose(self) -> None:
        """Close connections; may be called twice."""
        await self._endpoint.aclose()

    async def _claims(self, talk: Conversation, whole: Task | None) -> ClaimsPart:
        """Call 1 or 3, from the cache where it is known."""
        if whole is None:
            return ClaimsPart()
        key = cache_key(self._revision, whole)
        if (known := recall(self._store, key, _CLAIMS)) is not None:
            return known
        try:
            part = await self._settle_within_window(talk, whole)
        except JudgeError as error:
            return failed_claims(error)
        if part.error in (None, DECOY):
            remember(self._store, key, _CLAIMS, part)
        return part

    async def _settle_within_window(self, talk: Conversation, whole: Task) -> ClaimsPart:
        """Plan by what is known of the window and ask; where that was too much, plan by what was learned."""
        some = self._bounded(whole)
        share = _length(some) / max(1, _length(whole))
        for _ in range(_PLANS):
            planned = await self._plan(some)
            if (settled := await _settle_all(planned, talk)) is not None:
                return claims_part(settled, planned.kept_ratio * share)
        raise JudgeError("window_exceeded")

    def _answer_chars(self) -> int:
        """Characters of the answer that call 2 shows: what it would answer shows early."""
        window = self._endpoint.window
        return MAX_ANSWER_CHARS if window is None else min(MAX_ANSWER_CHARS, window // 2)

    def _bounded(self, whole: Task) -> Task:
        return bounded(whole, self._options.max_units, self._options.max_documents)

    async def _plan(self, whole: Task) -> Plan:
        limits = self._limits(whole)
        if _length(whole) < _LARGE_TEXT:
            return plan(whole, limits)
        return await asyncio.to_thread(plan, whole, limits)

    def _limits(self, whole: Task) -> Limits:
        overhead = 0 if self._endpoint.window is None else self._overhead(whole)
        return Limits(
            self._endpoint.window, overhead, self._options.units_per_request, self._options.chars_per_token
        )

    def _overhead(self, whole: Task) -> int:
        """Tokens of rubric and schema of a request for all that ``whole`` wants."""
        bare = whole.narrowed(whole.asked[:1], whole.relevance_of[:1], whole.extra, frozenset())
        asking = task_prompt(bare, draw_canary(whole.language), self._prompts)
        return prompt_tokens(asking, self._options.chars_per_token)

    async def _questions(
        self, talk: Conversation, request: JudgeRequest, language: Language
    ) -> QuestionsPart:
        """Call 2, from the cache where it is known."""
        answer = (request.interaction.answer or "").strip()[: self._answer_chars()]
        if Want.QUESTIONS not in request.wants or not answer:
            return QuestionsPart()
        key = cache_key(self._revision, "questions", language, answer)
        if (known := recall(self._store, key, _QUESTIONS)) is not None:
            return known
        try:
            part = await ask_usable_questions(lambda: talk.ask_questions(answer, language), answer)
        except JudgeError as error:
            return failed_questions(error)
        if part.error is None:
            remember(self._store, key, _QUESTIONS, part)
        return part


def _early(deadline: float | None, now: float) -> float | None:
    """A little before ``deadline``, so that what came in time gets back in time."""
    return None if deadline is None else deadline - min(_GRACE, max(0.0, deadline - now) / 10)


async def _settle_all(planned: Plan, talk: Conversation) -> list[Settled] | None:
    """All requests of a plan at the same time; ``None``, and none left running, where one was too large."""
    running: list[asyncio.Task[Settled]] = []
    too_large = False
    try:
        async with asyncio.TaskGroup() as group:
            running += [group.create_task(settle(task, talk.ask)) for task in planned.tasks]
    except* WindowExceeded:
        too_large = True
    return None if too_large else [each.result() for each in running]


def _length(task: Task) -> int:
    """Characters of all documents that ``task`` shows."""
    return sum(len(document.text) for document in task.documents)


def _revision(options: ChatOptions, prompts: str) -> str:
    decisive = (
        PROTOCOL, options.model, options.base_url, options.temperature, options.seed, options.questions,
        options.language, options.logprobs, options.threshold, prompts,
    )  # fmt: skip
    return hashlib.sha256(repr(decisive).encode()).hexdigest()[:12]
