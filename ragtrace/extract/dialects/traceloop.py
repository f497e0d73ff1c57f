"""Traceloop OpenLLMetry: ``traceloop.entity.*`` for workflows and tasks, ``gen_ai.*`` for model calls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ragtrace import semconv as sc
from ragtrace.extract.dialects.genai_messages import numbered
from ragtrace.extract.dialects.otel_genai import OPERATIONS, read_genai
from ragtrace.extract.inout import Identity, field_of, step_of, text_of
from ragtrace.extract.step import Field, Role, Step
from ragtrace.model import LogRecord, SpanRecord

_PREFIX = "traceloop."
_KIND, _NAME = _PREFIX + "span.kind", _PREFIX + "entity.name"
_INPUTS = (_PREFIX + "entity.input", "gen_ai.task.input", "gen_ai.tool.call.arguments")
_OUTPUTS = (_PREFIX + "entity.output", "gen_ai.task.output", "gen_ai.tool.call.result")
_PROPERTY = _PREFIX + "association.properties."
_SESSIONS = tuple(_PROPERTY + key for key in ("session_id", "thread_id", "conversation_id", "chat_id"))
_SCOPES = (
    "traceloop.",
    "opentelemetry.instrumentation.langchain",
    "opentelemetry.instrumentation.llamaindex",
)
_REQUEST = "llm.request.type"
_RETRIEVER = re.compile(r"Retriever(?:\.|$)")
_RERANKER = re.compile(r"Rerank|PostProcessor|Postprocessor")


class Traceloop:
    """Reads spans of OpenLLMetry's instrumentations and of Traceloop's decorators."""

    name = "traceloop"

    def claims(self, span: SpanRecord) -> bool:
        """Whether Traceloop wrote the span."""
        a = span.attributes
        return span.scope.startswith(_SCOPES) or _REQUEST in a or any(key.startswith(_PREFIX) for key in a)

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        a = span.attributes
        role = _role(a)
        who = Identity(
            text_of(a, *_SESSIONS, sc.GEN_AI_CONVERSATION_ID), text_of(a, _PROPERTY + "user_id", sc.USER_ID)
        )
        if role is Role.GENERATION:
            step = read_genai(span, logs, self.name)
            step = replace(step, role=role, session=who.session, user=who.user)
            return step if _REQUEST not in a else _early(step)
        output = field_of(a, *_OUTPUTS)
        given = _streamed(_freed(field_of(a, *_INPUTS), "inputs"), output)
        return step_of(span, self.name, role, given, _freed(output, "outputs"), who=who)


def _early(step: Step) -> Step:
    """Model calls before the GenAI conventions: ``llm.prompts|completions.<i>.content``."""
    a = step.span.attributes
    prompt, reply = numbered(a, "llm.prompts", "user"), numbered(a, "llm.completions", "assistant")
    keys = {**step.keys, "prompt": "llm.prompts", "reply": "llm.completions"}
    return replace(step, prompt=step.prompt or prompt, reply=step.reply or reply, keys=keys)


def _role(attributes: Mapping[str, Any]) -> Role:
    if (request := attributes.get(_REQUEST)) is not None:
        return {"embedding": Role.EMBEDDING, "rerank": Role.RERANK}.get(str(request), Role.GENERATION)
    operation, kind = attributes.get(sc.GEN_AI_OPERATION), attributes.get(_KIND)
    stated = OPERATIONS.get(operation) if isinstance(operation, str) else None
    if stated is not None and stated is not Role.CHAIN:
        return stated
    name = str(attributes.get(_NAME, ""))
    if kind == "tool":
        return Role.TOOL
    if _RETRIEVER.search(name):
        return Role.RETRIEVAL
    if _RERANKER.search(name):
        return Role.RERANK
    return Role.AGENT if kind == "agent" else Role.CHAIN if kind or stated else Role.OTHER


def _streamed(given: Field | None, output: Field | None) -> Field | None:
    """A step that streams is begun with empty input; what it was given stands beside its output."""
    if given is None or output is None or given.value not in ("", {"input": ""}):
        return given
    kwargs = output.value.get("kwargs") if isinstance(output.value, dict) else None
    late = kwargs.get("inputs") if isinstance(kwargs, dict) else None
    return given if late is None else Field(output.key, late)


def _freed(field: Field | None, wrapper: str) -> Field | None:
    """The value inside the callback's envelope: beside ``inputs`` stand tags, metadata and kwargs."""
    if field is None or not isinstance(field.value, dict) or wrapper not in field.value:
        return field
    return field if field.decoded.cut else Field(field.key, field.value[wrapper])
