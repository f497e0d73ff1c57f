"""ragtrace: which of the four ways did a RAG answer fail?

Importing it loads the standard library and opentelemetry-api, nothing else. What needs more is loaded when it
is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from ragtrace.api import aevaluate as aevaluate
    from ragtrace.api import evaluate as evaluate
    from ragtrace.metrics.ir import hit_at_k as hit_at_k
    from ragtrace.metrics.ir import mrr as mrr
    from ragtrace.metrics.ir import mrr_at_k as mrr_at_k
    from ragtrace.metrics.ir import ndcg_at_k as ndcg_at_k
    from ragtrace.metrics.ir import precision_at_k as precision_at_k
    from ragtrace.metrics.ir import recall_at_k as recall_at_k

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

_LAZY: dict[str, str] = {
    "evaluate": "ragtrace.api",
    "aevaluate": "ragtrace.api",
    "hit_at_k": "ragtrace.metrics.ir",
    "mrr": "ragtrace.metrics.ir",
    "mrr_at_k": "ragtrace.metrics.ir",
    "ndcg_at_k": "ragtrace.metrics.ir",
    "precision_at_k": "ragtrace.metrics.ir",
    "recall_at_k": "ragtrace.metrics.ir",
}
"""Public name → the module that it is loaded from when it is first asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
