"""ragtrace: which of the four ways did a RAG answer fail?

Importing it loads the standard library and opentelemetry-api, nothing else. What needs more is loaded when it
is first asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

from ragtrace.hooks import (
    generator,
    record_answer,
    record_citations,
    record_documents,
    record_feedback,
    record_gold,
    record_history,
    record_question,
    record_reference,
    record_rewritten_question,
    record_session,
    reranker,
    retriever,
    start_generation,
    start_interaction,
    start_retrieval,
    trace,
)
from ragtrace.pipeline import configure

__all__ = [
    "configure",
    "generator",
    "record_answer",
    "record_citations",
    "record_documents",
    "record_feedback",
    "record_gold",
    "record_history",
    "record_question",
    "record_reference",
    "record_rewritten_question",
    "record_session",
    "reranker",
    "retriever",
    "start_generation",
    "start_interaction",
    "start_retrieval",
    "trace",
]

_LAZY: dict[str, str] = {}
"""Public name → the module that it is loaded from when it is first asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
