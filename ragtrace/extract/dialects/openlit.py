"""OpenLIT: GenAI keys; its ``@trace`` decorator puts a return value under ``gen_ai.output.messages``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ragtrace import semconv as sc
from ragtrace.documents import content_id
from ragtrace.extract.dialects.otel_genai import read_genai
from ragtrace.extract.documents import DocumentList
from ragtrace.extract.inout import field_of, step_of
from ragtrace.extract.step import Field, Role, Step
from ragtrace.extract.values import decode
from ragtrace.model import LogRecord, RetrievedDocument, SpanRecord

_ERROR = 2
_SDK = "telemetry.sdk.name"
_ARGS, _KWARGS = "function.args", "function.kwargs"


class OpenLIT:
    """Reads spans of OpenLIT."""

    name = "openlit"

    def claims(self, span: SpanRecord) -> bool:
        """Whether OpenLIT wrote the span."""
        return span.scope.startswith("openlit") or span.attributes.get(_SDK) == "openlit"

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        a = span.attributes
        if _ARGS in a:
            call = {"args": decode(a[_ARGS]).value, "kwargs": decode(a.get(_KWARGS)).value}
            return step_of(
                span, self.name, Role.CHAIN, Field(_ARGS, call), field_of(a, sc.GEN_AI_OUTPUT_MESSAGES)
            )
        step = read_genai(span, logs, self.name)
        if step.role is Role.OTHER and span.status == _ERROR and sc.GEN_AI_OPERATION not in a:
            return replace(step, role=Role.CHAIN)  # a decorated function that raised: nothing else is written
        if step.documents is None or step.role is not Role.RETRIEVAL:
            return step
        return replace(step, documents=_with_sources(step.documents))


def _with_sources(listed: DocumentList) -> DocumentList:
    """What it writes as a LangChain document's id is its source, which names a file and not the document."""
    return replace(listed, items=tuple(_with_source(document) for document in listed.items))


def _with_source(document: RetrievedDocument) -> RetrievedDocument:
    if document.id_source != "given" or document.text is None:
        return document
    metadata: Mapping[str, Any] = {"source": document.id, **document.metadata}
    return replace(document, id=content_id(document.text), id_source="content_hash", metadata=metadata)
