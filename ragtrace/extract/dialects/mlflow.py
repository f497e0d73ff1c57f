"""MLflow: ``mlflow.spanType|spanInputs|spanOutputs``, every one of them JSON, texts too."""

from __future__ import annotations

from collections.abc import Mapping

from ragtrace.extract.inout import Identity, field_of, step_of
from ragtrace.extract.step import Role, Step
from ragtrace.extract.values import decode, text_or_none
from ragtrace.model import LogRecord, SpanRecord

_TYPE, _INPUTS, _OUTPUTS = "mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs"
_SESSION, _USER = "mlflow.trace.session", "mlflow.trace.user"
_ROLES: Mapping[str, Role] = {
    "RETRIEVER": Role.RETRIEVAL,
    "RERANKER": Role.RERANK,
    "LLM": Role.GENERATION,
    "CHAT_MODEL": Role.GENERATION,
    "TOOL": Role.TOOL,
    "AGENT": Role.AGENT,
    "EMBEDDING": Role.EMBEDDING,
    "EVALUATOR": Role.EVALUATION,
    "PARSER": Role.OTHER,
}


class MLflow:
    """Reads spans of MLflow Tracing."""

    name = "mlflow"

    def claims(self, span: SpanRecord) -> bool:
        """Whether MLflow wrote the span."""
        return _TYPE in span.attributes or _INPUTS in span.attributes or span.scope.startswith("mlflow.")

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        del logs
        a = span.attributes
        kind = decode(a.get(_TYPE)).value
        return step_of(
            span,
            self.name,
            _ROLES.get(str(kind).upper(), Role.CHAIN),
            field_of(a, _INPUTS),
            field_of(a, _OUTPUTS),
            who=Identity(
                text_or_none(decode(a.get(_SESSION)).value), text_or_none(decode(a.get(_USER)).value)
            ),
        )
