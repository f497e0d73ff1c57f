"""The OpenAI client, and every server that it can talk to: one line for the whole process.

::

    from ragtrace_integrations.openai import instrument

    instrument()

Each call of chat completions, responses or completions becomes a generation: a part of the interaction that
it runs in, or alone. Sync and async, parsed, streamed, raw. What a framework's integration of ours records
already (a LangChain model calls this client) is not recorded again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from openai import AsyncStream, Stream
from openai._legacy_response import LegacyAPIResponse
from openai.resources.chat.completions import AsyncCompletions as AsyncChat
from openai.resources.chat.completions import Completions as Chat
from openai.resources.completions import AsyncCompletions, Completions
from openai.resources.responses import AsyncResponses, Responses
from opentelemetry.trace import Tracer, TracerProvider, get_tracer

from ragtrace import _steps as steps
from ragtrace import semconv as names
from ragtrace._steps import Step
from ragtrace.spans import Content
from ragtrace_integrations._covering import is_covered
from ragtrace_integrations._faults import tell
from ragtrace_integrations._openai_content import Reply, model_of, prompt_of
from ragtrace_integrations._peers import recording_peer
from ragtrace_integrations._streams import FollowedAsyncStream, FollowedStream, Follower

__all__ = ["instrument", "uninstrument"]

_SYNC = (
    (Chat, "create"),
    (Chat, "parse"),
    (Responses, "create"),
    (Responses, "parse"),
    (Completions, "create"),
)
_ASYNC = (
    *((AsyncChat, "create"), (AsyncChat, "parse"), (AsyncResponses, "create"), (AsyncResponses, "parse")),
    (AsyncCompletions, "create"),
)
"""``parse`` does not go through ``create``; ``stream`` does."""


@dataclass(slots=True)
class _Switch:
    """What is in force; ``originals`` are the methods as they were, empty while switched off."""

    originals: list[tuple[type, str, Callable[..., Any]]]
    tracer: Tracer | None = None
    always: bool = False


_switch = _Switch([])


def instrument(*, tracer_provider: TracerProvider | None = None, always: bool = False) -> None:
    """Record every call of the OpenAI client in the process until :func:`uninstrument`.

    Spans go to ``tracer_provider``; where it is ``None``, wherever the hooks' spans go. ``always`` records
    also what another instrumentation of the client (OpenInference, OpenLLMetry) records already. A second
    call starts afresh with the new arguments.
    """
    uninstrument()
    _switch.always = always
    _switch.tracer = None
    if tracer_provider is not None:
        _switch.tracer = get_tracer(names.SCOPE, tracer_provider=tracer_provider)
    for wrap, methods in ((_call, _SYNC), (_async_call, _ASYNC)):
        for kind, method in methods:
            original = getattr(kind, method)
            _switch.originals.append((kind, method, original))
            setattr(kind, method, wrap(original))


def uninstrument() -> None:
    """Undo :func:`instrument`. Streams that are being read are recorded to their end."""
    while _switch.originals:
        kind, method, original = _switch.originals.pop()
        setattr(kind, method, original)


def _call(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        step = _begin(kwargs)
        if step is None:
            return original(self, *args, **kwargs)
        token = steps.enter(step)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            step.end(error)
            raise
        finally:
            steps.leave(token)
        return _returned(step, result)

    return call


def _async_call(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        step = _begin(kwargs)
        if step is None:
            return await original(self, *args, **kwargs)
        token = steps.enter(step)
        try:
            result = await original(self, *args, **kwargs)
        except BaseException as error:
            step.end(error)
            raise
        finally:
            steps.leave(token)
        return _returned(step, result)

    return call


def _begin(arguments: dict[str, Any]) -> Step | None:
    """Open the step of a call; ``None`` where nothing, or someone else, records it."""
    try:
        here = steps.here()
        if steps.is_off(here) or is_covered() or (not _switch.always and recording_peer("openai")):
            return None
        model = model_of(arguments)
        name = f"chat {model}" if model else "chat"
        tracer = _switch.tracer
        span = steps.start_span(name, here) if tracer is None else tracer.start_span(name, here)
        step = Step(span, names.KIND_GENERATION, steps.interaction_in(here), here)
        step.content = Content(kind=names.KIND_GENERATION, prompt=prompt_of(arguments), model=model)
    except Exception as error:  # noqa: BLE001  # our own bug is not the app's
        tell("an OpenAI call", error)
        return None
    return step


def _returned(step: Step, result: Any) -> Any:
    """Record ``result`` now, or when it has been read → the same object."""
    steps.guarded(_follow, step, result)
    return result


def _follow(step: Step, result: Any) -> None:
    reply = Reply()
    step.gather = lambda step: _fill(step, reply)

    def gather(piece: Any) -> None:
        steps.guarded(reply.read, piece)

    # A raw response parses once and keeps the result, a stream too: the app's own ``parse`` gives the same.
    # A streaming response must not be parsed: that would read what the app asked to read piece by piece.
    response = result.parse() if isinstance(result, LegacyAPIResponse) else result
    follower = Follower(gather, step.end)
    if isinstance(response, Stream):
        response._iterator = FollowedStream(response._iterator, follower)
    elif isinstance(response, AsyncStream):
        response._iterator = FollowedAsyncStream(response._iterator, follower)
    else:
        gather(response)
        step.end()


def _fill(step: Step, reply: Reply) -> None:
    content = step.content
    content.answer = reply.answer
    content.input_tokens, content.output_tokens = reply.input_tokens, reply.output_tokens
    content.model = content.model or reply.model
    if reply.model is not None:
        content.extra = {names.GEN_AI_RESPONSE_MODEL: reply.model}
