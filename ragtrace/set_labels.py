"""The labels of an evaluation set, under one name each: question types and difficulties, English and Chinese.

A value that is no known one stays as it is: sets may have types of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

UNANSWERABLE: Final = "unanswerable"
"""The type of questions that the knowledge base does not answer: the right answer is to decline."""

LANGUAGE: Final = ("lang", "language")
"""The names of a row's language, in a breakdown and in a row."""

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "question_type": (
        *("question_type", "type", "query_type", "category", "evolution_type", "synthesizer_name"),
        *("问题类型", "题型", "类型"),
    ),
    "difficulty": ("difficulty", "level", "difficulty_level", "难度"),
}
"""Label → the names under which rows have it, the first that is there wins."""

_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "factual": (
        "factual",
        "fact",
        "factoid",
        "simple",
        "single hop",
        "singlehop",
        "事实型",
        "事实",
        "事实类",
    ),
    "summary": ("summary", "summarization", "summarisation", "summarize", "总结型", "总结", "摘要", "归纳型"),
    "multi-hop": (
        *("multi hop", "multihop", "multi context", "reasoning", "multi hop reasoning"),
        *("多跳推理", "多跳", "多跳型", "多跳推理型", "推理型"),
    ),
    UNANSWERABLE: (
        *("unanswerable", "no answer", "noanswer", "not answerable", "out of scope", "negative", "refusal"),
        *("无答案", "无答案型", "不可回答", "无法回答", "拒答"),
    ),
}
_DIFFICULTIES: Final[Mapping[str, tuple[str, ...]]] = {
    "easy": ("easy", "简单", "容易", "低"),
    "medium": ("medium", "moderate", "normal", "中等", "中", "一般"),
    "hard": ("hard", "difficult", "困难", "难", "高"),
}
_SYNTHESIZER = re.compile(r"(single|multi) hop (specific|abstract) query synthesizer")
"""Ragas's names of the makers of its questions."""


def _by_spelling(table: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    return {spelling: name for name, spellings in table.items() for spelling in spellings}


_TYPE_OF, _DIFFICULTY_OF = _by_spelling(_TYPES), _by_spelling(_DIFFICULTIES)


def question_type(value: str) -> str:
    """``factual``, ``summary``, ``multi-hop`` or ``unanswerable`` where ``value`` means one of them."""
    bare = _bare(value)
    if made := _SYNTHESIZER.fullmatch(bare):
        return "multi-hop" if made[1] == "multi" else "factual"
    return _TYPE_OF.get(bare, value.strip())


def difficulty(value: str) -> str:
    """``easy``, ``medium`` or ``hard`` where ``value`` means one of them."""
    return _DIFFICULTY_OF.get(_bare(value), value.strip())


def label(record: Mapping[str, Any], field: str) -> str | None:
    """The value of ``field`` of a row's record: a label, ``lang``, a field of its own, or of its metadata.

    A dotted name goes into nested metadata; ``lang`` is the row's own where it says one, else the one that it
    was judged in. ``None`` where the row has no such value.
    """
    metadata = record.get("metadata") or {}
    if field in LANGUAGE:
        value = next((metadata[name] for name in LANGUAGE if metadata.get(name)), record.get("language"))
    else:
        value = metadata.get(field, inside(metadata, field))
        value = record.get(field) if value is None else value
    if value is None or isinstance(value, Mapping | list | tuple):
        return None
    return str(value)


def inside(value: Any, path: str) -> Any:
    """What ``value`` holds at the dotted ``path``; ``None`` where there is nothing."""
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _bare(value: str) -> str:
    return re.sub(r"[\s_\-]+", " ", value.strip().lower())
