"""Ours: every metric that the interaction allows, citations too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from free_vectors import vector

from ragtrace.evaluation import Evaluator
from ragtrace.judges.chat import ChatJudge, ChatOptions
from ragtrace.model import Outcome, Score
from ragtrace.testing import make_interaction

CONCURRENCY = 4


class Free:
    name = "free"

    async def embed(self, texts: Sequence[str]) -> Any:
        vectors = np.array([vector(text) for text in texts], dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class Status:
    """An outcome that is no score."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


def prepare(
    rows: Sequence[Mapping[str, Any]], url: Callable[[str], str], correctness: bool
) -> Callable[[], list[dict[str, Any]]]:
    """Live, the reference is left out; ``correctness`` stands for an interaction with one."""
    interactions = [
        make_interaction(
            row["question"],
            row["contexts"],
            row["answer"],
            reference=row["reference"] if correctness else None,
        )
        for row in rows
    ]

    async def judging() -> list[dict[str, Any]]:
        judge = ChatJudge(ChatOptions(model="gpt-4o-mini", base_url=url("all"), cache_entries=0))
        evaluator = Evaluator(judge, Free(), concurrency=CONCURRENCY)
        evaluations = await asyncio.gather(*map(evaluator.evaluate, interactions))
        await judge.aclose()
        return [
            {name: said(outcome) for name, outcome in evaluation.outcomes.items()}
            for evaluation in evaluations
        ]

    return lambda: asyncio.run(judging())


def said(outcome: Outcome) -> float | Status:
    if isinstance(outcome, Score):
        return outcome.value
    return Status(f"{outcome.status.value}({outcome.reason})")
