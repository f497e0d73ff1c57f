"""OpenTelemetry GenAI conventions, old and current: content in attributes, in span events or in log records.

Retrieval spans of the official instrumentations list ids and scores only; the texts are then looked for in
the prompt. Other dialects use ``gen_ai.*`` keys for their model calls: the functions here read those too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ragtrace import semconv as sc
from ragtrace.extract.dialects.genai_messages import prompt_of, reply_of
from ragtrace.extract.documents import DocumentList, documents_in
from ragtrace.extract.messages import Message
from ragtrace.extract.shapes import question_in
from ragtrace.extract.step import Field, Role, Step
from ragtrace.extract.values import decode, text_or_none
from ragtrace.model import LogRecord, SpanRecord

OPERATIONS: Mapping[str, Role] = {
    "chat": Role.GENERATION,
    "text_completion": Role.GENERATION,
    "generate_content": Role.GENERATION,
    "completion": Role.GENERATION,
    "retrieval": Role.RETRIEVAL,
    "vector_db_retrieve": Role.RETRIEVAL,
    "rerank": Role.RERANK,
    "execute_tool": Role.TOOL,
    "invoke_agent": Role.AGENT,
    "invoke_workflow": Role.CHAIN,
    "execute_task": Role.CHAIN,
    "embeddings": Role.EMBEDDING,
    "create_agent": Role.OTHER,
}
_TOOL_ARGUMENTS, _TOOL_RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
_VARIABLE = sc.GEN_AI_PROMPT_VARIABLE + "."
_OLD_PROMPT = "gen_ai.prompt."
_COUNT = "gen_ai.retrieval.document_count"


class OTelGenAI:
    """Reads spans with ``gen_ai.*`` attributes."""

    name = "otel-genai"

    def claims(self, span: SpanRecord) -> bool:
        """Whether the span is written in the GenAI conventions."""
        a = span.attributes
        return sc.GEN_AI_OPERATION in a or any(key.startswith("gen_ai.") for key in a)

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        return read_genai(span, logs, self.name)


def read_genai(span: SpanRecord, logs: tuple[LogRecord, ...], dialect: str) -> Step:
    """A span with GenAI keys, in shared words."""
    a = _with_logged(span, logs)
    role = role_of(a)
    prompt: tuple[Message, ...] = ()
    reply: tuple[Message, ...] = ()
    given, output = _field(a, sc.GEN_AI_INPUT_MESSAGES), _field(a, sc.GEN_AI_OUTPUT_MESSAGES)
    if role is Role.GENERATION:
        prompt, reply = prompt_of(a, span, logs), reply_of(a, span, logs)
    elif role is Role.TOOL:
        given, output = _field(a, _TOOL_ARGUMENTS), _field(a, _TOOL_RESULT)
    return Step(
        span=span,
        dialect=dialect,
        role=role,
        input=given,
        output=output,
        query=_query(a, role, given),
        documents=_documents(a, role, output),
        prompt=prompt,
        reply=reply,
        variables=variables_of(a),
        session=text_or_none(a.get(sc.GEN_AI_CONVERSATION_ID)) or text_or_none(a.get(sc.SESSION_ID)),
        user=text_or_none(a.get(sc.USER_ID)) or text_or_none(a.get("enduser.id")),
        keys={
            "query": sc.GEN_AI_RETRIEVAL_QUERY if role is Role.RETRIEVAL else _TOOL_ARGUMENTS,
            "documents": sc.GEN_AI_RETRIEVAL_DOCUMENTS if role is Role.RETRIEVAL else _TOOL_RESULT,
            "prompt": sc.GEN_AI_INPUT_MESSAGES,
            "reply": sc.GEN_AI_OUTPUT_MESSAGES,
        },
    )


def role_of(attributes: Mapping[str, Any]) -> Role:
    """What the operation name says that a span did; without one, what its keys show."""
    operation = attributes.get(sc.GEN_AI_OPERATION)
    if isinstance(operation, str):
        return OPERATIONS.get(operation, Role.OTHER)
    if sc.GEN_AI_RETRIEVAL_DOCUMENTS in attributes or sc.GEN_AI_RETRIEVAL_QUERY in attributes:
        return Role.RETRIEVAL
    if sc.GEN_AI_REQUEST_MODEL in attributes or any(k.startswith(_OLD_PROMPT) for k in attributes):
        return Role.GENERATION
    return Role.OTHER


def _with_logged(span: SpanRecord, logs: tuple[LogRecord, ...]) -> Mapping[str, Any]:
    """The span's attributes and those of its details event or log record; the span's own win."""
    details = [log.attributes for log in logs if log.event_name == sc.GEN_AI_EVENT_DETAILS]
    details += [event.attributes for event in span.events if event.name == sc.GEN_AI_EVENT_DETAILS]
    merged: dict[str, Any] = {}
    for attributes in details:
        merged.update(attributes)
    return {**merged, **span.attributes} if merged else span.attributes


def _field(attributes: Mapping[str, Any], key: str) -> Field | None:
    raw = attributes.get(key)
    return None if raw is None else Field(key, raw)


def _query(attributes: Mapping[str, Any], role: Role, given: Field | None) -> str | None:
    if role in (Role.RETRIEVAL, Role.RERANK):
        return text_or_none(attributes.get(sc.GEN_AI_RETRIEVAL_QUERY))
    return question_in(given.value) if role is Role.TOOL and given is not None else None


def _documents(attributes: Mapping[str, Any], role: Role, output: Field | None) -> DocumentList | None:
    if role in (Role.RETRIEVAL, Role.RERANK):
        if sc.GEN_AI_RETRIEVAL_DOCUMENTS not in attributes:
            return DocumentList(()) if attributes.get(_COUNT) == 0 else None
        decoded = decode(attributes[sc.GEN_AI_RETRIEVAL_DOCUMENTS])
        return _counted(documents_in(decoded.value, cut=decoded.cut), attributes.get(_COUNT))
    if role is Role.TOOL and output is not None:
        return documents_in(output.value, cut=output.decoded.cut, strict=True)
    return None


def _counted(listed: DocumentList | None, count: Any) -> DocumentList | None:
    """OpenLIT lists the first documents only, and how many there were."""
    if listed is None or not isinstance(count, int) or count <= len(listed.items):
        return listed
    return replace(listed, cut=True, total=count)


def variables_of(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a prompt template was filled with: ``gen_ai.prompt.variable.<name>``."""
    return {
        key[len(_VARIABLE) :]: decode(value).value
        for key, value in attributes.items()
        if key.startswith(_VARIABLE)
    }
