"""How likely a document helps to answer a question, and how well an answer fits it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ragtrace.judges._local.alignment import common_subsequence, cosine
from ragtrace.judges._local.corpus import Corpus, find_evidence
from ragtrace.judges._local.questions import NeedText, synonyms
from ragtrace.text.lexicon import english
from ragtrace.text.numbers import quantities

FEATURES = ("coverage", "cosine", "order")


def relevance_features(need: NeedText, corpus: Corpus) -> dict[str, float]:
    """What the relevance of the documents in ``corpus`` (mostly one) to ``need`` is estimated from, each 0..1."""
    evidence = find_evidence(need.weights, corpus)
    if evidence is None:
        return dict.fromkeys(FEATURES, 0.0)
    pair = [token for passage in evidence.pair for token in passage.tokens]
    bag = Counter(token for passage in corpus.passages for token in passage.tokens)
    return {
        "coverage": coverage(need.weights, corpus.postings),
        "cosine": cosine(dict.fromkeys(need.tokens, 1.0), bag),
        "order": common_subsequence(need.tokens, pair) / len(need.tokens),
    }


def coverage(weights: Mapping[str, float], known: Mapping[str, object] | frozenset[str]) -> float:
    """The share of ``weights`` whose tokens, or words that mean the same, are ``known``."""
    total = sum(weights.values())
    held = sum(weight for token, weight in weights.items() if is_known(token, known))
    return held / total if total else 0.0


def is_known(token: str, known: Mapping[str, object] | frozenset[str]) -> bool:
    """Whether ``token`` or a synonym of it is among ``known``."""
    return token in known or any(other in known for other in synonyms().get(token, ()))


_TYPED = {
    "how_many": frozenset({"count", "percent", "duration", "age", "times", "ordinal"}),
    "how_long": frozenset({"duration", "date", "clock"}),
    "when": frozenset({"date", "clock", "duration"}),
}


def gives_kind(kind: str, texts: Sequence[str]) -> bool | None:
    """Whether normalised ``texts`` hold what a question of ``kind`` asks for; ``None`` where no form tells."""
    if kind not in {"how_many", "how_much", "how_long", "when"}:
        return None
    found = {q.dimension for text in texts for q in quantities(text)}
    if kind == "when" and any(word in text for text in texts for word in _calendar_words()):
        return True
    wanted = _TYPED.get(kind)
    return bool(found & wanted) if wanted and kind != "how_many" else bool(found)


def _calendar_words() -> Sequence[str]:
    return (*english().months, "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
            "周", "星期", "每月", "月底", "年底", "daily", "every", "when", "before", "after", "之前", "之后", "时")  # fmt: skip
