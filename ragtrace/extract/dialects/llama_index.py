"""LlamaIndex' own OpenTelemetry integration: spans have no attributes, everything is in their events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragtrace.extract.documents import DocumentList, documents_in
from ragtrace.extract.inout import messages_of
from ragtrace.extract.messages import Message, read_messages
from ragtrace.extract.shapes import question_in
from ragtrace.extract.step import Field, Role, Step
from ragtrace.extract.values import decode, text_or_none
from ragtrace.model import LogRecord, SpanRecord

_TEMPLATE_ARGUMENT = "template_args."
_ASKED = (
    "query",
    "query.query_str",
    "query_str",
    "str_or_query_bundle",
    "str_or_query_bundle.query_str",
    "user_msg",
    "message",
)
_SAID = ("response.response", "response", "output", "response.text")


class LlamaIndexEvents:
    """Reads spans of ``llama-index-observability-otel``."""

    name = "llama-index"

    def claims(self, span: SpanRecord) -> bool:
        """Whether LlamaIndex' integration wrote the span."""
        return span.scope.startswith("llamaindex.opentelemetry")

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        del logs
        told = {event.name: event.attributes for event in span.events}
        role = _role(told)
        a = _together(told)
        listed = _documents(a, "nodes") if role in (Role.RETRIEVAL, Role.RERANK) else None
        return Step(
            span=span,
            dialect=self.name,
            role=role,
            input=_first(a, _ASKED),
            output=_first(a, _SAID) if role is Role.CHAIN else None,
            query=_query(a) if listed is not None or role is Role.RETRIEVAL else None,
            documents=listed,
            used=_documents(a, "response.source_nodes") if role is Role.CHAIN else None,
            prompt=_prompt(a) if role is Role.GENERATION else (),
            reply=_reply(a) if role is Role.GENERATION else (),
            variables=_variables(a),
            keys={
                "query": "event RetrievalStartEvent",
                "documents": "event RetrievalEndEvent" if role is Role.RETRIEVAL else "response.source_nodes",
                "prompt": "event LLMChatStartEvent",
                "reply": "event LLMChatEndEvent",
            },
        )


def _role(told: Mapping[str, Any]) -> Role:
    for name in told:
        if name.startswith("Retrieval"):
            return Role.RETRIEVAL
        if name.startswith("ReRank"):
            return Role.RERANK
        if name.startswith("LLM"):
            return Role.GENERATION
        if name.startswith("Embedding"):
            return Role.EMBEDDING
        if name.startswith("AgentToolCall"):
            return Role.TOOL
    return Role.CHAIN if told else Role.OTHER


def _together(told: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The fields of all events; those of end events, which repeat the start's and add to them, win."""
    merged: dict[str, Any] = {}
    for name in sorted(told, key=lambda name: name.endswith("EndEvent")):
        merged.update(told[name])
    return merged


def _first(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> Field | None:
    for key in keys:
        field = Field(key, attributes[key], quoted=False) if key in attributes else None
        if field is not None and field.value is not None:
            return field
    return None


def _query(attributes: Mapping[str, Any]) -> str | None:
    field = _first(attributes, _ASKED)
    return None if field is None else question_in(field.value)


def _documents(attributes: Mapping[str, Any], key: str) -> DocumentList | None:
    if key not in attributes:
        return None
    decoded = decode(attributes[key])
    return documents_in(decoded.value, cut=decoded.cut)


def _prompt(attributes: Mapping[str, Any]) -> tuple[Message, ...]:
    field = _first(attributes, ("messages", "prompt", "template_args.context_str"))
    return messages_of(field, "user")


def _reply(attributes: Mapping[str, Any]) -> tuple[Message, ...]:
    blocks = decode(attributes.get("response.message.blocks")).value
    if isinstance(blocks, list):
        calls = decode(attributes.get("response.message.additional_kwargs.tool_calls")).value
        return read_messages([{"role": "assistant", "blocks": blocks, "tool_calls": calls}])
    return messages_of(_first(attributes, ("response.message.content", *_SAID)), "assistant")


def _variables(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    start = len(_TEMPLATE_ARGUMENT)
    return {
        key[start:]: text
        for key, value in attributes.items()
        if key.startswith(_TEMPLATE_ARGUMENT) and (text := text_or_none(value)) is not None
    }
