"""What an endpoint can do, learned from its refusals and remembered.

Providers differ: some refuse ``temperature`` or ``seed``, some know no JSON Schema, some call the output cap
by another name. A first request asks for all; each refusal teaches one step down; what was learned holds as
soon as a request went through.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

OPTIONAL = ("temperature", "seed", "top_logprobs", "logprobs")
"""Parameters that a judge can do without, in the order in which they are looked for in a refusal."""
CAPS = ("max_completion_tokens", "max_tokens")


class Format(StrEnum):
    """How the reply's form is asked for, from the strictest down."""

    BOUNDED = "bounded"
    """A JSON Schema with array lengths."""
    SCHEMA = "schema"
    """A JSON Schema without them: some providers refuse ``minItems``."""
    OBJECT = "object"
    """Any JSON object; the schema is in the rubric."""
    PLAIN = "plain"
    """Nothing but the schema in the rubric."""


_LADDER = tuple(Format)
_FORMAT_WORDS = re.compile(
    r"response_format|json_schema|json schema|json_object|json mode|schema|minitems|maxitems|grammar|guided"
    r"|structured output|格式",
    re.IGNORECASE,
)
_OBJECT_KNOWN = re.compile(r"json_schema", re.IGNORECASE)
_WINDOW_WORDS = re.compile(
    r"context[ _](?:length|window|size)|maximum context|context_length_exceeded|prompt is too long"
    r"|(?:prompt|input|request|messages?).{0,40}(?:too (?:long|large)|exceed)|too many (?:input )?tokens"
    r"|n_ctx|exceed.{0,40}(?:context|token)|(?:上下文|输入|提示).{0,20}(?:超|过长|长度)",
    re.IGNORECASE | re.DOTALL,
)
_WINDOW_NUMBER = re.compile(
    r"(?:context[ _](?:length|window|size)|n_ctx|maximum(?: of)?"
    r"|max(?:imum)? (?:input|prompt)? ?(?:length|tokens)|limit|at most|up to|最大|最多|上限)"
    r"[^\d]{0,24}(\d{3,8})",
    re.IGNORECASE,
)
_FILTER_WORDS = re.compile(
    r"content[_ ]?filter|content management policy|data_inspection_failed|safety|内容安全|敏感", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Traits:
    """What is known of an endpoint. ``proven`` once it has answered with these."""

    format: Format = Format.BOUNDED
    dropped: frozenset[str] = frozenset()
    cap: str | None = "max_tokens"
    proven: bool = False


def learn(traits: Traits, message: str) -> Traits | None:
    """What a refusal (HTTP 400 or 422) with ``message`` teaches; ``None`` when there is nothing left to try.

    A refusal that names what it minds teaches always. One that does not is taken for a missing feature only
    while the endpoint has never answered.
    """
    lowered = message.lower()
    for name in OPTIONAL:
        if name not in traits.dropped and re.search(rf"(?<![a-z_]){name}(?![a-z_])", lowered):
            return replace(traits, dropped=traits.dropped | {name})
    if traits.cap and traits.cap in lowered:
        return replace(traits, cap=_other_cap(traits.cap, lowered))
    lower = _step_down(traits.format, lowered)
    if lower is not None and (_FORMAT_WORDS.search(lowered) or not traits.proven):
        return replace(traits, format=lower)
    if not traits.proven and not set(OPTIONAL) <= traits.dropped:
        return replace(traits, format=Format.PLAIN, dropped=frozenset(OPTIONAL), cap=None)
    return None


def is_window_refusal(message: str) -> bool:
    """Whether a refusal says that the request is larger than the model's window."""
    return bool(_WINDOW_WORDS.search(message))


def window_in(message: str) -> int | None:
    """The window size that a refusal names, in tokens."""
    numbers = [int(number) for number in _WINDOW_NUMBER.findall(message.replace(",", ""))]
    plausible = [number for number in numbers if number >= 512]
    return min(plausible) if plausible else None


def is_content_filter(message: str) -> bool:
    """Whether a refusal came from the provider's content filter."""
    return bool(_FILTER_WORDS.search(message))


def _other_cap(cap: str, message: str) -> str | None:
    """The other name of the output cap if the refusal names it, else none at all."""
    return next((other for other in CAPS if other != cap and other in message.replace(cap, "")), None)


def _step_down(format_: Format, message: str) -> Format | None:
    position = _LADDER.index(format_) + 1
    if format_ is Format.BOUNDED and _OBJECT_KNOWN.search(message) and "items" not in message:
        position = _LADDER.index(Format.OBJECT)
    return _LADDER[position] if position < len(_LADDER) else None
