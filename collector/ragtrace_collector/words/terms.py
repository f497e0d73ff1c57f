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
    "uncovered": {"en": "in no document: {need}", "zh": "文档中没有：{need}"},
    "unanswered": {"en": "not answered: {need}", "zh": "没有回答：{need}"},
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

HEADS: Final[dict[str, dict[Language, str]]] = {
    "row": {"en": "row", "zh": "行"},
    "question": {"en": "question", "zh": "问题"},
    "faithfulness": {"en": "faith", "zh": "忠实"},
    "answer_relevancy": {"en": "relev", "zh": "切题"},
    "context_precision": {"en": "prec", "zh": "精确"},
    "context_recall": {"en": "recall", "zh": "召回"},
    "citation_correctness": {"en": "cites", "zh": "引用"},
    "answer_correctness": {"en": "correct", "zh": "正确"},
    "path": {"en": "path", "zh": "路径"},
    "diagnosis": {"en": "diagnosis", "zh": "诊断"},
    "metric": {"en": "metric", "zh": "指标"},
    "mean": {"en": "mean", "zh": "均值"},
    "scored": {"en": "scored", "zh": "已评分"},
    "coverage": {"en": "coverage", "zh": "覆盖率"},
    "why_not": {"en": "not scored, and why", "zh": "未评分及原因"},
    "rows": {"en": "rows", "zh": "行数"},
    "baseline": {"en": "baseline", "zh": "基线"},
    "now": {"en": "now", "zh": "本次"},
    "difference": {"en": "difference", "zh": "差值"},
}
"""Heads of tables; those of metrics in their shortest form."""

SUMMARY: Final[dict[str, dict[Language, str]]] = {
    "n_of": {"en": "{n} of {total}", "zh": "{n}/{total}"},
    "interactions": {"en": "{n} interactions: ", "zh": "共 {n} 次交互："},
    "rows": {"en": "{n} rows", "zh": "{n} 行"},
    "left_out": {"en": ", {n} bad ones left out", "zh": "，略去 {n} 个坏行"},
    "known": {"en": ", {n} known before", "zh": "，{n} 行先前已评"},
    "app_failed": {
        "en": ", the app failed on {n} (first: row {row}, {error})",
        "zh": "，应用在 {n} 行上出错（首先是第 {row} 行，{error}）",
    },
    "not_scored": {"en": "{n}× {reason}: {names}", "zh": "{n}× {reason}：{names}"},
    "paths": {"en": "failure paths:  ", "zh": "失败路径："},
    "A": {"en": "retrieval missed", "zh": "检索遗漏"},
    "B": {"en": "misranked or noisy", "zh": "排序靠后或有噪声"},
    "C": {"en": "unfaithful", "zh": "不忠实"},
    "D": {"en": "off the question", "zh": "答非所问"},
    "anyway": {"en": "compared although {why}", "zh": "仍作比较，尽管：{why}"},
    "judge": {
        "en": "judge {name}, revision {revision}: {calls} calls, {read} + {written} tokens",
        "zh": "评判器 {name}，版本 {revision}：调用 {calls} 次，令牌 {read} + {written}",
    },
    "estimated": {
        "en": "; the tokens of {n} calls are estimates",
        "zh": "；其中 {n} 次调用的 token 数为估计值",
    },
    "local": {"en": "; {n} claims decided without it", "zh": "；{n} 条论断未经它即判定"},
    "better": {"en": "better", "zh": "变好"},
    "worse": {"en": "worse", "zh": "变差"},
    "no difference shown": {"en": "no difference shown", "zh": "未见差异"},
}
"""Sentences of the summaries."""
