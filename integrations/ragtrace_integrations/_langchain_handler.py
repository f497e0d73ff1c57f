"""The callback handler: LangChain's events → starts and ends of runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables.config import var_child_runnable_config
from opentelemetry.context import Context
from opentelemetry.trace import TracerProvider

from ragtrace import _steps as steps
from ragtrace_integrations._faults import tell
from ragtrace_integrations._langchain_content import content_text
from ragtrace_integrations._langchain_spans import LangChainTranslator
from ragtrace_integrations._nouns import Role, Start
from ragtrace_integrations._recording import Recorder

P = ParamSpec("P")


def _quiet(callback: Callable[P, None]) -> Callable[P, None]:
    """Our own bug is not the app's, and LangChain would log it with the app's content."""

    @functools.wraps(callback)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            callback(*args, **kwargs)
        except Exception as error:  # noqa: BLE001
            tell(f"LangChain's {callback.__name__}", error)

    return guarded


class RagtraceCallbackHandler(BaseCallbackHandler):
    """Records what it is called back with. One object serves all requests, threads and event loops at once.

    Args:
        tracer_provider: where spans go; the global provider where it is ``None``.
        always: record also what another instrumentation of LangChain (OpenInference, OpenLLMetry) records
            already. Without it those spans are left to speak for themselves.
    """

    run_inline = True
    """Called in the caller's own thread and order: an event in a pool may come after the end of its root."""

    def __init__(self, *, tracer_provider: TracerProvider | None = None, always: bool = False) -> None:
        self._recorder = _recorder(tracer_provider, always)
        self._on = True

    @property
    def open_runs(self) -> int:
        """Runs that have started and not ended."""
        return len(self._recorder)

    def inside(self, run_id: UUID | None, context: Context) -> Context:
        """The context of code that a run calls, where that is deeper than ``context``."""
        return self._recorder.inside(run_id, context)

    def close(self) -> None:
        """End what is open as cut short, and record nothing from here on."""
        self._on = False
        self._recorder.close()

    def reopen(self, tracer_provider: TracerProvider | None, *, always: bool) -> None:
        """Start afresh with other arguments."""
        self._recorder.close()
        self._recorder, self._on = _recorder(tracer_provider, always), True

    @_quiet
    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A chain, lambda, prompt, parser, graph or graph node starts."""
        role = _chain_role(kwargs.get("name"), kwargs.get("run_type"), tags or (), metadata or {})
        start = Start(role, _name(serialized, kwargs, "chain"), inputs, _metadata(metadata))
        self._recorder.start(run_id, parent_run_id, start)

    @_quiet
    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A retriever starts."""
        start = Start(Role.RETRIEVER, _name(serialized, kwargs, "retriever"), query, _metadata(metadata))
        self._recorder.start(run_id, parent_run_id, start)

    @_quiet
    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A tool starts. ``input_str`` is the repr of its arguments where ``inputs`` holds them."""
        start = Start(Role.TOOL, _name(serialized, kwargs, "tool"), inputs or input_str, _metadata(metadata))
        self._recorder.start(run_id, parent_run_id, start)

    @_quiet
    def on_chat_model_start(
        self,
        serialized: dict[str, Any] | None,
        messages: list[list[Any]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A chat model starts."""
        self._recorder.start(run_id, parent_run_id, _model(serialized, messages, metadata, kwargs))

    @_quiet
    def on_llm_start(
        self,
        serialized: dict[str, Any] | None,
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A completion model starts."""
        self._recorder.start(run_id, parent_run_id, _model(serialized, prompts, metadata, kwargs))

    @_quiet
    def on_llm_new_token(self, token: str | list[Any], *, run_id: UUID, **kwargs: Any) -> None:
        """A model says something."""
        self._recorder.token(run_id, content_text(token))

    @_quiet
    def on_stream_event(self, event: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A model says something, as an event of the block protocol."""
        delta = event.get("delta") if event.get("event") == "content-block-delta" else None
        if isinstance(delta, Mapping) and delta.get("type") == "text-delta":
            self._recorder.token(run_id, content_text(delta.get("text")))

    @_quiet
    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A model ends."""
        self._recorder.end(run_id, taken=response)

    @_quiet
    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A model fails; ``response`` is what had come."""
        self._recorder.end(run_id, taken=kwargs.get("response"), error=error)

    @_quiet
    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A chain ends; after a stream ``inputs`` holds what it was really given."""
        self._recorder.end(run_id, given=kwargs.get("inputs"), taken=outputs)

    @_quiet
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A chain fails, or its stream is abandoned."""
        self._recorder.end(run_id, given=kwargs.get("inputs"), error=_failure(error))

    @_quiet
    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **kwargs: Any) -> None:
        """A retriever ends."""
        self._recorder.end(run_id, taken=documents)

    @_quiet
    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A retriever fails."""
        self._recorder.end(run_id, error=error)

    @_quiet
    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool ends."""
        self._recorder.end(run_id, taken=output)

    @_quiet
    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool fails."""
        self._recorder.end(run_id, error=_failure(error))

    @property
    def ignore_chain(self) -> bool:
        """Whether LangChain skips this handler for chains; after :meth:`close`, for all."""
        return not self._on

    ignore_llm = ignore_chat_model = ignore_retriever = ignore_agent = ignore_chain


def _recorder(tracer_provider: TracerProvider | None, always: bool) -> Recorder:
    return Recorder(LangChainTranslator(), tracer_provider, always=always)


def _inside(context: Context) -> Context:
    """The context of the run that calls here: LangChain keeps the config for its children in a variable."""
    manager = (var_child_runnable_config.get() or {}).get("callbacks")
    for handler in getattr(manager, "handlers", ()):
        if isinstance(handler, RagtraceCallbackHandler):
            context = handler.inside(getattr(manager, "parent_run_id", None), context)
    return context


steps.add_source(_inside)


def _chain_role(name: object, run_type: object, tags: Sequence[str], metadata: Mapping[str, Any]) -> Role:
    if run_type in ("prompt", "parser"):
        return Role.FORMAT
    is_node = name == metadata.get("langgraph_node") and any(tag.startswith("graph:step") for tag in tags)
    return Role.NODE if is_node else Role.PLUMBING


def _failure(error: BaseException) -> BaseException | None:
    """The error of a run; ``None`` where LangGraph raises to interrupt a graph or to hand over to another."""
    return None if any(kind.__name__ == "GraphBubbleUp" for kind in type(error).__mro__) else error


def _name(serialized: Mapping[str, Any] | None, told: Mapping[str, Any], otherwise: str) -> str:
    named = (told.get("name"), (serialized or {}).get("name"), *((serialized or {}).get("id") or ())[-1:])
    return next((name for name in named if isinstance(name, str) and name), otherwise)


def _metadata(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """A run's metadata, over what the config of the runs above makes configurable: the session, mostly."""
    configurable = (var_child_runnable_config.get() or {}).get("configurable")
    return {**configurable, **(metadata or {})} if configurable else metadata or {}


def _model(
    serialized: Mapping[str, Any] | None,
    given: object,
    metadata: Mapping[str, Any] | None,
    told: Mapping[str, Any],
) -> Start:
    name = _name(serialized, told, "model")
    return Start(Role.MODEL, name, given, _metadata(metadata), told.get("invocation_params") or {})
