"""How likely a document helps to answer a question, and how well an answer fits it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from ragtrace.judges._local.alignment import common_subsequence, cosine
from ragtrace.judges._local.corpus import Corpus, find_evidence
from ragtrace.judges._local.questions import NeedText, synonyms
from ragtrace.text._quantities import dimensions

FEATURES = ("coverage", "cosine", "order")


def relevance_features(need: NeedText, corpus: Corpus, known: Mapping[str, float]) -> dict[str, float]:
    """What the relevance of the documents in ``corpus`` (mostly one) to ``need`` is estimated from, each
    0..1.

    ``known`` is :func:`known_tokens` of the same two.
    """
    evidence = find_evidence(dict.fromkeys(known, 1.0), corpus) if known else None
    if evidence is None:
        return dict.fromkeys(FEATURES, coverage(need, known))
    pair = [token for passage in evidence.pair for token in passage.tokens]
    return {
        "coverage": coverage(need, known),
        "cosine": cosine(dict.fromkeys(need.tokens, 1.0), corpus.bag),
        "order": common_subsequence(need.tokens, pair) / len(need.tokens),
    }


def known_tokens(need: NeedText, corpus: Corpus) -> Mapping[str, float]:
    """Which tokens of ``need`` the documents hold: 1 as they stand, less by a synonym or a word built
    alike."""
    vocabulary = corpus.vocabulary
    found: dict[str, float] = {}
    for token in need.tokens:
        if token in vocabulary:
            found[token] = 1.0
        elif any(other in vocabulary for other in synonyms().get(token, ())) or any(
            other in corpus.text for other in need.alternatives.get(token, ())
        ):
            found[token] = _SYNONYM
        elif token[0].isalpha() and token.isascii() and len(token) >= _ROOT and corpus.has_root(token):
            found[token] = _ALIKE
    return found


_SYNONYM, _ALIKE = 0.9, 0.7
_ROOT = 4


def coverage(need: NeedText, known: Mapping[str, float]) -> float:
    """The share of the need's weight that is ``known``."""
    if not known:
        return 0.0
    return sum([weight * known.get(token, 0.0) for token, weight in need.weights.items()]) / need.weight


_MEASURED = frozenset(["length", "mass", "volume", "area", "data", "speed", "temperature"])
_COUNTED = frozenset(["count", "percent", "duration", "age", "times", "frequency", "ordinal"])
_WANTED = {
    "how_many": _COUNTED | _MEASURED,
    "how_long": frozenset({"duration", "date", "clock"}),
    "when": frozenset({"date", "clock", "duration"}),
}
TYPED = frozenset({"how_many", "how_much", "how_long", "when"})
"""Questions whose answers have a form."""
_PERHAPS_A_TIME = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:days?|weeks?|months?|years?|daily|every|when|before|after|until"
    r"|since)\b|[周天月年日时晚]|之前|之后|以前|以后"
)


def gives_kind(kind: str, texts: Sequence[str]) -> bool | None:
    """Whether normalised ``texts`` hold what a question of ``kind`` asks for; ``None`` where no form
    tells."""
    if kind not in TYPED:
        return None
    wanted, found = _WANTED.get(kind), False
    for dimension in chain.from_iterable(map(dimensions, texts)):
        if wanted is None or dimension in wanted:
            return True
        found = True
    timely = kind in {"when", "how_long"} and any(_PERHAPS_A_TIME.search(text) for text in texts)
    return None if timely else found and kind == "how_many"
