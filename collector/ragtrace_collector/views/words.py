"""The words of the terminal views, in English and Chinese: one table, no logic."""

from __future__ import annotations

from typing import Final

from ragtrace.model import Cause, Language, Status

METRICS: Final[dict[str, dict[Language, str]]] = {
    "faithfulness": {"en": "faithfulness", "zh": "忠实度"},
    "answer_relevancy": {"en": "relevancy", "zh": "切题度"},
    "context_precision": {"en": "precision", "zh": "精确率"},
    "context_recall": {"en": "recall", "zh": "召回率"},
    "context_noise": {"en": "noise", "zh": "噪声"},
    "answer_correctness": {"en": "correctness", "zh": "正确性"},
    "citation_presence": {"en": "cited", "zh": "引用率"},
    "citation_correctness": {"en": "citations", "zh": "引用"},
    "citation_coverage": {"en": "citation coverage", "zh": "引用覆盖"},
}

STATUSES: Final[dict[Status, dict[Language, str]]] = {
    Status.SCORED: {"en": "scored", "zh": "已评分"},
    Status.NOT_APPLICABLE: {"en": "n/a", "zh": "不适用"},
    Status.ABSTAINED: {"en": "abstained", "zh": "拒答"},
    Status.JUDGE_ERROR: {"en": "judge error", "zh": "评判出错"},
    Status.SKIPPED: {"en": "skipped", "zh": "已跳过"},
    Status.TIMED_OUT: {"en": "timed out", "zh": "超时"},
}

CAUSES: Final[dict[Cause, dict[Language, str]]] = {
    Cause.OK: {"en": "ok", "zh": "正常"},
    Cause.CORRECT_REFUSAL: {"en": "correct refusal", "zh": "正确拒答"},
    Cause.NEEDLESS_REFUSAL: {"en": "needless refusal", "zh": "不必要的拒答"},
    Cause.RETRIEVAL_MISSED: {"en": "retrieval missed", "zh": "检索遗漏"},
    Cause.RETRIEVAL_MISRANKED: {"en": "retrieval misranked", "zh": "检索排序靠后"},
    Cause.RETRIEVAL_NOISY: {"en": "retrieval noisy", "zh": "检索噪声"},
    Cause.CONTRADICTS_DOCUMENTS: {"en": "contradicts documents", "zh": "与文档矛盾"},
    Cause.UNFAITHFUL_ANSWER: {"en": "unfaithful answer", "zh": "回答无依据"},
    Cause.MISCITED: {"en": "miscited", "zh": "引用有误"},
    Cause.OFF_QUESTION: {"en": "off question", "zh": "答非所问"},
    Cause.UNDETERMINED: {"en": "undetermined", "zh": "无法判定"},
}

PHRASES: Final[dict[str, dict[Language, str]]] = {
    "of": {"en": "{judged} of {total}", "zh": "{judged}/{total}"},
    "right": {"en": "{right}/{total} right", "zh": "{right}/{total} 正确"},
    "retrieve": {"en": "retrieve", "zh": "检索"},
    "rerank": {"en": "rerank", "zh": "重排"},
    "generate": {"en": "generate", "zh": "生成"},
    "documents": {"en": "{n} documents", "zh": "{n} 篇文档"},
    "document": {"en": "1 document", "zh": "1 篇文档"},
    "no_documents": {"en": "nothing retrieved", "zh": "没有检索到文档"},
    "not_recorded": {"en": "documents not recorded", "zh": "未记录文档"},
    "in_document": {"en": "document {n}", "zh": "文档 {n}"},
    "in_documents": {"en": "documents {n}", "zh": "文档 {n}"},
    "says": {"en": "document {n} says “{quote}”", "zh": "文档 {n} 写的是“{quote}”"},
    "not_found": {"en": "in no document", "zh": "文档中找不到依据"},
    "not_judged": {"en": "not judged", "zh": "未评判"},
    "miscited": {"en": "cites [{n}], which does not say so", "zh": "引用了[{n}]，但该文档没有这样说"},
    "dangling": {"en": "{label} points to no document", "zh": "{label} 没有对应的文档"},
    "answer": {"en": "answer", "zh": "回答"},
    "no_answer": {"en": "no answer recorded", "zh": "未记录回答"},
    "try": {"en": "try: ", "zh": "建议："},
    "also": {"en": "also ", "zh": "另有："},
    "also_join": {"en": ", ", "zh": "、"},
    "advice_join": {"en": "; ", "zh": "；"},
    "missing": {"en": "missing: ", "zh": "缺少："},
    "partial": {"en": "cut short", "zh": "未完成"},
}
