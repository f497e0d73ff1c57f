"""What a user is told, in one line, where the judge gave no scores: the first reason, and what to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from ragtrace.endpoint.address import base_of
from ragtrace.model import Language, Status
from ragtrace.redact import host_of
from ragtrace_collector.words.reasons import reason_words

JUDGE_FAILED = 3
"""Exit code: the judge scored no row."""

_JUDGED = ("faithfulness", "answer_relevancy", "context_precision", "context_recall", "answer_correctness")
_FAILED = frozenset({Status.JUDGE_ERROR.value, Status.TIMED_OUT.value})
_WHAT_TO_DO: Final[dict[str, dict[Language, str]]] = {
    "unreachable": {
        "en": "cannot connect to {url} (judge.base_url)",
        "zh": "无法连接 {url}（judge.base_url）",
    },
    "unauthorized": {
        "en": "{url} refused the key (OPENAI_API_KEY)",
        "zh": "{url} 拒绝了密钥（OPENAI_API_KEY）",
    },
    "forbidden": {
        "en": "{url} does not let this key use {model} (OPENAI_API_KEY, judge.model)",
        "zh": "{url} 不允许此密钥使用 {model}（OPENAI_API_KEY、judge.model）",
    },
    "not_found": {
        "en": "{url} has no such path or no model {model} (judge.base_url, judge.model)",
        "zh": "{url} 没有此路径，或没有模型 {model}（judge.base_url、judge.model）",
    },
    "malformed_response": {
        "en": "{url} does not answer as a chat endpoint does (judge.base_url)",
        "zh": "{url} 的响应不像聊天接口（judge.base_url）",
    },
    "redirected": {
        "en": "{url} redirects to another host; name that one (judge.base_url)",
        "zh": "{url} 重定向到另一台主机，请直接填写该主机（judge.base_url）",
    },
    "reply_too_large": {
        "en": "{url} answers without end, not as a chat endpoint does (judge.base_url)",
        "zh": "{url} 的响应没有尽头，不像聊天接口（judge.base_url）",
    },
    "quota": {"en": "the quota of the key is spent at {url}", "zh": "此密钥在 {url} 的额度已用完"},
    "rate_limited": {
        "en": "{url} asks for fewer requests (--concurrency)",
        "zh": "{url} 要求减少请求（--concurrency）",
    },
    "timeout": {
        "en": "{url} does not answer in time (--judge-timeout)",
        "zh": "{url} 未及时响应（--judge-timeout）",
    },
}
_OTHERWISE: Final[dict[Language, str]] = {"en": "{reason} at {url}", "zh": "{url}：{reason}"}
_LOST: Final[dict[Language, str]] = {
    "en": "judge: {lost} of {total} interactions have no scores: {told}",
    "zh": "评判器：{total} 次交互中有 {lost} 次没有评分：{told}",
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

    def line(self, base_url: str | None, model: str | None, language: Language = "en") -> str | None:
        """What to tell, without secrets; ``None`` where no row was lost."""
        if not self.lost:
            return None
        reason = self.first.removeprefix("circuit_open(").removesuffix(")")
        told = _WHAT_TO_DO.get(reason, _OTHERWISE)[language]
        told = told.format(url=_shown(base_url), model=model, reason=reason_words(reason, language))
        return _LOST[language].format(lost=self.lost, total=self.total, told=told)


def lost_to(outcomes: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Why a row with these outcomes of a record has no score; ``None`` where it has one, or needs none."""
    judged = [outcomes[metric] for metric in _JUDGED if metric in outcomes]
    if any(outcome["status"] == Status.SCORED.value for outcome in judged):
        return None
    return next((str(outcome["reason"]) for outcome in judged if outcome["status"] in _FAILED), None)


def _shown(base_url: str | None) -> str:
    """The endpoint without what may be secret: user, password, query."""
    base = base_of(base_url)
    return urlunsplit(urlsplit(base)._replace(netloc=host_of(base), query="", fragment=""))
