"""The reason of a verdict, in one sentence of the interaction's language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ragtrace.judges._local.claims import ClaimText
from ragtrace.judges._local.conflicts import Conflict
from ragtrace.judges._local.corpus import Evidence
from ragtrace.model import Language, Support
from ragtrace.text._bounds import without_bounds
from ragtrace.text.lexicon import chinese, english
from ragtrace.text.numbers import Relation, compare
from ragtrace.text.tokens import content, normalise, words

_SENTENCES = {
    "en": {
        "quantity": "the answer says {said}, document [{rank}] says {found}",
        "unit": "the answer says {said}, document [{rank}] says {found}: the units are not quite the same",
        "name": "the answer says {said}, document [{rank}] says {found}",
        "antonym": "the answer says {said}, document [{rank}] says the opposite: {found}",
        "negation": "the answer and document [{rank}] differ by a negation",
        "only": "the answer says only {said}, document [{rank}] says only {found}",
        "reserved": "the answer says so of {said}, document [{rank}] only of {found}",
        "crossed": "the answer mixes up two statements, document [{rank}] says {found}",
        "supported": "document [{rank}] says so: {quote}",
        "close": "document [{rank}] comes closest, in other words: {quote}",
        "close_but": "document [{rank}] comes closest, but does not mention “{said}”: {quote}",
        "together": "documents {ranks} say so together, none of them alone",
        "number": "no document gives {said}; closest is document [{rank}]",
        "missing": "no document mentions {said}; closest is document [{rank}]",
        "part": "the documents hold only part of this, not “{said}”; closest is document [{rank}]",
        "partly": "the documents hold only part of this; closest is document [{rank}]",
        "nothing": "no document has anything in common with this",
    },
    "zh": {
        "quantity": "回答说 {said}，文档[{rank}]说 {found}",
        "unit": "回答说 {said}，文档[{rank}]说 {found}：单位略有不同",
        "name": "回答说“{said}”，文档[{rank}]说“{found}”",
        "antonym": "回答说“{said}”，文档[{rank}]说的相反：“{found}”",
        "negation": "回答与文档[{rank}]一个肯定一个否定",
        "only": "回答说只有“{said}”，文档[{rank}]说只有“{found}”",
        "reserved": "回答说的是“{said}”，文档[{rank}]说只有“{found}”",
        "crossed": "回答混淆了两件事，文档[{rank}]说“{found}”",
        "supported": "文档[{rank}]如此说：{quote}",
        "close": "文档[{rank}]最接近，但说法不同：{quote}",
        "close_but": "文档[{rank}]最接近，但没有提到“{said}”：{quote}",
        "together": "文档{ranks}合起来支持这一点，单独一篇都不足以支持",
        "number": "没有文档给出 {said}；最接近的是文档[{rank}]",
        "missing": "没有文档提到“{said}”；最接近的是文档[{rank}]",
        "part": "文档只包含其中一部分，没有“{said}”；最接近的是文档[{rank}]",
        "partly": "文档只包含其中一部分；最接近的是文档[{rank}]",
        "nothing": "没有文档与此相关",
    },
}
_QUOTE = 80


def explain(
    claim: ClaimText,
    support: Support,
    probability: float,
    evidence: Evidence | None,
    conflict: Conflict | None,
    *,
    language: Language,
) -> str:
    """Why ``support``, held with ``probability``: what the claim and the nearest document say."""
    sentences = _SENTENCES[language]
    if conflict is not None and (conflict.contradicts or support is Support.SUPPORTED):
        return sentences[conflict.kind].format(
            said=_as_written(conflict.claimed, claim.text),
            found=_cut(_as_written(conflict.found, conflict.passage.text)),
            rank=conflict.passage.rank,
        )
    if evidence is None:
        return sentences["nothing"]
    rank = evidence.best.rank
    if support is Support.SUPPORTED:
        kind, said = _how_sure(claim, evidence, probability)
        return sentences[kind].format(rank=rank, said=_cut(said), quote=_cut(evidence.best.text))
    kind, said = _what_is_missing(claim, evidence)
    return sentences[kind].format(said=_cut(_as_written(said, claim.text)), rank=rank)


def together(ranks: Sequence[int], language: Language) -> str:
    """Why a claim is supported that no document supports alone."""
    named = ", ".join(f"[{rank}]" for rank in ranks)
    return _SENTENCES[language]["together"].format(ranks=named)


def _how_sure(claim: ClaimText, evidence: Evidence, probability: float) -> tuple[str, str]:
    """Which sentence fits a supported claim, and what of it no evidence holds."""
    if claim.normal.rstrip(_END) in evidence.best.normal:
        return "supported", ""
    near = frozenset().union(*(passage.vocabulary for passage in evidence.passages))
    unsaid = _longest_unsaid(claim, near)
    if unsaid:
        return "close_but", unsaid
    return ("supported", "") if probability >= _SURE else ("close", "")


_SURE = 0.6
"""Below it, a claim that counts as supported is told to be close to a document, not to be in it."""
_END = " .。!！"


def _longest_unsaid(claim: ClaimText, held: frozenset[str]) -> str:
    """The longest stretch of the claim's words that are not ``held``, quantities and negators apart; empty
    where it is a single Chinese character or the number of a name, which say little."""
    said = words(_without_quantities(claim))
    longest: tuple[int, int] = (0, 0)
    start = 0
    for end, word in enumerate((*said, "")):
        if word and _is_unsaid(word, held):
            continue
        longest = max(longest, (end - start, -start))
        start = end + 1
    length, begin = longest[0], -longest[1]
    stretch = said[begin : begin + length]
    joined = "".join(stretch) if stretch and stretch[0] > "\u2fff" else " ".join(stretch)
    return joined if len(joined) > 1 and not joined.isdigit() else ""


def _without_quantities(claim: ClaimText) -> str:
    """The claim with a stop for each quantity and each bound: those are compared, not looked up."""
    text = claim.normal
    for quantity in reversed(claim.quantities):
        text = f"{text[: quantity.start]} {_STOP} {text[quantity.end :]}"
    return without_bounds(text, _STOP)


_STOP = "the"
"""A word without content, which ends a stretch."""


def _is_unsaid(word: str, held: frozenset[str]) -> bool:
    kept = content((word,))
    return bool(kept) and kept[0] not in held and word not in _negators()


@cache
def _negators() -> frozenset[str]:
    return english().negators | chinese().negators


def _what_is_missing(claim: ClaimText, evidence: Evidence) -> tuple[str, str]:
    found = [quantity for passage in evidence.passages for quantity in passage.quantities]
    for quantity in claim.quantities:
        if not any(compare(quantity, other) in {Relation.SAME, Relation.UNIT} for other in found):
            return "number", quantity.text
    held = frozenset(word for passage in evidence.passages for word in passage.words)
    names = [name for name in claim.names if name not in held]
    if names:
        return "missing", names[0]
    near = frozenset().union(*(passage.vocabulary for passage in evidence.passages))
    unsaid = _weakest_part(claim, near) or _longest_unsaid(claim, near)
    return ("part", unsaid) if unsaid else ("partly", "")


_PARTS = re.compile(r"[,，;；、]\s*|\s(?=and\s|but\s)|(?<=[\u4e00-\u9fff])(?=并且?|而且|以及|同时|还)")


def _weakest_part(claim: ClaimText, near: frozenset[str]) -> str:
    """Of a claim of several parts, the one that the evidence holds least of, where another is held."""
    parts = [(part.strip(" .。!！"), content(words(normalise(part)))) for part in _PARTS.split(claim.text)]
    shares = [
        (sum(t in near for t in tokens) / len(tokens), part) for part, tokens in parts if len(tokens) > 1
    ]
    if len(shares) < 2 or max(shares)[0] < _HELD or min(shares)[0] >= _HELD:
        return ""
    return min(shares)[1]


_HELD = 0.6


def _as_written(said: str, text: str) -> str:
    """``said``, which may be in lower case, as ``text`` writes it; as it is where it is not in there."""
    found = re.search(re.escape(said), text, re.IGNORECASE)
    return found[0] if found and said else said


def _cut(text: str) -> str:
    return text if len(text) <= _QUOTE else text[: _QUOTE - 1] + "…"
