"""A chat completion in our words, read from its JSON: total, whatever a provider left out or put in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragtrace.judges.replies import read_int, read_list, read_mappings

_MOST_TOKENS = 2**31
"""Counts above are nonsense, and over what attributes and databases take."""
_ROUNDING = 1e-3
"""By how much a logarithm of a probability may be above 0; neither NaN nor infinity is below."""


@dataclass(frozen=True, slots=True)
class TokenProbability:
    """A token of the reply with the most likely tokens in its place: (token, log probability)."""

    text: str
    logprob: float
    others: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply. ``blocked`` names why it holds no text, where the provider said; tokens as it counted them."""

    text: str
    blocked: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    tokens: tuple[TokenProbability, ...] = ()


@dataclass(frozen=True, slots=True)
class InnerError:
    """An error that came with HTTP 200: the status that it should have had, and what was said."""

    status: int
    told: Any


def error_within(body: Mapping[str, Any]) -> InnerError | None:
    """The error that a response body holds beside or instead of a choice, as gateways and streams do it."""
    whole = body if body.get("object") == "error" else None
    error = body.get("error") or _choice(body).get("error") or whole
    if not error:
        return None
    code = read_int(error.get("code")) if isinstance(error, dict) else None
    return InnerError(code if code is not None and 400 <= code < 600 else 500, error)


def read_completion(body: Mapping[str, Any]) -> Completion:
    """The first choice of a response body, as far as it can be read."""
    usage, choice = _mapping(body.get("usage")), _choice(body)
    message = _mapping(choice.get("message"))
    text = _text(message.get("content")) or _arguments(message)
    return Completion(
        text,
        None if text else _blocked(choice, message),
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        _tokens(_mapping(choice.get("logprobs")).get("content")),
    )


def _choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = body.get("choices")
    return _mapping(choices[0] if isinstance(choices, list) and choices else None)


def _text(content: Any) -> str:
    """The text of a message's content: a string, or a list of parts of which only texts count."""
    if isinstance(content, str):
        return content
    parts = (part if isinstance(part, str) else _mapping(part).get("text") for part in read_list(content))
    return "".join(part for part in parts if isinstance(part, str))


def _arguments(message: Mapping[str, Any]) -> str:
    """What a model wrote as arguments of a tool that nobody offered: some providers make JSON that way."""
    calls = [_mapping(call.get("function")) for call in read_mappings(message.get("tool_calls"))]
    given = [call.get("arguments") for call in (*calls, _mapping(message.get("function_call")))]
    return "\n".join(each if isinstance(each, str) else json.dumps(each) for each in given if each)


def _blocked(choice: Mapping[str, Any], message: Mapping[str, Any]) -> str | None:
    if choice.get("finish_reason") == "content_filter":
        return "content_filter"
    parts = read_mappings(message.get("content"))
    return "refused" if message.get("refusal") or any(part.get("refusal") for part in parts) else None


def _tokens(listed: Any) -> tuple[TokenProbability, ...]:
    """The tokens of the reply; none at all where one cannot be read, or has no probability: the places of the
    others would be wrong."""
    try:
        tokens = tuple(
            TokenProbability(
                str(token["token"]),
                float(token["logprob"]),
                tuple((str(o["token"]), float(o["logprob"])) for o in token.get("top_logprobs") or ()),
            )
            for token in listed or ()
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()
    logprobs = (value for token in tokens for value in (token.logprob, *(other[1] for other in token.others)))
    return tokens if all(value <= _ROUNDING for value in logprobs) else ()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    """A number of tokens, also in a string; ``None`` where it cannot be one."""
    count = read_int(value)
    return count if count is not None and 0 < count < _MOST_TOKENS else None
