"""Interactions across threads."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import ragtrace
from ragtrace.threads import ContextExecutor, patch_thread_pools


@ragtrace.retriever
def search(query: str) -> list[str]:
    return [query]


def fan_out(pool: ThreadPoolExecutor) -> Any:
    @ragtrace.trace
    def ask(question: str) -> list[list[str]]:
        return list(pool.map(search, [f"{question} {n}" for n in range(4)]))

    return ask


def traces(exporter: InMemorySpanExporter) -> list[int]:
    """How many spans each trace has."""
    counts: dict[int, int] = {}
    for span in exporter.get_finished_spans():
        counts[span.context.trace_id] = counts.get(span.context.trace_id, 0) + 1
    return sorted(counts.values())


def test_a_context_executor_keeps_retrievals_in_their_interaction(exporter: InMemorySpanExporter) -> None:
    """Four parallel retrievers are four children of one entry."""
    with ContextExecutor(4) as pool:
        assert fan_out(pool)("q") == [[f"q {n}"] for n in range(4)]
    assert traces(exporter) == [5]


def test_the_patch_reaches_pools_that_exist_and_the_event_loops(exporter: InMemorySpanExporter) -> None:
    """And it can be taken back."""

    @ragtrace.trace
    async def ask(question: str) -> list[str]:
        return await asyncio.get_running_loop().run_in_executor(None, search, question)

    with ThreadPoolExecutor(2) as pool:
        undo = patch_thread_pools()
        try:
            patch_thread_pools()()
            fan_out(pool)("q")
            asyncio.run(ask("q"))
        finally:
            undo()
        assert traces(exporter) == [2, 5]
        exporter.clear()
        fan_out(pool)("q")
        assert traces(exporter) == [1] * 5
