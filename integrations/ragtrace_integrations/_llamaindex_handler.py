"""LlamaIndex's dispatcher: spans and events → starts and ends of runs."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import AsyncGenerator, Generator
from typing import Any

from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse
from llama_index.core.chat_engine.types import StreamingAgentChatResponse
from llama_index.core.instrumentation.events.exception import ExceptionEvent
from llama_index.core.instrumentation.events.llm import (
    LLMChatEndEvent,
    LLMChatInProgressEvent,
    LLMCompletionEndEvent,
    LLMCompletionInProgressEvent,
)
from llama_index_instrumentation.base import BaseEvent
from llama_index_instrumentation.event_handlers import BaseEventHandler
from llama_index_instrumentation.span import BaseSpan
from llama_index_instrumentation.span_handlers import BaseSpanHandler
from pydantic import PrivateAttr

from ragtrace_integrations._faults import tell
from ragtrace_integrations._llamaindex_spans import start_of
from ragtrace_integrations._llamaindex_streams import QueryFollower
from ragtrace_integrations._nouns import Role, Run, Start
from ragtrace_integrations._recording import Recorder
from ragtrace_integrations._streams import FollowedAsyncStream, FollowedStream

_STREAMS = (StreamingResponse, AsyncStreamingResponse, StreamingAgentChatResponse)


_TOLD = "told"
"""Parameter of a model call that is the inner half of a recorded one."""


class SpanHandler(BaseSpanHandler[BaseSpan]):
    """Begins a run with each span of the dispatcher, and ends it with the span or with its stream.

    It hands no span back to the dispatcher, which would keep all of them for ever.
    """

    _recorder: Recorder = PrivateAttr()

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def new_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any = None,
        parent_span_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A call begins."""
        try:
            start = start_of(id_, bound_args, instance, tags or {})
            if start.role is Role.MODEL and self._is_told(start, parent_span_id):
                start = Start(Role.FORMAT, start.name, parameters={_TOLD: True})
            self._recorder.start(id_, parent_span_id, start)
        except Exception as error:  # noqa: BLE001  # our own bug is not the app's
            tell("a LlamaIndex span", error)

    def prepare_to_exit_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any = None,
        result: Any = None,
        **kwargs: Any,
    ) -> None:
        """A call returns; a stream that it returns is yet to be read."""
        run = self._recorder.get(id_)
        if run is None or (run.start.role is Role.MODEL and isinstance(result, Generator | AsyncGenerator)):
            return
        if run.start.role in (Role.ROOT, Role.NODE) and isinstance(result, _STREAMS) and not run.tree.silent:
            self._follow(run, result)
        elif run.start.role in (Role.FORMAT, Role.PLUMBING):
            self._recorder.leave(id_, taken=result)
            if isinstance(instance, StreamingAgentChatResponse) and run.parent is not None:
                self._end_chat(run.parent, instance)
        else:
            self._recorder.end(id_, taken=result)

    def prepare_to_drop_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any = None,
        err: BaseException | None = None,
        **kwargs: Any,
    ) -> None:
        """A call raises."""
        run = self._recorder.get(id_)
        self._recorder.end(id_, error=err)
        if isinstance(instance, StreamingAgentChatResponse) and run is not None and run.parent is not None:
            self._recorder.end(run.parent.id, error=err)

    def _follow(self, run: Run, result: Any) -> None:
        """The call has returned a stream: the run ends with that."""
        if isinstance(result, StreamingAgentChatResponse):
            run.awaits_stream = True  # before ``is_done`` is looked at: its thread may end just now
            weakref.finalize(result, self._recorder.end, run.id, error=GeneratorExit()).atexit = False
            self._end_chat(run, result)
            return

        def ended(text: str, error: BaseException | None) -> None:
            self._recorder.end(run.id, taken=text, error=error)

        follower = QueryFollower(str(run.id), ended)
        if isinstance(result, AsyncStreamingResponse):
            result.response_gen = FollowedAsyncStream(result.response_gen, follower)
        else:
            result.response_gen = FollowedStream(result.response_gen, follower)

    def _end_chat(self, run: Run, result: StreamingAgentChatResponse) -> None:
        """End a chat whose call has returned and whose stream is written, whichever came last."""
        if run.awaits_stream and result.is_done:
            self._recorder.end(run.id, taken=result.response)

    def _is_told(self, start: Start, parent_id: str | None) -> bool:
        """Whether a model call is the inner half of one that is recorded already.

        Models are built in layers: ``complete`` calls ``chat``, an async stream reads a sync one.
        """
        above = self._recorder.get(parent_id)
        while above is not None:
            if above.start.role is Role.MODEL or _TOLD in above.start.parameters:
                return True
            above = above.parent
        return any(
            run.start.role is Role.MODEL
            and run.start.parameters["instance"] is start.parameters["instance"]
            and run.start.given == start.given
            for run in self._recorder.below(parent_id)
        )


class EventHandler(BaseEventHandler):
    """Hears what models say, and when their streams end: the dispatcher's span of a stream ends before it."""

    _recorder: Recorder = PrivateAttr()

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    @classmethod
    def class_name(cls) -> str:
        """The name by which LlamaIndex knows the handler."""
        return "RagtraceEventHandler"

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        """One event, of the span ``event.span_id``."""
        if isinstance(event, LLMChatInProgressEvent | LLMCompletionInProgressEvent):
            self._recorder.token(event.span_id, event.response.delta or "")
        elif isinstance(event, LLMChatEndEvent | LLMCompletionEndEvent):
            self._end(event.span_id, taken=event.response)
        elif isinstance(event, ExceptionEvent):
            self._end(event.span_id, error=event.exception)

    def _end(self, span_id: str | None, *, taken: object = None, error: BaseException | None = None) -> None:
        run = self._recorder.get(span_id)
        if run is not None and run.start.role is Role.MODEL:
            self._recorder.end(span_id, taken=taken, error=error)
