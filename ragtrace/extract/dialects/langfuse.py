"""Langfuse: ``langfuse.observation.type|input|output``; text is bare, everything else JSON."""

from __future__ import annotations

from collections.abc import Mapping

from ragtrace.extract.inout import Identity, field_of, step_of, text_of
from ragtrace.extract.step import Role, Step
from ragtrace.model import LogRecord, SpanRecord

_PREFIX = "langfuse.observation."
_TYPE, _INPUT, _OUTPUT = _PREFIX + "type", _PREFIX + "input", _PREFIX + "output"
_LEVEL, _STATUS = _PREFIX + "level", _PREFIX + "status_message"
_ROLES: Mapping[str, Role] = {
    "retriever": Role.RETRIEVAL,
    "generation": Role.GENERATION,
    "tool": Role.TOOL,
    "agent": Role.AGENT,
    "embedding": Role.EMBEDDING,
    "evaluator": Role.EVALUATION,
    "guardrail": Role.OTHER,
    "event": Role.OTHER,
}


class Langfuse:
    """Reads spans of the Langfuse SDKs."""

    name = "langfuse"

    def claims(self, span: SpanRecord) -> bool:
        """Whether Langfuse wrote the span."""
        return span.scope.startswith("langfuse") or any(key.startswith(_PREFIX) for key in span.attributes)

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        del logs
        a = span.attributes
        failed = a.get(_LEVEL) == "ERROR"
        return step_of(
            span,
            self.name,
            _ROLES.get(str(a.get(_TYPE)).lower(), Role.CHAIN),
            field_of(a, _INPUT, quoted=False),
            field_of(a, _OUTPUT, quoted=False),
            who=Identity(
                text_of(a, "session.id", "langfuse.session.id"),
                text_of(a, "user.id", "langfuse.user.id"),
                (text_of(a, _STATUS) or "error") if failed else None,
            ),
        )
