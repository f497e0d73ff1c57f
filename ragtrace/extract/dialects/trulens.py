"""TruLens: ``ai.observability.span_type`` and what each type records; texts of documents are a plain list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ragtrace.extract.documents import DocumentList, documents_in
from ragtrace.extract.inout import Identity, field_of, listed, step_of, text_of
from ragtrace.extract.known import completed
from ragtrace.extract.step import Field, Role, Step
from ragtrace.extract.values import decode
from ragtrace.model import LogRecord, SpanRecord

_PREFIX = "ai.observability."
_TYPE = _PREFIX + "span_type"
_ROLES: Mapping[str, Role] = {
    "record_root": Role.CHAIN,
    "retrieval": Role.RETRIEVAL,
    "reranking": Role.RERANK,
    "generation": Role.GENERATION,
    "agent": Role.AGENT,
    "tool": Role.TOOL,
    "mcp": Role.TOOL,
    "embedding": Role.EMBEDDING,
    "eval": Role.EVALUATION,
    "eval_root": Role.EVALUATION,
}
_CALL, _KWARGS, _RETURN = _PREFIX + "call.", _PREFIX + "call.kwargs.", _PREFIX + "call.return"
_TEXTS = (
    _PREFIX + "retrieval.retrieved_contexts",
    "gen_ai.retrieval.documents",
    _PREFIX + "reranking.output_context_texts",
)


class TruLens:
    """Reads spans of TruLens' OpenTelemetry mode."""

    name = "trulens"

    def claims(self, span: SpanRecord) -> bool:
        """Whether TruLens wrote the span."""
        return _TYPE in span.attributes or span.scope.startswith("trulens")

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        del logs
        a = span.attributes
        role = _ROLES.get(str(a.get(_TYPE)).lower(), Role.CHAIN)
        given = field_of(
            a, _PREFIX + "record_root.input", _PREFIX + "retrieval.query_text", _PREFIX + "generation.input"
        )
        step = step_of(
            span,
            self.name,
            role,
            given or _arguments(a),
            field_of(a, _PREFIX + "record_root.output", _PREFIX + "generation.output", _RETURN),
            who=Identity(
                user=text_of(a, _PREFIX + "user_id"), error=text_of(a, _PREFIX + "record_root.error")
            ),
        )
        if role not in (Role.RETRIEVAL, Role.RERANK):
            return step
        documents, source = _documents(a)
        return replace(step, documents=documents, keys={**step.keys, "documents": source})


def _arguments(attributes: Mapping[str, Any]) -> Field | None:
    start = len(_KWARGS)
    named = {k[start:]: decode(v).value for k, v in attributes.items() if k.startswith(_KWARGS)}
    return Field(_CALL + "kwargs", named) if named else None


def _documents(attributes: Mapping[str, Any]) -> tuple[DocumentList | None, str]:
    """The plain texts, with what the function's return value knows of them."""
    returned = listed(field_of(attributes, _RETURN))
    field = field_of(attributes, *_TEXTS)
    texts = None if field is None else documents_in(field.value)
    if texts is None or field is None:
        return returned, _RETURN
    if returned is None or len(returned.items) != len(texts.items):
        return texts, field.key
    return DocumentList(completed(texts.items, returned.items), texts.cut, texts.total), field.key
