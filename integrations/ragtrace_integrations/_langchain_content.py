"""Question, answer and history in the values that LangChain passes around.

Chains take and give anything: text, messages, ``("user", text)`` pairs, dicts with the usual key names, graph
states (dict, dataclass or pydantic). Every function is pure and answers ``None`` or empty where a value does
not hold what it looks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.prompt_values import PromptValue
from pydantic import BaseModel

from ragtrace.model import Turn

QUESTION_KEYS = (
    "question", "query", "input", "user_input", "user_query", "user_question", "original_question", "inputs",
    "prompt", "text", "message", "messages",
)  # fmt: skip
ANSWER_KEYS = (
    "answer", "final_answer", "output", "result", "response", "generation", "output_text", "completion",
    "text", "content", "messages",
)  # fmt: skip
HISTORY_KEYS = ("chat_history", "history", "conversation", "messages")

_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "HumanMessageChunk": "user"}
_MAX_NESTING = 4


@dataclass(frozen=True, slots=True)
class Message:
    """One message: ``role`` is user, assistant, system, tool or the app's own word."""

    role: str
    text: str


def question_of(value: object, depth: int = 0) -> str | None:
    """The question in a chain's input: the text, the last user message, or what a usual key holds."""
    if isinstance(value, str):
        return value or None
    if (messages := messages_of(value)) is not None:
        return next((m.text for m in reversed(messages) if m.role == "user" and m.text), None)
    named = fields_of(value)
    if named is None or depth == _MAX_NESTING or type(value).__name__ == "Command":  # resumes a graph
        return None
    for key in QUESTION_KEYS:
        if key in named and (found := question_of(named[key], depth + 1)) is not None:
            return found
    return _only_text(named)


def answer_of(value: object, depth: int = 0) -> str | None:
    """The answer in a chain's output: the text, the last assistant message, or what a usual key holds."""
    if isinstance(value, str):
        return value or None
    if (messages := messages_of(value)) is not None:
        return next(
            (m.text for m in reversed(_last_turn(messages)) if m.role == "assistant" and m.text), None
        )
    named = fields_of(value)
    if named is None or depth == _MAX_NESTING:
        return None
    for key in ANSWER_KEYS:
        if key in named and (found := answer_of(named[key], depth + 1)) is not None:
            return found
    own = {key: item for key, item in named.items() if key not in QUESTION_KEYS}
    return _only_text(own) if depth == 0 else None


def history_of(*values: object) -> tuple[Turn, ...]:
    """The earlier turns in a chain's input or output: the messages before the last one of the user.

    ``values`` are looked at in order; the longest history wins, since a graph with a checkpointer is given
    the new message only and gives back all.
    """
    return max((_turns(list(_earlier(value))) for value in values), key=len, default=())


def messages_of(value: object) -> list[Message] | None:
    """The messages of a message, a prompt value or a list of messages; ``None`` for all else."""
    if isinstance(value, BaseMessage):
        return [Message(_ROLES.get(value.type, getattr(value, "role", value.type)), str(value.text))]
    if isinstance(value, PromptValue):
        value = value.to_messages()
    if not isinstance(value, list | tuple) or not value:
        return None
    found = [_message(item) for item in value]
    return [m for m in found if m is not None] if None not in found else None


def _message(item: object) -> Message | None:
    if isinstance(item, BaseMessage):
        found = messages_of(item)
        return found[0] if found else None
    if isinstance(item, Mapping) and isinstance(role := item.get("role", item.get("type")), str):
        return Message(_ROLES.get(role, role), content_text(item.get("content")))
    match item:
        case (str(role), str(text)) if isinstance(item, tuple):
            return Message(_ROLES.get(role, role), text)
    return None


def content_text(content: object) -> str:
    """The text of a message's content: a text, or the text blocks of a list; ``""`` for all else."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    parts = [p if isinstance(p, str) else p.get("text") for p in content if isinstance(p, str | Mapping)]
    return "".join(part for part in parts if isinstance(part, str))


def fields_of(value: object) -> Mapping[str, Any] | None:
    """The fields of a dict, dataclass or pydantic model; ``None`` for all else (documents, messages)."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, Document | BaseMessage | PromptValue | type):
        return None
    if isinstance(value, BaseModel):
        return {name: getattr(value, name, None) for name in type(value).model_fields}
    if is_dataclass(value):
        return {f.name: getattr(value, f.name, None) for f in fields(value)}
    return None


def _only_text(named: Mapping[str, Any]) -> str | None:
    """The one text of a dict that holds a single text under a name of the app's own."""
    texts = [item for item in named.values() if isinstance(item, str) and item]
    return texts[0] if len(texts) == 1 else None


def _last_turn(messages: list[Message]) -> list[Message]:
    """The messages behind the last one of the user: an answer of an earlier turn is no answer to this one."""
    last = max((i for i, m in enumerate(messages) if m.role == "user"), default=-1)
    return messages[last + 1 :]


def _earlier(value: object) -> Iterator[Message]:
    named = fields_of(value) or {"messages": value}
    for key in HISTORY_KEYS:
        messages = messages_of(named.get(key))
        if messages is None:
            continue
        last = max((i for i, m in enumerate(messages) if m.role == "user"), default=0)
        yield from messages[:last] if key == "messages" else messages
        return


def _turns(messages: list[Message]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for message in messages:
        if message.role == "user":
            turns.append(Turn(message.text, None))
        elif message.role == "assistant" and message.text and turns:
            turns[-1] = Turn(turns[-1].question, message.text)
    return tuple(turns)
