"""A chat completion in our words, read from its JSON: total, whatever a provider left out or put in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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


def read_completion(body: Mapping[str, Any]) -> Completion:
    """The first choice of a response body, as far as it can be read."""
    usage = _mapping(body.get("usage"))
    choices = body.get("choices")
    choice = _mapping(choices[0] if isinstance(choices, list) and choices else None)
    message = _mapping(choice.get("message"))
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    return Completion(
        text,
        None if text else _blocked(choice, message),
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        _tokens(_mapping(choice.get("logprobs")).get("content")),
    )


def _blocked(choice: Mapping[str, Any], message: Mapping[str, Any]) -> str | None:
    if choice.get("finish_reason") == "content_filter":
        return "content_filter"
    return "refused" if message.get("refusal") else None


def _tokens(listed: Any) -> tuple[TokenProbability, ...]:
    """The tokens of the reply; none at all where one of them cannot be read: their places would be wrong."""
    try:
        return tuple(
            TokenProbability(
                str(token["token"]),
                float(token["logprob"]),
                tuple((str(o["token"]), float(o["logprob"])) for o in token.get("top_logprobs") or ()),
            )
            for token in listed or ()
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
