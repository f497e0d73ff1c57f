"""What LlamaIndex's runs are, and what their spans say."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.response_synthesizers.base import BaseSynthesizer
from llama_index.core.tools.types import BaseTool
from llama_index.core.workflow import Workflow

from ragtrace import semconv as names
from ragtrace.documents import read_documents
from ragtrace.model import Turn
from ragtrace.spans import Content
from ragtrace_integrations._flow import content_of, found, read_lists
from ragtrace_integrations._llamaindex_content import (
    answer_of,
    arguments_of,
    history_of,
    prompt_of,
    question_of,
    reply_text,
    usage_of,
)
from ragtrace_integrations._nouns import End, Role, Run, Start

_ROLES: tuple[tuple[type, frozenset[str], Role], ...] = (
    (BaseQueryEngine, frozenset({"query", "aquery"}), Role.NODE),
    (BaseChatEngine, frozenset({"chat", "achat", "stream_chat", "astream_chat"}), Role.NODE),
    (Workflow, frozenset({"run"}), Role.NODE),
    (BaseSynthesizer, frozenset({"synthesize", "asynthesize"}), Role.PLUMBING),
    (BaseRetriever, frozenset({"retrieve", "aretrieve"}), Role.RETRIEVER),
    (BaseNodePostprocessor, frozenset({"_postprocess_nodes", "_apostprocess_nodes"}), Role.PLUMBING),
    (
        BaseLLM,
        frozenset({"chat", "complete", "stream_chat", "stream_complete"})
        | {"achat", "acomplete", "astream_chat", "astream_complete"},
        Role.MODEL,
    ),
    (BaseTool, frozenset({"call", "acall", "__call__"}), Role.TOOL),
)
"""Whose methods are what. Any other span of LlamaIndex only hands its parent on."""


def start_of(span_id: str, bound: inspect.BoundArguments, instance: object, tags: Mapping[str, Any]) -> Start:
    """What a span of LlamaIndex is to us; ``span_id`` begins with class and method."""
    name = span_id.partition("-")[0]
    method = name.rpartition(".")[2]
    roles = (role for kind, methods, role in _ROLES if isinstance(instance, kind) and method in methods)
    role = next(roles, Role.FORMAT)
    if role is Role.FORMAT:
        return Start(role, name)
    arguments = arguments_of(bound)
    given: object = arguments
    if role is Role.MODEL:
        given = arguments.get("messages", arguments.get("prompt"))
    parameters = {"instance": instance}
    if isinstance(instance, BaseChatEngine):
        parameters["history"] = _earlier(instance, arguments)
    return Start(role, name, given, tags, parameters)


class LlamaIndexTranslator:
    """Reads LlamaIndex's spans."""

    framework = "llamaindex"

    def content(self, run: Run, end: End) -> Content | None:
        """What the span of ``run`` says."""
        role, instance = run.start.role, run.start.parameters.get("instance")
        if role is Role.MODEL:
            return _model(run.start, end)
        if role is Role.RETRIEVER:
            return _retriever(run, end)
        if isinstance(instance, BaseNodePostprocessor):
            return _postprocessor(end)
        if role in (Role.ROOT, Role.NODE):
            return _engine(run, end)
        return _tool(end) if role is Role.TOOL else None

    def documents(self, value: object) -> Iterable[object]:
        """A retrieval gives one list of nodes."""
        return [value] if isinstance(value, list) else []


def _retriever(run: Run, end: End) -> Content:
    """A retriever; one that fused what retrievers inside it found is a rerank of theirs."""
    question = question_of(end.given) if isinstance(end.given, Mapping) else None
    documents = None if end.cut or end.error is not None else read_documents(end.taken)
    step = found(run.known, [documents]) if documents is not None else None
    if step is not None and step.given is not None:
        return content_of(step, question)
    return Content(kind=names.KIND_RETRIEVAL, question=question, documents=documents, partial=end.cut)


def _postprocessor(end: End) -> Content | None:
    """A rerank, unless it gave back what it got."""
    if end.cut or end.error is not None or not isinstance(end.given, Mapping):
        return None
    step = found(read_lists([end.given.get("nodes")]), read_lists([end.taken]))
    return content_of(step, question_of(end.given)) if step is not None else None


def _model(start: Start, end: End) -> Content:
    broken = end.cut or end.error is not None
    text = end.streamed if broken else max(reply_text(end.taken) or "", end.streamed, key=len)
    spent_in, spent_out = usage_of(end.taken)
    return Content(
        kind=names.KIND_GENERATION,
        prompt=prompt_of(end.given),
        answer=text or None,
        partial=end.cut,
        model=_model_name(start.parameters.get("instance")),
        input_tokens=spent_in,
        output_tokens=spent_out,
    )


def _engine(run: Run, end: End) -> Content:
    """A query, chat or agent run: an interaction where it is a root, else one of its steps."""
    arguments = end.given if isinstance(end.given, Mapping) else {}
    broken = end.cut or end.error is not None
    is_interaction = run.start.role is Role.ROOT and run.tree.is_rag and not run.tree.within
    tags = run.start.metadata
    return Content(
        kind=names.KIND_INTERACTION if is_interaction else None,
        question=question_of(arguments),
        history=run.start.parameters.get("history", ()),
        documents=read_documents(arguments["nodes"]) if "nodes" in arguments else None,
        answer=answer_of(end.taken) or (run.tree.cut_reply if broken else None),
        partial=end.cut,
        session=_tag(tags, "session_id", "thread_id", "conversation_id"),
        user=_tag(tags, "user_id"),
    )


def _tool(end: End) -> Content:
    arguments = end.given if isinstance(end.given, Mapping) else {}
    texts = [value for value in arguments.values() if isinstance(value, str)]
    return Content(
        oi_kind=names.OI_TOOL,
        question=question_of(arguments) or (texts[0] if len(texts) == 1 else None),
        answer=getattr(end.taken, "content", None),
        partial=end.cut,
    )


def _earlier(engine: BaseChatEngine, arguments: Mapping[str, Any]) -> tuple[Turn, ...]:
    """The turns before: those that the call was given, else those that the engine remembers."""
    return history_of(arguments.get("chat_history") or engine.chat_history)


def _model_name(model: object) -> str | None:
    name = getattr(getattr(model, "metadata", None), "model_name", None)
    return name if isinstance(name, str) and name != "unknown" else None


def _tag(tags: Mapping[str, Any], *keys: str) -> str | None:
    return next((str(tags[key]) for key in keys if tags.get(key) not in (None, "")), None)
