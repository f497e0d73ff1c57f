"""The reason of a verdict, in one sentence of the interaction's language."""

from __future__ import annotations

from ragtrace.judges._local.claims import ClaimText
from ragtrace.judges._local.contradictions import Conflict
from ragtrace.judges._local.corpus import Evidence
from ragtrace.model import Language, Support
from ragtrace.text.numbers import Relation, compare

_SENTENCES = {
    "en": {
        "quantity": "the answer says {said}, document [{rank}] says {found}",
        "unit": "the answer says {said}, document [{rank}] says {found}: the units are not quite the same",
        "name": "the answer says {said}, document [{rank}] says {found}",
        "antonym": "the answer says {said}, document [{rank}] says the opposite: {found}",
        "negation": "the answer and document [{rank}] differ by a negation",
        "supported": "document [{rank}] says so: {quote}",
        "number": "no document gives {said}; closest is document [{rank}]",
        "missing": "no document mentions {said}; closest is document [{rank}]",
        "partly": "the documents hold only part of this; closest is document [{rank}]",
        "nothing": "no document has anything in common with this",
    },
    "zh": {
        "quantity": "回答说 {said}，文档[{rank}]说 {found}",
        "unit": "回答说 {said}，文档[{rank}]说 {found}：单位略有不同",
        "name": "回答说“{said}”，文档[{rank}]说“{found}”",
        "antonym": "回答说“{said}”，文档[{rank}]说的相反：“{found}”",
        "negation": "回答与文档[{rank}]一个肯定一个否定",
        "supported": "文档[{rank}]如此说：{quote}",
        "number": "没有文档给出 {said}；最接近的是文档[{rank}]",
        "missing": "没有文档提到“{said}”；最接近的是文档[{rank}]",
        "partly": "文档只包含其中一部分；最接近的是文档[{rank}]",
        "nothing": "没有文档与此相关",
    },
}
_QUOTE = 80


def explain(
    claim: ClaimText,
    support: Support,
    evidence: Evidence | None,
    conflict: Conflict | None,
    language: Language,
) -> str:
    """Why ``support``: what the claim says and what the nearest document says."""
    sentences = _SENTENCES[language]
    if conflict is not None and (conflict.contradicts or support is Support.SUPPORTED):
        return sentences[conflict.kind].format(
            said=conflict.claimed, found=_cut(conflict.found), rank=conflict.passage.rank
        )
    if evidence is None:
        return sentences["nothing"]
    rank = evidence.best.rank
    if support is Support.SUPPORTED:
        return sentences["supported"].format(rank=rank, quote=_cut(evidence.best.text))
    kind, said = _what_is_missing(claim, evidence)
    return sentences[kind].format(said=said, rank=rank)


def _what_is_missing(claim: ClaimText, evidence: Evidence) -> tuple[str, str]:
    found = [quantity for passage in evidence.passages for quantity in passage.quantities]
    for quantity in claim.quantities:
        if not any(compare(quantity, other) in {Relation.SAME, Relation.UNIT} for other in found):
            return "number", quantity.text
    held = frozenset(word for passage in evidence.passages for word in passage.words)
    names = [name for name in claim.names if name not in held]
    return ("missing", names[0]) if names else ("partly", "")


def _cut(text: str) -> str:
    return text if len(text) <= _QUOTE else text[: _QUOTE - 1] + "…"
