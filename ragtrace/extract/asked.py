"""Where question, rewriting, history and answer of one scope are looked for.

Every finder returns the text with the place where it was found, or ``None``; the first that knows wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ragtrace.extract.messages import Message, final_reply, last_text, read_messages
from ragtrace.extract.scopes import Scope, early, own_answer, own_question
from ragtrace.extract.shapes import HISTORY_KEYS, QUESTION_KEYS, REWRITTEN_KEYS
from ragtrace.extract.step import COMPOSITES, Role, Step
from ragtrace.extract.values import text_or_none, unwrap
from ragtrace.model import Turn

_LABELLED = re.compile(
    r"(?:\A|\n)[ \t]*(?:user )?(?:question|query|问题|用户问题|提问)[ \t]*[:：][ \t]*(?P<asked>[^\n]+?)[ \t]*"
    r"(?:\n+[ \t]*(?:helpful |final |your )?(?:answer|response|回答|答案)[ \t]*[:：]?[ \t]*)?\Z",
    re.IGNORECASE,
)
"""``Question: …`` as the last line of a prompt, an ``Answer:`` behind it or not."""
_MAX_QUESTION = 400
"""A rewritten question is one short line; a longer text that was searched with is a hypothetical document."""


@dataclass(frozen=True, slots=True)
class Found:
    """A text and ``"<span name>:<attribute>"`` of where it stood."""

    text: str
    source: str


def answering(steps: Sequence[Step]) -> Step | None:
    """The model call that answered: the last that said something, of those behind the first retrieval."""
    retrieved = [s.span.start_ns for s in steps if s.role is Role.RETRIEVAL or s.documents is not None]
    calls = [
        s for s in steps if s.role is Role.GENERATION and (not retrieved or s.span.start_ns >= min(retrieved))
    ]
    said = [call for call in calls if final_reply(call.reply) is not None]
    return said[-1] if said else calls[-1] if calls else None


def find_question(scope: Scope, call: Step | None) -> Found | None:
    """The question as the user put it."""
    inner = [step for step in scope.steps if step.role in COMPOSITES and step is not scope.entry]
    before = early(scope.steps, inner)
    looked_at = {id(step) for step in before}
    return (
        _stated([*([scope.entry] if scope.entry is not None else []), *before])
        or _of_variables(scope.steps, call)
        or _of_prompt(scope.steps, call)
        or _of_query(scope.steps)
        or _stated([step for step in inner if id(step) not in looked_at])
    )


def _stated(candidates: Iterable[Step]) -> Found | None:
    for step in candidates:
        if (text := step.facts.question) is not None:
            return Found(text, step.source(step.facts.keys.get("question", "question")))
        if (text := own_question(step)) is not None and step.input is not None:
            return Found(text, step.source(step.input.key))
    return None


def _of_variables(steps: Sequence[Step], call: Step | None) -> Found | None:
    for step in [call, *reversed(steps)] if call is not None else reversed(steps):
        for name in QUESTION_KEYS[:9]:
            if step is not None and (text := text_or_none(step.variables.get(name))) is not None:
                return Found(text, step.source(f"prompt variable {name}"))
    return None


def _of_prompt(steps: Sequence[Step], call: Step | None) -> Found | None:
    """From the last user message: a labelled line, the retrieval's query on a line, a bare question."""
    if call is None or (message := last_text(call.prompt, "user")) is None:
        return None
    source = call.source("prompt")
    if (labelled := _LABELLED.search(message)) is not None:
        return Found(labelled.group("asked"), source)
    queries = {step.query.strip(): step for step in steps if step.role is Role.RETRIEVAL and step.query}
    for query, step in queries.items() if len(queries) == 1 else ():
        if re.search(rf"(?:^|[:：])\s*{re.escape(query)}\s*$", message, re.MULTILINE):
            return Found(query, step.source("query"))
    return Found(message, source) if _is_bare(message, steps) else None


def _is_bare(message: str, steps: Sequence[Step]) -> bool:
    """Whether a message holds nothing but what the user said: no documents, no headings."""
    texts = (d.text for s in steps if s.documents is not None for d in s.documents.items)
    return "\n" not in message.strip() and not any(text and text in message for text in texts)


