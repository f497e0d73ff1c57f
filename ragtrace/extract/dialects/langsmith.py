"""LangSmith's OpenTelemetry export: ``gen_ai.prompt|completion`` are any span's input and output.

``langsmith.span.kind`` says what a span is. Its ``gen_ai.operation.name`` misleads: a retriever's is
``embeddings``, a prompt template's is ``chat``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragtrace import semconv as sc
from ragtrace.extract.documents import documents_in
from ragtrace.extract.inout import Identity, field_of, step_of, text_of
from ragtrace.extract.step import Field, Role, Step
from ragtrace.model import LogRecord, SpanRecord

_KIND, _INPUT, _OUTPUT = "langsmith.span.kind", "gen_ai.prompt", "gen_ai.completion"
_METADATA = "langsmith.metadata."
_ROLES: Mapping[str, Role] = {
    "retriever": Role.RETRIEVAL,
    "llm": Role.GENERATION,
    "tool": Role.TOOL,
    "prompt": Role.PROMPT,
    "embedding": Role.EMBEDDING,
    "chain": Role.CHAIN,
    "parser": Role.OTHER,
}


class LangSmith:
    """Reads spans of the LangSmith SDK."""

    name = "langsmith"

    def claims(self, span: SpanRecord) -> bool:
        """Whether LangSmith wrote the span."""
        return span.scope == "langsmith" or any(key.startswith("langsmith.") for key in span.attributes)

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        del logs
        a = span.attributes
        given, output = field_of(a, _INPUT), field_of(a, _OUTPUT)
        sessions = (f"{_METADATA}{key}" for key in ("session_id", "thread_id", "conversation_id"))
        return step_of(
            span,
            self.name,
            _role(a, given, output),
            given,
            output,
            who=Identity(text_of(a, *sessions), text_of(a, _METADATA + "user_id")),
        )


def _role(attributes: Mapping[str, Any], given: Field | None, output: Field | None) -> Role:
    stated = _ROLES.get(str(attributes.get(_KIND)).lower())
    if stated is not None:
        return stated
    operation = attributes.get(sc.GEN_AI_OPERATION)
    if operation == "embeddings":
        searches = output is not None and documents_in(output.value) is not None
        return Role.RETRIEVAL if searches else Role.EMBEDDING
    if operation == "chat":
        return Role.GENERATION if sc.GEN_AI_REQUEST_MODEL in attributes else Role.PROMPT
    return Role.TOOL if operation in ("tool", "execute_tool") else Role.CHAIN
