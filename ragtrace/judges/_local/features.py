"""What the embedded judge measures on a claim and its evidence, before any weight.

Every feature is signed so that more means better supported: what speaks against a claim is negative.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import islice, pairwise

from ragtrace.judges._local.alignment import (
    best_window,
    common_subsequence,
    longest_missing_run,
)
from ragtrace.judges._local.claims import ClaimText, count_negations
from ragtrace.judges._local.conflicts import Conflict
from ragtrace.judges._local.corpus import Corpus, Evidence
from ragtrace.text.lexicon import chinese
from ragtrace.text.numbers import Relation, compare
from ragtrace.text.tokens import content, words

_NARROWEST = 5
"""A window is never narrower than so many content tokens."""
_MOST_NAMES, _MOST_ANTONYMS = 4, 2
_ALIKE, _ROOTED = 0.6, 4
"""What a word of at least so many letters counts that only begins like one of the documents."""


def english_features(
    claim: ClaimText, evidence: Evidence, corpus: Corpus, conflict: Conflict | None
) -> dict[str, float]:
    """The measurements on an English claim with at least one content token."""
    n = len(claim.tokens)
    missing = _missing_numbers(claim, evidence, corpus)
    return {
        "window": best_window(claim.weights, max(_NARROWEST, n), corpus),
        "number_context": _number_context(claim, evidence, corpus, missing),
        "order": _order(claim, evidence),
        "pairs": _pairs(claim, corpus),
        "alike": _alike(claim, evidence, corpus),
        "missing_run": -longest_missing_run(claim.tokens, corpus.vocabulary) / n,
        "missing_numbers": -len(missing),
        "names_anywhere": -min(_MOST_NAMES, sum(not _has_name(name, corpus) for name in claim.names)),
        "names_near": -min(_MOST_NAMES, _names_missing(claim, evidence)),
        "conflict": -float(_contradicts(conflict)),
        "question": -float("?" in claim.text),
    }


def chinese_features(
    claim: ClaimText, evidence: Evidence, corpus: Corpus, conflict: Conflict | None
) -> dict[str, float]:
    """The measurements on a Chinese claim with at least one content character."""
    near = "".join(passage.normal for passage in evidence.pair)
    best = evidence.best
    negated = claim.negations > 0 and not count_negations(best.normal, best.words)
    return {
        "order": _order(claim, evidence),
        "negation": -float(negated),
        "universals": -float(len(_universals(claim.normal) - _universals(near))),
        "antonyms": -min(_MOST_ANTONYMS, _antonyms_zh(claim.normal, best.normal)),
        "conflict": -float(_contradicts(conflict)),
    }


def _order(claim: ClaimText, evidence: Evidence) -> float:
    """The share of the claim's content that the two best passages hold in the claim's order."""
    pair = [token for passage in evidence.pair for token in passage.tokens]
    return common_subsequence(claim.tokens, pair) / len(claim.tokens)


def _pairs(claim: ClaimText, corpus: Corpus) -> float:
    """The share of the claim's neighbouring content tokens that are neighbours in a document."""
    pairs = list(pairwise(claim.tokens))
    if not pairs:
        return float(claim.tokens[0] in corpus.vocabulary)
    return sum(corpus.has_pair(pair) for pair in pairs) / len(pairs)


def _alike(claim: ClaimText, evidence: Evidence, corpus: Corpus) -> float:
    """The share of the claim's content in the two best passages; a word built alike anywhere counts in
    part."""
    near = frozenset().union(*(passage.vocabulary for passage in evidence.pair))
    return sum(1.0 if token in near else _built_alike(token, corpus) for token in claim.tokens) / len(
        claim.tokens
    )


def _built_alike(token: str, corpus: Corpus) -> float:
    return _ALIKE if len(token) >= _ROOTED and token.isalpha() and corpus.has_root(token) else 0.0


def _missing_numbers(claim: ClaimText, evidence: Evidence, corpus: Corpus) -> frozenset[str]:
    """The claim's numbers that no document has, neither as they stand nor in another unit."""
    missing = frozenset(t for t in claim.weights if t[0].isdigit() and t not in corpus.vocabulary)
    if not missing:
        return missing
    stated = [quantity for passage in evidence.passages for quantity in passage.quantities]
    converted = (
        token
        for quantity in claim.quantities
        if any(q.unit != quantity.unit and compare(quantity, q) is Relation.SAME for q in stated)
        for token in content(words(quantity.text))
    )
    return missing.difference(converted)


def _number_context(claim: ClaimText, evidence: Evidence, corpus: Corpus, missing: frozenset[str]) -> float:
    """The worst over the claim's numbers of how much of the claim stands by that number in a passage.

    0 where a number is nowhere; without numbers, the coverage by the best passage.
    """
    if missing:
        return 0.0
    numbers = [t for t in claim.weights if t[0].isdigit() and t in corpus.vocabulary]
    if not numbers:
        return evidence.coverage
    held = corpus.held(claim.weights)
    # Of a long text only candidates are held: a number that many passages have may be in none of them.
    worst = min(
        max(held.get(index, 0.0) for index in islice(corpus.holders(number), corpus.limit))
        for number in numbers
    )
    return worst / sum(claim.weights.values())


def _has_name(name: str, corpus: Corpus) -> bool:
    return name in corpus.words or all(part in corpus.words for part in name.split("-"))


def _names_missing(claim: ClaimText, evidence: Evidence) -> int:
    return sum(all(name not in passage.normal for passage in evidence.passages) for name in claim.names)


def _antonyms_zh(claim: str, best: str) -> int:
    """Words of the claim whose opposite the best passage has instead.

    Single characters are pieces of other words too often to be told apart.
    """
    table = chinese().antonyms
    return sum(
        word not in best and any(other in best and other not in claim for other in table[word])
        for word in _words_with_antonym(claim)
    )


@lru_cache(maxsize=256)  # a claim is held against all documents, and against each that it cites
def _words_with_antonym(claim: str) -> frozenset[str]:
    return frozenset(_antonym_pattern().findall(claim))


@cache
def _antonym_pattern() -> re.Pattern[str]:
    return _any_of(word for word in chinese().antonyms if len(word) > 1)


@cache
def _universal_pattern() -> re.Pattern[str]:
    return _any_of(chinese().universals)


@lru_cache(maxsize=256)
def _universals(text: str) -> frozenset[str]:
    return frozenset({_SAME_UNIVERSAL.get(word, word) for word in _universal_pattern().findall(text)})


_SAME_UNIVERSAL = {"只有": "仅", "唯一": "仅", "全部": "所有", "一律": "都", "均": "都"}


def _any_of(listed: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(sorted(map(re.escape, listed), key=len, reverse=True)))


def _contradicts(conflict: Conflict | None) -> bool:
    return conflict is not None and conflict.contradicts
