"""The demo's knowledge base: 48 short documents, half of them Chinese, and BM25 over them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ragtrace.errors import MissingExtra

_WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A document of the handbook with its BM25 score for the query at hand."""

    id: str
    text: str
    score: float
    title: str


def tokens(text: str) -> list[str]:
    """Lower-case words, and overlapping character pairs for Chinese: what a plain keyword search uses."""
    found: list[str] = []
    for run in _WORD.findall(text.lower()):
        if run[0] >= "\u4e00":
            found.extend(run[i : i + 2] for i in range(max(1, len(run) - 1)))
        else:
            found.append(run)
    return found


class Handbook:
    """The handbook and its index."""

    def __init__(self) -> None:
        try:
            from rank_bm25 import BM25Okapi
        except ModuleNotFoundError as error:
            raise MissingExtra("ragtrace demo", "demo") from error
        lines = files(__package__).joinpath("handbook.jsonl").read_text(encoding="utf-8").splitlines()
        self.documents: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self._index = BM25Okapi([tokens(f"{d['title']} {d['text']}") for d in self.documents])

    def search(self, query: str, k: int) -> list[Passage]:
        """The ``k`` best documents with a score above 0, best first."""
        scores = self._index.get_scores(tokens(query))
        best = sorted(range(len(scores)), key=lambda i: -scores[i])[:k]
        return [
            Passage(d["id"], d["text"], round(float(scores[i]), 3), d["title"])
            for i in best
            if scores[i] > 0
            for d in (self.documents[i],)
        ]
