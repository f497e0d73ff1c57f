"""What a user is told, in one line, where the judge gave no scores: the first reason, and what to change."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ragtrace.model import Status

JUDGE_FAILED = 3
"""Exit code: the judge scored no row."""

_JUDGED = ("faithfulness", "answer_relevancy", "context_precision", "context_recall", "answer_correctness")
_FAILED = frozenset({Status.JUDGE_ERROR.value, Status.TIMED_OUT.value})
_WHAT_TO_DO = {
    "unreachable": "cannot connect to {url} (judge.base_url)",
    "unauthorized": "{url} refused the key (OPENAI_API_KEY)",
    "forbidden": "{url} does not let this key use {model} (OPENAI_API_KEY, judge.model)",
    "not_found": "{url} has no such path or no model {model} (judge.base_url, judge.model)",
    "malformed_response": "{url} does not answer as a chat endpoint does (judge.base_url)",
    "redirected": "{url} redirects to another host; name that one (judge.base_url)",
    "reply_too_large": "{url} answers without end, not as a chat endpoint does (judge.base_url)",
    "quota": "the quota of the key is spent at {url}",
    "rate_limited": "{url} asks for fewer requests (--concurrency)",
    "timeout": "{url} does not answer in time (--judge-timeout)",
}


@dataclass(slots=True)
class Trouble:
    """Counts the rows that the judge left without scores; keeps the ``first`` reason in the order of rows."""

    total: int = 0
    lost: int = 0
    first: str = ""

    def add(self, reason: str | None) -> None:
        """Count a row; ``reason`` says why the judge gave it nothing, ``None``: no such fault."""
        self.total += 1
        if reason is not None:
            self.lost += 1
            self.first = self.first or reason

    @property
    def complete(self) -> bool:
        """Whether no row was spared."""
        return 0 < self.lost == self.total

    def line(self, base_url: str | None, model: str | None) -> str | None:
        """What to tell, without secrets; ``None`` where no row was lost."""
        if not self.lost:
            return None
        reason = self.first.removeprefix("circuit_open(").removesuffix(")")
        told = _WHAT_TO_DO.get(reason, reason + " at {url}").format(url=_shown(base_url), model=model)
        return f"judge: {self.lost} of {self.total} interactions have no scores: {told}"


def lost_to(outcomes: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Why a row with these outcomes of a record has no score; ``None`` where it has one, or needs none."""
    judged = [outcomes[metric] for metric in _JUDGED if metric in outcomes]
    if any(outcome["status"] == Status.SCORED.value for outcome in judged):
        return None
    return next((str(outcome["reason"]) for outcome in judged if outcome["status"] in _FAILED), None)


def _shown(base_url: str | None) -> str:
    """The endpoint without what may be secret: user, password, query."""
    parts = urlsplit((base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1").strip())
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))
