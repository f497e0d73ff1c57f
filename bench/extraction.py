"""Interactions read in a second on one core, from decoded spans: five documents of 1 kB each.

usage: python bench/extraction.py

CPU time, the best of 25 runs over 200 traces of three spans (entry, retrieval, model call).
"""

from __future__ import annotations

import json
import time
from typing import Any

from ragtrace.extract import interactions
from ragtrace.model import SpanRecord

TEXTS = [f"Document {i}: " + f"a book may be kept for {i} weeks. " * 32 for i in range(5)]
QUESTION, ANSWER = "How long may books be kept?", "Three weeks [4]."
PROMPT = "\n".join(f"[{i}] {text}" for i, text in enumerate(TEXTS, 1)) + f"\n\nQuestion: {QUESTION}"


def trace(number: int, native: bool) -> list[SpanRecord]:
    """One interaction as its three spans, children first."""

    def span(
        name: str, kind: str, ours: str, times: tuple[int, int], attributes: dict[str, Any]
    ) -> SpanRecord:
        attributes |= {"openinference.span.kind": kind} | ({"ragtrace.kind": ours} if native else {})
        return SpanRecord(
            trace_id=f"{number:032x}",
            span_id=f"{number:012x}{name[:4]}",
            parent_id=None if name == "root" else f"{number:012x}root",
            name=name,
            attributes=attributes,
            start_ns=times[0],
            end_ns=times[1],
        )

    documents = {
        f"retrieval.documents.{i}.document.{name}": value
        for i, text in enumerate(TEXTS)
        for name, value in (
            ("id", f"d{i}"),
            ("content", text),
            ("score", 0.9 - i / 10),
            ("metadata", json.dumps({"page": i})),
        )
    }
    call = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": PROMPT,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": ANSWER,
    }
    return [
        span("search", "RETRIEVER", "retrieval", (2, 3), {"input.value": QUESTION, **documents}),
        span("model", "LLM", "generation", (4, 8), call),
        span("root", "CHAIN", "interaction", (1, 9), {"input.value": QUESTION, "output.value": ANSWER}),
    ]


def rate(native: bool) -> float:
    """Interactions a CPU second."""
    spans = [span for number in range(200) for span in trace(number, native)]
    best = float("inf")
    for _ in range(25):
        began = time.process_time()
        found = interactions(spans)
        best = min(best, time.process_time() - began)
    assert len(found) == 200
    assert all(one.question and one.answer and len(one.documents or ()) == 5 for one in found)
    return 200 / best


if __name__ == "__main__":
    for name, native in (("native", True), ("OpenInference", False)):
        print(f"{name}: {rate(native):,.0f} interactions a second")
