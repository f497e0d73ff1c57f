"""What a LangChain model was given and what it said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from ragtrace_integrations._langchain_content import messages_of

Prompt = Sequence[tuple[str, str]]
"""One (role, text) a message."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply; ``None`` where it does not say. A reply that only calls tools has no text."""

    text: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def prompt_of(given: object) -> Prompt:
    """The prompt of a model run's input, a list of prompts each of which is a text or a list of messages.

    A run has one prompt; of a batch the first is read.
    """
    first = given[0] if isinstance(given, list | tuple) and given else None
    if isinstance(first, str):
        return (("user", first),)
    return tuple((message.role, message.text) for message in messages_of(first) or ())


def model_of(metadata: Mapping[str, Any], parameters: Mapping[str, Any]) -> str | None:
    """The model's name, from the run's metadata or the parameters of the call."""
    named = (
        metadata.get("ls_model_name"),
        *(parameters.get(key) for key in ("model", "model_name", "model_id", "deployment_name")),
    )
    return next((name for name in named if isinstance(name, str) and name), None)


def reply_of(result: object) -> Reply:
    """The reply in an ``LLMResult`` (whole, or what had come when it broke off)."""
    if not isinstance(result, LLMResult):
        return Reply()
    generation = next((g for batch in result.generations for g in batch), None)
    message = generation.message if isinstance(generation, ChatGeneration) else None
    text = _text(message) if message is not None else getattr(generation, "text", None)
    spent = _usage(message, result.llm_output or {})
    return Reply(text or None, _said_model(message, result.llm_output or {}), *spent)


def _text(message: BaseMessage) -> str:
    return str(message.text)


def _usage(message: BaseMessage | None, output: Mapping[str, Any]) -> tuple[int | None, int | None]:
    usage: Mapping[str, Any] = (message.usage_metadata if isinstance(message, AIMessage) else None) or {}
    usage = usage or output.get("token_usage") or output.get("usage") or {}
    if not isinstance(usage, Mapping):
        return None, None
    spent_in = usage.get("input_tokens", usage.get("prompt_tokens"))
    spent_out = usage.get("output_tokens", usage.get("completion_tokens"))
    return _count(spent_in), _count(spent_out)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _said_model(message: BaseMessage | None, output: Mapping[str, Any]) -> str | None:
    said = getattr(message, "response_metadata", None) or {}
    named = (said.get("model_name"), said.get("model"), output.get("model_name"))
    return next((name for name in named if isinstance(name, str) and name), None)
