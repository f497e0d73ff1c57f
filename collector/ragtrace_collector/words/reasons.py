"""Why a metric has no number, in words: the codes themselves in English, a table in Chinese."""

from __future__ import annotations

from typing import Final

from ragtrace.model import Language, Status
from ragtrace_collector.words.terms import STATUSES

_ZH: Final[dict[str, str]] = {
    "answer_declines": "回答为拒答",
    "partial_answer": "回答不完整",
    "answer_not_recorded": "未记录回答",
    "empty_answer": "回答为空",
    "question_not_recorded": "未记录问题",
    "documents_not_recorded": "未记录文档",
    "document_ids_not_recorded": "未记录文档 id",
    "nothing_retrieved": "没有检索到文档",
    "no_reference": "没有参考答案",
    "no_gold": "没有标注文档",
    "no_relevant_gold": "标注中没有相关文档",
    "no_claims": "没有论断",
    "no_answer_claims": "回答中没有论断",
    "no_cited_claims": "没有带引用的论断",
    "no_citations": "没有引用标记",
    "no_needs": "问题中没有信息需求",
    "no_verdicts": "没有评判结果",
    "no_questions": "没有生成问题",
    "no_embedder": "没有向量模型",
    "other_language": "与文档语言不同，内置评判无法判断",
    "noncommittal": "回答含糊",
    "unanswerable": "此题无法回答",
    "budget_spent": "预算已用完",
    "deadline": "已过截止时间",
    "timeout": "超时",
    "unreachable": "无法连接",
    "unauthorized": "密钥被拒",
    "rate_limited": "请求过多",
    "quota": "额度已用完",
    "steered": "评判被文本操纵",
    "incomplete": "评判回复不完整",
    "ambiguous": "评判回复自相矛盾",
    "worker_lost": "工作进程中断",
    "worker_down": "工作进程未运行",
}


def reason_words(reason: str, language: Language) -> str:
    """``no_citations`` as it is, or in Chinese where it is one of the table."""
    return _ZH.get(reason, reason) if language == "zh" else reason


def status_words(status: str, reason: str, language: Language) -> str:
    """``not_applicable(no_citations)``; in Chinese ``不适用（没有引用标记）``."""
    if language == "zh":
        return f"{STATUSES[Status(status)]['zh']}（{reason_words(reason, language)}）"
    return f"{status}({reason})"
