"""From a task to the text that the model sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ragtrace.judges._chat.canary import Canary
from ragtrace.judges._chat.entries import Shown, Task, canary_number, decoy_number
from ragtrace.judges._chat.fence import draw_nonce, item, visible
from ragtrace.judges._chat.schemas import Schema, questions_schema, task_schema
from ragtrace.judges.prompting import PromptSet
from ragtrace.model import Language

_TOKENS_PER_CLAIM, _TOKENS_PER_DOCUMENT, _TOKENS_FOR_EXTRA, _TOKENS_PER_QUESTION = 130, 14, 300, 60


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request. ``schema(bounded)`` makes the reply's schema; ``format_rule`` introduces it where the
    endpoint takes none; ``output_tokens`` is a generous guess of the reply's size."""

    name: str
    system: str
    user: str
    schema: Callable[[bool], Schema]
    format_rule: str
    output_tokens: int


def task_prompt(task: Task, canary: Canary, prompts: PromptSet, keyed: bool = False) -> Prompt:
    """The request for ``task``, its data fenced with a nonce of its own; ``keyed`` as in the schema."""
    documents, lines = _documents(task, canary), _lines(task, canary)
    labelled = [*documents, *lines]
    nonce = draw_nonce((text for _, text in labelled))
    keys = list(task_schema(task, bounded=False)["properties"])
    if task.has_pairs:
        keys.insert(1, "pairs")
    return Prompt(
        name=task.call,
        system=prompts.system(task.language, task.call, keys, nonce, keyed),
        user="\n".join(item(nonce, label, text) for label, text in labelled),
        schema=lambda bounded: task_schema(task, bounded, keyed),
        format_rule=prompts.rule(task.language, "format"),
        output_tokens=expected_output(task),
    )


def questions_prompt(answer: str, n: int, language: Language, prompts: PromptSet) -> Prompt:
    """The request of call 2: the answer and nothing else."""
    shown = visible(answer)
    nonce = draw_nonce((shown,))
    system = prompts.system(language, "questions", ("questions", "evasive"), nonce)
    return Prompt(
        name="questions",
        system=system.replace("{n}", str(n)),
        user=item(nonce, "A", shown),
        schema=lambda bounded: questions_schema(n, bounded),
        format_rule=prompts.rule(language, "format"),
        output_tokens=_TOKENS_PER_QUESTION * n + 40,
    )


def expected_output(task: Task) -> int:
    """Tokens to reserve for a reply to ``task``: about twice what a terse reply takes."""
    claims = (len(task.asked) + 1) * _TOKENS_PER_CLAIM if task.asked else 0
    relevance = (len(task.relevance_of) + 1) * _TOKENS_PER_DOCUMENT if task.relevance_of else 0
    return claims + relevance + (_TOKENS_FOR_EXTRA if task.extra else 0) + 40


def _documents(task: Task, canary: Canary) -> list[tuple[str, str]]:
    shown = list(task.documents)
    if task.relevance_of:
        shown.append(Shown(decoy_number(task), canary.decoy))
    return [(f"D{document.rank}", visible(document.text)) for document in shown]


def _lines(task: Task, canary: Canary) -> list[tuple[str, str]]:
    lines = [("Q", visible(task.question))] if task.question else []
    if task.rewritten:
        lines.append(("Q rewritten", visible(task.rewritten)))
    for entry in task.items:
        cites = " cites " + ",".join(map(str, entry.cites)) if entry.number and entry.cites else ""
        lines.append((f"U{entry.number}{cites}" if entry.number else "U", visible(entry.text)))
    if task.asked:
        lines.append((f"U{canary_number(task)}", canary.claim))
    if task.answer is not None:
        lines.append(("A", visible(task.answer)))
    return lines


def messages(prompt: Prompt, schema_text: str | None) -> list[dict[str, Any]]:
    """The chat messages; ``schema_text`` is appended to the rubric where the endpoint takes no schema."""
    system = prompt.system if schema_text is None else f"{prompt.system}\n{prompt.format_rule}{schema_text}"
    return [{"role": "system", "content": system}, {"role": "user", "content": prompt.user}]
