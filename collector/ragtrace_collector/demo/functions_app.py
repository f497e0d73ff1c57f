"""The first app: plain functions under ragtrace's decorators, with a streamed answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import ragtrace
from ragtrace_collector.demo.handbook import Handbook, Passage
from ragtrace_collector.demo.script import MODEL

TOP_K = 4


class FunctionsApp:
    """Question → BM25 → played model, streamed word by word.

    Args:
        handbook: where to search.
        replies: question → what the model says.
    """

    def __init__(self, handbook: Handbook, replies: Mapping[str, str]) -> None:
        self._handbook, self._replies = handbook, replies

    @ragtrace.retriever
    def search(self, question: str) -> list[Passage]:
        """The documents for ``question``."""
        return self._handbook.search(question, TOP_K)

    @ragtrace.generator(model=MODEL)
    def generate(self, question: str, documents: list[Passage]) -> Iterator[str]:
        """The model's reply, in pieces."""
        yield from re.findall(r"\S+\s*", self._replies[question])

    @ragtrace.trace(name="ask")
    def ask(self, question: str) -> Iterator[str]:
        """Answer ``question``, in pieces."""
        yield from self.generate(question, self.search(question))
