"""Haystack's own tracer: all spans have one of two names, the type of the component tells what it did.

A document's metadata is flattened into it, so keys that no document has of itself are metadata.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ragtrace.extract.inout import field_of, step_of
from ragtrace.extract.step import Field, Role, Step
from ragtrace.model import LogRecord, SpanRecord

_COMPONENT = "haystack.component."
_PIPELINE_INPUTS = ("haystack.pipeline.input_data", "haystack.agent.input")
_PIPELINE_OUTPUTS = ("haystack.pipeline.output_data", "haystack.agent.output")
_TYPES: tuple[tuple[re.Pattern[str], Role], ...] = (
    (re.compile(r"Retriever"), Role.RETRIEVAL),
    (re.compile(r"Ranker"), Role.RERANK),
    (re.compile(r"Embedder"), Role.EMBEDDING),
    (re.compile(r"PromptBuilder|AnswerBuilder"), Role.PROMPT),
    (re.compile(r"Generator"), Role.GENERATION),
    (re.compile(r"^Agent$"), Role.AGENT),
    (re.compile(r"ToolInvoker"), Role.TOOL),
    (re.compile(r"Evaluator"), Role.EVALUATION),
)


class Haystack:
    """Reads spans of Haystack's tracing with content on."""

    name = "haystack"

    def claims(self, span: SpanRecord) -> bool:
        """Whether Haystack wrote the span."""
        return span.scope.startswith("haystack") or any(
            key.startswith("haystack.") for key in span.attributes
        )

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        del logs
        a = span.attributes
        if not any(key.startswith(_COMPONENT) for key in a):
            return step_of(
                span, self.name, Role.CHAIN, field_of(a, *_PIPELINE_INPUTS), field_of(a, *_PIPELINE_OUTPUTS)
            )
        given, output = field_of(a, _COMPONENT + "input"), field_of(a, _COMPONENT + "output")
        return step_of(span, self.name, _role(a, given, output), given, output)


def _role(attributes: Mapping[str, Any], given: Field | None, output: Field | None) -> Role:
    """By the type's name; a component of the app's own by what goes in and comes out."""
    name = str(attributes.get(_COMPONENT + "type", ""))
    for pattern, role in _TYPES:
        if pattern.search(name):
            return role
    taken, made = (field.value if field is not None else None for field in (given, output))
    if isinstance(made, dict) and "replies" in made:
        return Role.GENERATION
    if (
        isinstance(made, dict)
        and "documents" in made
        and not (isinstance(taken, dict) and "documents" in taken)
    ):
        return Role.RETRIEVAL
    return Role.CHAIN
