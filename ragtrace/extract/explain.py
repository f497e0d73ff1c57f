"""An interaction in plain words: where each field was found, what is missing, and what to do about it."""

from __future__ import annotations

from typing import Final

from ragtrace.model import Interaction, Language

_NAMES: Final[dict[str, dict[Language, str]]] = {
    "question": {"en": "question", "zh": "问题"},
    "rewritten_question": {"en": "rewritten_question", "zh": "改写后的问题"},
    "documents": {"en": "documents", "zh": "文档"},
    "answer": {"en": "answer", "zh": "回答"},
}
_PHRASES: Final[dict[str, dict[Language, str]]] = {
    "dialect": {"en": "dialect: {name}", "zh": "埋点格式：{name}"},
    "found": {"en": "{name}: {size} from {source}", "zh": "{name}：{size}，来自 {source}"},
    "characters": {"en": "{n} characters", "zh": "{n} 个字符"},
    "without_text": {"en": "{n} ({lacking} without text)", "zh": "{n} 篇（{lacking} 篇没有文本）"},
    "documents": {"en": "{n}", "zh": "{n} 篇"},
    "hops": {
        "en": "retrievals: {n} (documents each: {counts})",
        "zh": "检索：{n} 次（各次文档数：{counts}）",
    },
    "not_recorded": {"en": "not recorded", "zh": "未记录"},
    "failed": {"en": "failed: {error}", "zh": "失败：{error}"},
    "partial": {
        "en": "partial: the answer was cut short; it is not judged as a whole one",
        "zh": "未完成：回答被截断，不按完整回答评判",
    },
    "missing": {"en": "missing: {what} ({remedy})", "zh": "缺少：{what}（{remedy}）"},
    "just_missing": {"en": "missing: {what}", "zh": "缺少：{what}"},
}
_REMEDIES: Final[dict[str, dict[Language, str]]] = {
    "question": {
        "en": "put it in the input of the outermost span, or call ragtrace.record_question(question)",
        "zh": "写入最外层 span 的输入，或调用 ragtrace.record_question(question)",
    },
    "answer": {
        "en": "return it from the outermost span, record the model's output, or call record_answer(); if the"
        " model call is in a trace of its own, let the collector stitch them (stitch: calls)",
        "zh": "由最外层 span 返回、记录模型输出，或调用 record_answer()；若模型调用在另一个 trace 中，"
        "请让采集器合并（stitch: calls）",
    },
    "documents": {
        "en": "no retrieval span; a custom retriever that bypasses callbacks needs"
        " ragtrace.record_documents(documents) in it, or @ragtrace.retriever",
        "zh": "没有检索 span；绕过回调的自定义检索器需在其中调用 ragtrace.record_documents(documents)，"
        "或使用 @ragtrace.retriever",
    },
    "documents: the retrieval's documents were not recorded": {
        "en": "the retrieval span has no documents; a custom retriever that bypasses callbacks needs"
        " ragtrace.record_documents(documents) in it, or content capture is off in the instrumentation",
        "zh": "检索 span 没有文档；绕过回调的自定义检索器需在其中调用 ragtrace.record_documents(documents)，"
        "或埋点关闭了内容采集",
    },
    "documents.text": {
        "en": "the retrieval span lists ids only and the prompt does not show which text is whose; capture"
        " content, or call ragtrace.record_documents(documents)",
        "zh": "检索 span 只有 id，提示词也看不出文本各属哪个；请开启内容采集，或调用"
        " ragtrace.record_documents(documents)",
    },
}
_MISSING_ZH: Final[dict[str, str]] = {
    "question": "问题",
    "documents": "文档",
    "documents: the retrieval's documents were not recorded": "文档：检索到的文档未被记录",
    "documents: cut on the way": "文档：途中被截断",
    "documents.text": "文档的文本",
    "documents.order: several lists were put together and no span says how": "文档的顺序：多个列表合并，"
    "没有 span 说明如何合并",
    "answer": "回答",
    "answer: the interaction failed": "回答：交互失败",
}
_CUT: Final[dict[Language, str]] = {
    "en": "raise OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT or OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT in the app",
    "zh": "在应用中调大 OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT 或 OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT",
}


def explain(interaction: Interaction, language: Language = "en") -> list[str]:
    """Lines for people: the dialect, each field with its place, each missing one with its remedy."""
    lines = [_say("dialect", language, name=interaction.dialect)]
    for name, names in _NAMES.items():
        if (source := interaction.sources.get(name)) is not None:
            size = _size(interaction, name, language)
            lines.append(_say("found", language, name=names[language], size=size, source=source))
    lines.extend(_hops(interaction, language))
    if interaction.error is not None:
        lines.append(_say("failed", language, error=interaction.error))
    if interaction.partial:
        lines.append(_say("partial", language))
    lines.extend(_missing(missing, language) for missing in interaction.missing)
    return lines


def _say(phrase: str, language: Language, **values: object) -> str:
    return _PHRASES[phrase][language].format(**values)


def _size(interaction: Interaction, name: str, language: Language) -> str:
    if name == "documents":
        documents = interaction.documents or ()
        lacking = sum(1 for document in documents if document.text is None)
        return _say("without_text" if lacking else "documents", language, n=len(documents), lacking=lacking)
    return _say("characters", language, n=len(getattr(interaction, name) or ""))


def _hops(interaction: Interaction, language: Language) -> list[str]:
    if len(interaction.hops) < 2:
        return []
    counts = ", ".join(
        _say("not_recorded", language) if hop.documents is None else str(len(hop.documents))
        for hop in interaction.hops
    )
    return [_say("hops", language, n=len(interaction.hops), counts=counts)]


def _missing(missing: str, language: Language) -> str:
    remedy = _REMEDIES.get(missing, _CUT if "cut" in missing else None)
    what = _MISSING_ZH.get(missing, missing) if language == "zh" else missing
    if remedy is None:
        return _say("just_missing", language, what=what)
    return _say("missing", language, what=what, remedy=remedy[language])
