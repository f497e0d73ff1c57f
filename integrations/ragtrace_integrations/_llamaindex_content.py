"""Question, answer, prompt and reply in the values that LlamaIndex passes around."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, MessageRole
from llama_index.core.schema import QueryBundle

from ragtrace.model import Turn

_QUESTION_NAMES = (
    "str_or_query_bundle", "query_bundle", "query", "query_str", "message", "user_msg", "question", "input",
)  # fmt: skip
_ROLES = {MessageRole.CHATBOT: "assistant", MessageRole.MODEL: "assistant", MessageRole.DEVELOPER: "system"}
_MAX_NESTING = 4


def arguments_of(bound: inspect.BoundArguments) -> dict[str, Any]:
    """The arguments of a call by name, with those that went through ``**kwargs`` or a workflow's start event.

    A lone positional argument that has lost its name is the prompt of a completion model.
    """
    arguments = dict(bound.arguments)
    more, rest, event = (arguments.pop(name, None) for name in ("kwargs", "args", "start_event"))
    if isinstance(more, Mapping):
        arguments = {**more, **arguments}
    if isinstance(rest, tuple) and rest:
        arguments.setdefault("prompt", rest[0])
    if event is not None:
        arguments |= {name: getattr(event, name, None) for name in (*_QUESTION_NAMES, "chat_history")}
    return arguments


def question_of(arguments: Mapping[str, Any]) -> str | None:
    """The question among the arguments of a call."""
    for name in _QUESTION_NAMES:
        if (found := _asked(arguments.get(name))) is not None:
            return found
    turns = history_of(arguments.get("chat_history"))
    return turns[-1].question if turns and turns[-1].answer is None else None


def history_of(messages: object) -> tuple[Turn, ...]:
    """A list of chat messages as turns."""
    turns: list[Turn] = []
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, ChatMessage) or not message.content:
            continue
        if message.role == MessageRole.USER:
            turns.append(Turn(message.content, None))
        elif turns and role_of(message) == "assistant":
            turns[-1] = Turn(turns[-1].question, message.content)
    return tuple(turns)


def answer_of(value: object, depth: int = 0) -> str | None:
    """The answer in the result of a query, chat or agent run: its text, or that of the response inside."""
    if isinstance(value, str):
        return value or None
    if value is None or depth == _MAX_NESTING:
        return None
    if isinstance(value, ChatMessage):
        return value.content or None
    for name in ("response", "message", "result"):
        if (found := answer_of(getattr(value, name, None), depth + 1)) is not None:
            return found
    return None


def prompt_of(given: object) -> Sequence[tuple[str, str]]:
    """What a model was given: one (role, text) a message."""
    if isinstance(given, str):
        return (("user", given),)
    messages = given if isinstance(given, list | tuple) else ()
    return tuple((role_of(m), m.content or "") for m in messages if isinstance(m, ChatMessage))


def reply_text(reply: object) -> str | None:
    """The text of a model's reply. The last event of a stream may lack its last piece, which is added."""
    if isinstance(reply, ChatResponse):
        return reply.message.content or None
    if not isinstance(reply, CompletionResponse):
        return None
    delta = reply.delta or ""
    return (reply.text if reply.text.endswith(delta) else reply.text + delta) or None


def usage_of(reply: object) -> tuple[int | None, int | None]:
    """Input and output tokens, where the provider's raw reply counts them."""
    raw = getattr(reply, "raw", None)
    usage = raw.get("usage") if isinstance(raw, Mapping) else getattr(raw, "usage", None)
    counted = {**(getattr(reply, "additional_kwargs", None) or {}), **_fields(usage)}
    spent = (
        counted.get("prompt_tokens", counted.get("input_tokens")),
        counted.get("completion_tokens", counted.get("output_tokens")),
    )
    return tuple(n if isinstance(n, int) else None for n in spent)  # type: ignore[return-value]


def role_of(message: ChatMessage) -> str:
    """user, assistant, system or tool."""
    return _ROLES.get(message.role, message.role.value)


def _asked(value: object) -> str | None:
    if isinstance(value, QueryBundle):
        value = value.query_str
    if isinstance(value, ChatMessage):
        value = value.content
    return value if isinstance(value, str) and value else None


def _fields(usage: object) -> Mapping[str, Any]:
    if isinstance(usage, Mapping):
        return usage
    fields = getattr(usage, "__dict__", None)
    return fields if isinstance(fields, dict) else {}
