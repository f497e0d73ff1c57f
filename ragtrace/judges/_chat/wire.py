"""The border to HTTP: one request in, a completion or one of three errors out.

Not through the openai client: it spends five times the CPU on a request, more than all else that we do.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from ragtrace.endpoint.fetching import Fetched, post
from ragtrace.endpoint.retrying import asked_pause, is_transient
from ragtrace.errors import JudgeError
from ragtrace.judges._chat.completion import Completion, error_within, read_completion
from ragtrace.judges._chat.options import ChatOptions
from ragtrace.judges._chat.rendering import Prompt, messages
from ragtrace.judges._chat.streamed import read_stream
from ragtrace.judges._chat.traits import Format, Traits, is_content_filter, is_window_refusal, window_in

_PUSH_BACK = frozenset({429, 503, 529})
_REFUSALS = frozenset({400, 415, 422})
_TOO_LARGE = 413
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
        JudgeError: no later or other request will fare better (key refused, quota, content filter, an answer
            of another host or without end).
    """
    body = json.dumps(parameters(prompt, traits, options, cap)).encode()
    try:
        said = await post(line.session, line.url, body, line.proxy)
    except TimeoutError as error:
        raise Transient("timeout") from error
    except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError) as error:
        raise Transient("unreachable") from error
    except aiohttp.ClientError as error:
        raise Transient("malformed_response") from error
    return understood(said, time.time())


def understood(said: Fetched, now: float) -> Completion:
    """The completion that an answer holds. ``now`` is in seconds since the epoch.

    Raises:
        Transient, Refused, WindowExceeded, JudgeError: it holds none, whatever its status says.
    """
    reply = _json(said.body)
    if said.status >= 400:
        raise translated(said.status, _told(reply, said.body), asked_pause(said.headers, now))
    if not isinstance(reply, dict):
        reply = read_stream(said.body)
    if reply is None:
        raise Transient("malformed_response")
    if (error := error_within(reply)) is not None:
        message = _told({"error": error.told}, b"")
        if is_content_filter(message):
            raise JudgeError("content_filter")
        raise translated(error.status, message, asked_pause(said.headers, now))
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


def translated(status: int, message: str, retry_after: float | None) -> Exception:
    """The error that an HTTP status stands for."""
    names_window = (status in _REFUSALS or status >= 500) and is_window_refusal(message)
    if names_window or status == _TOO_LARGE:
        # With 413 a number is as likely one of bytes.
        return WindowExceeded(window_in(message) if names_window else None)
    if status in _REFUSALS:
        return JudgeError("content_filter") if is_content_filter(message) else Refused(message)
    if status == 429 and "insufficient_quota" in message:
        return JudgeError("quota")
    if status in _PUSH_BACK:
        reason = "rate_limited" if status == 429 else "overloaded"
        return Transient(reason, pushed_back=True, retry_after=retry_after)
    if is_transient(status):
        return Transient("server_error", retry_after=retry_after)
    return JudgeError(_DENIED.get(status, "bad_request"))


def _told(body: Any, said: bytes) -> str:
    """All that the endpoint said of an error, as one string to search: message, code, parameter."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, Mapping):
        return " ".join(str(error[name]) for name in _TOLD if error.get(name))
    return error if isinstance(error, str) else said[:_LONGEST_TOLD].decode("utf-8", "replace")


def _json(said: bytes) -> Any:
    try:
        return json.loads(said)
    except (ValueError, RecursionError):
        return None
