"""Traceloop OpenLLMetry: ``traceloop.entity.*`` for workflows and tasks, ``gen_ai.*`` for model calls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ragtrace import semconv as sc
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
_RETRIEVER = re.compile(r"Retriever(?:\.|$)")
_RERANKER = re.compile(r"Rerank|PostProcessor|Postprocessor")


class Traceloop:
    """Reads spans of OpenLLMetry's instrumentations and of Traceloop's decorators."""

    name = "traceloop"

    def claims(self, span: SpanRecord) -> bool:
        """Whether Traceloop wrote the span."""
        return span.scope.startswith(_SCOPES) or any(key.startswith(_PREFIX) for key in span.attributes)

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        a = span.attributes
        role = _role(a)
        who = Identity(
            text_of(a, *_SESSIONS, sc.GEN_AI_CONVERSATION_ID), text_of(a, _PROPERTY + "user_id", sc.USER_ID)
        )
        if role is Role.GENERATION:
            return replace(read_genai(span, logs, self.name), session=who.session, user=who.user)
        given, output = field_of(a, *_INPUTS), field_of(a, *_OUTPUTS)
        return step_of(span, self.name, role, _freed(given, "inputs"), _freed(output, "outputs"), who=who)


def _role(attributes: Mapping[str, Any]) -> Role:
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


def _freed(field: Field | None, wrapper: str) -> Field | None:
    """The value inside the callback's envelope: beside ``inputs`` stand tags, metadata and kwargs."""
    if field is None or not isinstance(field.value, dict) or wrapper not in field.value:
        return field
    return field if field.decoded.cut else Field(field.key, field.value[wrapper])
