"""One sentence a score, in the user's language: what was counted, and how it came out."""

from __future__ import annotations

from collections.abc import Mapping

from ragtrace.model import Language, Score

_NOTHING: Mapping[Language, str] = {
    "en": "nothing was retrieved",
    "zh": "没有检索到任何文档",
}
_SHARES: Mapping[str, Mapping[Language, str]] = {
    "faithfulness": {
        "en": "{hits} of {n} claims are supported by the documents",
        "zh": "{n} 条论断中有 {hits} 条得到文档支持",
    },
    "context_recall": {
        "en": "the documents cover {hits} of {n} points that the answer needs",
        "zh": "回答所需的 {n} 个要点中，文档覆盖了 {hits} 个",
    },
    "context_noise": {
        "en": "{hits} of {n} documents are not relevant",
        "zh": "{n} 篇文档中有 {hits} 篇不相关",
    },
    "citation_presence": {
        "en": "{hits} of {n} claims carry a citation",
        "zh": "{n} 条论断中有 {hits} 条带引用",
    },
    "citation_correctness": {
        "en": "{hits} of {n} citations point to a document that supports the claim",
        "zh": "{n} 处引用中有 {hits} 处指向能支持论断的文档",
    },
    "citation_coverage": {
        "en": "{hits} of {n} claims are covered by a citation that supports them",
        "zh": "{n} 条论断中有 {hits} 条有正确的引用支撑",
    },
}
_PRECISION: Mapping[Language, str] = {
    "en": "{relevant} of {n} documents are relevant, the first at rank {first_relevant}",
    "zh": "{n} 篇文档中有 {relevant} 篇相关，第一篇相关文档排在第 {first_relevant} 位",
}
_NONE_RELEVANT: Mapping[Language, str] = {
    "en": "none of {n} documents is relevant",
    "zh": "{n} 篇文档都不相关",
}
_RELEVANCY: Mapping[Language, str] = {
    "en": "mean likeness of the question to {n} questions that the answer would answer",
    "zh": "原问题与答案所能回答的 {n} 个问题的平均相似度",
}
_ESTIMATE: Mapping[Language, str] = {
    "en": "estimated fit of the answer to the question",
    "zh": "答案与问题匹配程度的估计值",
}
_CORRECTNESS: Mapping[Language, str] = {
    "en": "of the reference's claims the answer makes {tp} and misses {fn}; it makes {fp} more",
    "zh": "参考答案的要点中答对 {tp} 个、遗漏 {fn} 个，另有 {fp} 条参考答案没有的论断",
}
_IDENTICAL: Mapping[Language, str] = {
    "en": "the answer is the reference, word for word",
    "zh": "答案与参考答案完全一致",
}


def explanation(score: Score, language: Language) -> str | None:
    """What ``score`` says, in one sentence; ``None`` for metrics that are not ours."""
    template = _template(score)
    if template is None:
        return None
    n = score.n_judged or 0
    try:
        return template[language].format_map(dict(score.evidence) | {"n": n, "hits": round(score.value * n)})
    except KeyError:  # a metric of a user's own under one of our names, with evidence of its own
        return None


def _template(score: Score) -> Mapping[Language, str] | None:
    if score.basis == "nothing_retrieved":
        return _NOTHING
    match score.metric:
        case "context_precision":
            return _PRECISION if score.evidence.get("first_relevant") else _NONE_RELEVANT
        case "answer_relevancy":
            return _ESTIMATE if score.basis == "estimate" else _RELEVANCY
        case "answer_correctness":
            return _IDENTICAL if score.basis == "identical" else _CORRECTNESS
        case _:
            return _SHARES.get(score.metric)
