"""The border to HTTP: one request in, a completion or one of three errors out.

Not through the openai client: it spends five times the CPU on a request, more than all else that we do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from ragtrace.endpoint.retrying import parse_retry_after
from ragtrace.errors import JudgeError
from ragtrace.judges._chat.completion import Completion, read_completion
from ragtrace.judges._chat.options import ChatOptions
from ragtrace.judges._chat.rendering import Prompt, messages
from ragtrace.judges._chat.traits import Format, Traits, is_content_filter, is_window_refusal, window_in

_PUSH_BACK = frozenset({429, 503, 529})
_TRANSIENT = frozenset({408, 409, 425})
_REFUSALS = frozenset({400, 413, 415, 422})
_DENIED = {401: "unauthorized", 403: "forbidden", 404: "not_found"}
_TOP_LOGPROBS = 5
_TOLD = ("message", "msg", "detail", "code", "param", "type")
_LONGEST_TOLD = 4_000


class Transient(Exception):
    """The request may succeed later. ``pushed_back``: the endpoint asked for less load."""

    def __init__(self, reason: str, pushed_back: bool = False, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.pushed_back, self.retry_after = reason, pushed_back, retry_after


class Refused(Exception):
    """The endpoint does not take the request as it is; it may without some parameter."""


class WindowExceeded(JudgeError):
    """The request is larger than the model's window; ``limit`` is the window where the endpoint named it."""

    def __init__(self, limit: int | None) -> None:
        super().__init__("window_exceeded")
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Line:
    """Connections to the ``url`` of chat completions; those of one event loop, they die with it."""

    session: aiohttp.ClientSession
    url: str
    proxy: str | None = None


async def send(
    line: Line,
    prompt: Prompt,
    traits: Traits,
    options: ChatOptions,
    cap: int | None,
) -> Completion:
    """Send one request.

    Raises:
        Transient, Refused, WindowExceeded: see there.
        JudgeError: no later or other request will fare better (key refused, quota, content filter).
    """
    body = json.dumps(parameters(prompt, traits, options, cap)).encode()
    try:
        async with line.session.post(line.url, data=body, proxy=line.proxy) as response:
            said = await response.read()
            status, retry_after = response.status, response.headers.get("retry-after")
    except TimeoutError as error:
        raise Transient("timeout") from error
    except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError) as error:
        raise Transient("unreachable") from error
    except aiohttp.ClientError as error:
        raise Transient("malformed_response") from error
    if status >= 400:
        raise translated(status, _told(said), retry_after)
    reply = _json(said)
    if not isinstance(reply, dict):
        raise Transient("malformed_response")
    return read_completion(reply)


def parameters(prompt: Prompt, traits: Traits, options: ChatOptions, cap: int | None) -> dict[str, Any]:
    """The body of a request: nothing that the endpoint is known to refuse, never ``n``."""
    schema_text = None
    sent: dict[str, Any] = {"model": options.model}
    if traits.format in (Format.BOUNDED, Format.SCHEMA):
        schema = prompt.schema(traits.format is Format.BOUNDED)
        sent["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": prompt.name, "strict": True, "schema": schema},
        }
    else:
        schema_text = json.dumps(prompt.schema(False), separators=(",", ":"))
        if traits.format is Format.OBJECT:
            sent["response_format"] = {"type": "json_object"}
    wished = {"temperature": options.temperature, "seed": options.seed}
    if options.logprobs:
        wished |= {"logprobs": True, "top_logprobs": _TOP_LOGPROBS}
    sent |= {key: value for key, value in wished.items() if value is not None and key not in traits.dropped}
    if cap is not None and traits.cap is not None:
        sent[traits.cap] = cap
    return sent | {"messages": messages(prompt, schema_text)}


def translated(status: int, message: str, retry_after: str | None) -> Exception:
    """The error that an HTTP status stands for."""
    if (status in _REFUSALS or status >= 500) and is_window_refusal(message):
        return WindowExceeded(window_in(message))
    if status in _REFUSALS:
        return JudgeError("content_filter") if is_content_filter(message) else Refused(message)
    if status == 429 and "insufficient_quota" in message:
        return JudgeError("quota")
    if status in _PUSH_BACK:
        reason = "rate_limited" if status == 429 else "overloaded"
        return Transient(reason, pushed_back=True, retry_after=parse_retry_after(retry_after))
    if status >= 500 or status in _TRANSIENT:
        return Transient("server_error", retry_after=parse_retry_after(retry_after))
    return JudgeError(_DENIED.get(status, "bad_request"))


def _told(said: bytes) -> str:
    """All that the endpoint said of an error, as one string to search: message, code, parameter."""
    body = _json(said)
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, Mapping):
        return " ".join(str(error[name]) for name in _TOLD if error.get(name))
    return error if isinstance(error, str) else said[:_LONGEST_TOLD].decode("utf-8", "replace")


def _json(said: bytes) -> Any:
    try:
        return json.loads(said)
    except (ValueError, RecursionError):
        return None
