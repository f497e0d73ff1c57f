"""What a hook records of a function's calls: the arguments when a call begins, the result when it is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ragtrace import _capture as capture
from ragtrace import _steps as steps
from ragtrace import semconv as names
from ragtrace._steps import Step
from ragtrace.config import settings
from ragtrace.documents import read_documents

MAX_ITEMS = 100_000
"""Items of a stream that are kept: an endless stream must not fill the memory."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a hook was told; see :class:`ragtrace.hooks.Hook`."""

    name: str | None = None
    question: str | Callable[..., Any] | None = None
    documents: Callable[[Any], Any] | None = None
    answer: Callable[[Any], Any] | None = None
    model: str | None = None


class Recorder:
    """What one hook records of one function's calls."""

    def __init__(self, kind: str, function: Callable[..., Any], options: Options) -> None:
        self._kind = kind
        self._options = options
        inner = getattr(function, "__func__", function) if isinstance(function, _BOUND_LATER) else function
        self._name = options.name or _name(inner)
        named = options.question if isinstance(options.question, str) else None
        self._arguments = capture.Arguments(inner, named)
        self._finds = kind in (names.KIND_RETRIEVAL, names.KIND_RERANK)
        self._keeps_items = self._finds or options.answer is not None or options.documents is not None

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Step | None:
        step = steps.begin(self._name, self._kind)
        if step is not None and step.span.is_recording() and settings().capture_content:
            steps.guarded(self._read_call, step, args, kwargs)
        return step

    def returned(self, step: Step, value: Any) -> None:
        if step.span.is_recording():
            steps.guarded(self._read_result, step, value)
        step.end()

    def yielded(self, step: Step, item: Any) -> None:
        if len(step.items) >= MAX_ITEMS:
            return
        if self._keeps_items or type(item) is str:
            step.items.append(item)
        elif step.span.is_recording():
            steps.guarded(self._read_chunk, step, item)

    def streamed(self, step: Step) -> None:
        if self._keeps_items:
            self._read_result(step, step.items)
        elif step.items:
            self._read_result(step, capture.join_chunks(step.items))

    def _read_call(self, step: Step, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        content, extract = step.content, self._options.question
        content.model = self._options.model
        if callable(extract):
            content.question = capture.read_question(extract(*args, **kwargs))
        else:
            content.question, content.history = self._arguments.question(args, kwargs)
        if self._kind == names.KIND_RERANK:
            content.input_documents = read_documents(self._arguments.documents(args, kwargs))
        elif self._kind == names.KIND_GENERATION:
            steps.fill_prompt_documents(step, self._arguments.documents(args, kwargs))
        elif self._kind == names.KIND_INTERACTION:
            content.history = self._arguments.history(args, kwargs) or content.history

    def _read_chunk(self, step: Step, item: Any) -> None:
        text = capture.read_chunk(item)
        if text:
            step.items.append(text)

    def _read_result(self, step: Step, value: Any) -> None:
        find, say = self._options.documents, self._options.answer
        documents = None if find is None else read_documents(find(value))
        if self._finds:
            steps.fill_documents(step, value, documents)
            return
        if documents is not None and step.content.documents is None:
            step.content.documents = documents
        steps.fill_answer(step, value, None if say is None else capture.read_answer(say(value)))


_BOUND_LATER = (staticmethod, classmethod)


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return str(name).rpartition("<locals>.")[2]
