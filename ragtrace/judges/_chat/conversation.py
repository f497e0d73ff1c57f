"""One interaction's talk with the endpoint: what it asks, by when, and what that cost."""

from __future__ import annotations

from dataclasses import replace

from ragtrace.errors import JudgeError
from ragtrace.judges._chat.canary import draw_canary
from ragtrace.judges._chat.completion import Completion
from ragtrace.judges._chat.confidence import claim_confidences, with_threshold
from ragtrace.judges._chat.endpoint import Endpoint
from ragtrace.judges._chat.entries import Entry, Findings, Task
from ragtrace.judges._chat.options import ChatOptions
from ragtrace.judges._chat.quotes import Evidence
from ragtrace.judges._chat.reading import read_findings, read_questions
from ragtrace.judges._chat.rendering import Prompt, questions_prompt, task_prompt
from ragtrace.judges._chat.tokens import estimate_tokens, prompt_tokens
from ragtrace.judges._chat.wire import WindowExceeded
from ragtrace.judges.base import Usage
from ragtrace.judges.prompting import PromptSet
from ragtrace.model import Language

_SWALLOWED = 0.4
_LEAST_SUSPECT = 512


class Conversation:
    """Asks on behalf of one interaction. ``usage`` grows with every reply, re-asks included."""

    def __init__(
        self,
        endpoint: Endpoint,
        prompts: PromptSet,
        options: ChatOptions,
        deadline: float | None,
    ) -> None:
        self._endpoint, self._prompts, self._options = endpoint, prompts, options
        self._deadline = deadline
        self.usage = Usage()

    async def ask(self, task: Task) -> Findings:
        """One request of call 1 or 3 → what its reply says.

        Raises:
            JudgeError: there is no reply, or the provider withheld it.
        """
        if self._endpoint.keyed:
            return await self._ask(task, keyed=True)
        found = await self._ask(task, keyed=False)
        if not _confused(found, task):
            return found
        again = await self._ask(task, keyed=True)
        if again.canary:
            self._endpoint.need_keys()
        return again

    async def _ask(self, task: Task, keyed: bool) -> Findings:
        prompt = task_prompt(task, draw_canary(task.language), self._prompts, keyed)
        completion = await self._complete(prompt)
        confidences = claim_confidences(completion.text, completion.tokens)
        found = read_findings(completion.text, task, confidences)
        if found.cut or found.problem in ("empty_reply", "unparseable"):
            self._endpoint.lift_cap()
        return self._thresholded(found, task)

    async def ask_questions(self, answer: str, language: Language) -> tuple[tuple[str, ...], bool | None]:
        """Call 2 → the questions that the answer alone would answer, and whether it is evasive.

        Raises:
            JudgeError: there is no reply, or the provider withheld it.
        """
        prompt = questions_prompt(answer, self._options.questions, language, self._prompts)
        completion = await self._complete(prompt)
        questions, evasive = read_questions(completion.text, self._options.questions)
        if not questions:
            self._endpoint.lift_cap()
        return questions, evasive

    async def _complete(self, prompt: Prompt) -> Completion:
        estimate = prompt_tokens(prompt, self._options.chars_per_token)
        window = self._endpoint.window
        try:
            completion = await self._endpoint.complete(prompt, self._deadline)
            self.usage += self._cost(completion, estimate)
            _check_swallowed(completion, estimate)
        except WindowExceeded as error:
            if self._endpoint.window == window:
                self._endpoint.learn_window(error.limit, estimate)
            raise
        if completion.blocked is not None:
            raise JudgeError(completion.blocked)
        return completion

    def _cost(self, completion: Completion, estimate: int) -> Usage:
        written = estimate_tokens(completion.text, self._options.chars_per_token)
        read, wrote = completion.input_tokens, completion.output_tokens
        counted = read is not None and wrote is not None
        return Usage(1, read or estimate, wrote or written, estimated_calls=0 if counted else 1)

    def _thresholded(self, found: Findings, task: Task) -> Findings:
        threshold = self._options.threshold
        if threshold is None:
            return found
        evidence = Evidence(task.documents)

        def judged(entry: Entry) -> Entry:
            return with_threshold(entry, threshold, evidence=bool(evidence.holding(entry.quote)))

        return replace(found, entries={n: tuple(map(judged, known)) for n, known in found.entries.items()})


def _confused(found: Findings, task: Task) -> bool:
    """Whether the canary was judged wrongly, or left out of a whole reply.

    That is what steering looks like, but also what a small model does that loses count of the sentences.
    Asked for keyed replies the latter recovers; the former gives itself away again.
    """
    whole = found.problem not in ("empty_reply", "unparseable", "ambiguous", "truncated")
    return bool(task.asked) and not found.canary and whole


def _check_swallowed(completion: Completion, estimate: int) -> None:
    """Some local servers cut a prompt that is too large and say nothing; their token count gives it away."""
    counted = completion.input_tokens
    if counted is not None and _LEAST_SUSPECT <= counted < _SWALLOWED * estimate:
        raise WindowExceeded(counted)