def _of_query(steps: Sequence[Step]) -> Found | None:
    """The query of the only retrieval, unless a model wrote it.

    A tool's query stands for the question only where no model call was recorded: nothing else tells of it.
    """
    called = any(step.role is Role.GENERATION for step in steps)
    searching = (Role.RETRIEVAL,) if called else (Role.RETRIEVAL, Role.TOOL)
    asked = {
        s.query.strip(): s
        for s in steps
        if s.query and s.role in searching and (s.role is Role.RETRIEVAL or s.documents is not None)
    }
    written = {reply.strip() for s in steps if (reply := final_reply(s.reply)) is not None}
    if len(asked) != 1 or set(asked) & written:
        return None
    ((_, step),) = asked.items()
    return Found(step.query or "", step.source("query"))


def find_rewritten(scope: Scope, question: str | None) -> Found | None:
    """The question as it was rewritten before the retrieval; ``None`` where it was not."""
    for step in scope.steps:
        if (text := step.facts.rewritten_question) is not None:
            return Found(text, step.source(step.facts.keys.get("rewritten_question", "rewritten_question")))
    for step in scope.steps:
        field = step.output
        if step.role in COMPOSITES and field is not None and _may_name(field.raw, REWRITTEN_KEYS):
            value = field.value if isinstance(field.value, dict) else {}
            for key in REWRITTEN_KEYS:
                text = text_or_none(value.get(key))
                if text is not None and text != question:
                    return Found(text, step.source(field.key))
    return _condensed(scope.steps, question)


def _may_name(raw: Any, keys: Sequence[str]) -> bool:
    """A cheap look before decoding."""
    return not isinstance(raw, str) or any(key in raw for key in keys)


def _condensed(steps: Sequence[Step], question: str | None) -> Found | None:
    """A model call whose reply is, word for word, what was searched with."""
    queries = {s.query.strip() for s in steps if s.role is Role.RETRIEVAL and s.query}
    if len(queries) != 1:
        return None
    for step in steps:
        reply = final_reply(step.reply)
        if reply is not None and reply.strip() in queries and reply.strip() != (question or "").strip():
            short = len(reply) <= _MAX_QUESTION and "\n" not in reply.strip()
            return Found(reply.strip(), step.source("reply")) if short else None
    return None


def find_answer(scope: Scope, call: Step | None, error: str | None) -> Found | None:
    """The answer as the user got it; of an interaction that failed only what its entry returned."""
    entry = scope.entry
    if entry is not None:
        if (text := entry.facts.answer) is not None:
            return Found(text, entry.source(entry.facts.keys.get("answer", "answer")))
        if (text := own_answer(entry)) is not None and entry.output is not None:
            return Found(text, entry.source(entry.output.key))
    if error is not None or call is None or (said := final_reply(call.reply)) is None:
        return None
    return Found(said, call.source("reply"))


def find_history(scope: Scope, call: Step | None) -> tuple[Turn, ...]:
    """The earlier turns: as stated, as the entry was given them, else as the model was."""
    for step in scope.steps:
        if step.facts.history:
            return step.facts.history
    entry = scope.entry
    given = entry.input.value if entry is not None and entry.input is not None else None
    if isinstance(given, dict):
        for key in HISTORY_KEYS:
            if turns := _turns(read_messages(unwrap(given.get(key)))):
                return turns
    return _turns(call.prompt[:-1]) if call is not None else ()


def _turns(messages: Sequence[Message]) -> tuple[Turn, ...]:
    """Questions with the answers behind them; a question that was not answered is no turn."""
    turns: list[Turn] = []
    asked: str | None = None
    for message in messages:
        if message.speaker == "user":
            asked = message.text
        elif message.speaker == "assistant" and message.text is not None and asked is not None:
            turns.append(Turn(asked, message.text))
            asked = None
    return tuple(turns)


def first_fact(steps: Sequence[Step], name: str) -> Any:
    """The first statement of a fact that is not empty, in the order of the steps."""
    return next((value for step in steps if (value := getattr(step.facts, name))), None)
