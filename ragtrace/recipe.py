"""The lexical recipe: ten English or seven Chinese measurements of a claim against its documents, each
standardised, cut at three deviations, and added up with equal weight.

In a study of claim support nothing that was fitted ranked claims of other data better, so it is the bar that
a judge without a model has to clear. Means and deviations are those of the claims at hand: nothing is fitted
in advance, and only the order of the scores means anything. It shares nothing with the embedded judge but
the reading of words, numbers and word lists.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, pstdev

from ragtrace.model import Language
from ragtrace.overlap import Weights, cosine, longest_shared
from ragtrace.text.language import detect_language
from ragtrace.text.lexicon import chinese, english
from ragtrace.text.numbers import Quantity, quantities
from ragtrace.text.sentences import sentences
from ragtrace.text.tokens import content, normalise, words

CUT = 3.0
"""Deviations beyond which a measurement counts no more."""
_NARROWEST = 5
_GRAM = 5
_UNIVERSALS = ("唯一", "所有", "全部", "总是", "最", "只有", "必须", "一定")
_CAPITALISED = re.compile(r"(?<!^)(?<![.!?]\s)(?<![\w'])[A-Z][\w'-]*")

Measured = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence, or a claim: its normal form, its words, their content in order, its quantities."""

    normal: str
    words: tuple[str, ...]
    tokens: tuple[str, ...]
    quantities: tuple[Quantity, ...]

    @property
    def numbers(self) -> frozenset[float]:
        """All values that it states."""
        return frozenset(value for quantity in self.quantities for value in _values(quantity))


def recipe_scores(rows: Sequence[tuple[str, Sequence[str]]], weigh: Weights) -> list[float]:
    """For each (claim, texts of its documents) a score in 0..1 that says how well they support it.

    Each language is standardised apart. ``weigh`` is the weight of a content word.
    """
    languages = [detect_language(claim) for claim, _ in rows]
    measured = [
        measure(claim, texts, weigh, language)
        for (claim, texts), language in zip(rows, languages, strict=True)
    ]
    scales = {
        language: _scales([m for m, one in zip(measured, languages, strict=True) if one == language])
        for language in set(languages)
    }
    return [_squashed(found, scales[language]) for found, language in zip(measured, languages, strict=True)]


def measure(claim: str, texts: Sequence[str], weigh: Weights, language: Language) -> Measured:
    """The measurements on a claim, each signed so that more means better supported."""
    one, documents = read(claim), [_sentences(text) for text in texts]
    near = evidence(one, [sentence for document in documents for sentence in document], weigh)
    if language == "zh":
        return _chinese(one, documents, near, weigh)
    return _english(claim, one, documents, near, weigh)


def read(text: str) -> Passage:
    """Read one sentence or claim."""
    normal = normalise(text)
    found = tuple(words(normal))
    return Passage(normal, found, tuple(content(found)), quantities(normal))


def evidence(claim: Passage, held: Sequence[Passage], weigh: Weights) -> list[Passage]:
    """The sentence that holds most of the claim, the one that adds most to it, and the next best: at most
    five."""
    if not held:
        return []
    ranked = sorted(held, key=lambda sentence: -_value(claim.tokens, sentence, weigh))
    open_ = [token for token in claim.tokens if token not in ranked[0].tokens]
    adding = max(held, key=lambda sentence: _value(open_, sentence, weigh)) if open_ else ranked[0]
    chosen = {id(sentence): sentence for sentence in (ranked[0], adding, *ranked[1:4])}
    return list(chosen.values())[:5]


def _english(
    text: str, claim: Passage, documents: Sequence[Sequence[Passage]], near: Sequence[Passage], weigh: Weights
) -> Measured:
    held = [sentence for document in documents for sentence in document]
    tokens, pair = claim.tokens, _joined(near[:2])
    n = max(1, len(tokens))
    spoken = frozenset(word for sentence in held for word in sentence.words)
    names = {match[0].lower().removesuffix("'s") for match in _CAPITALISED.finditer(text)}
    return {
        "window": max((_window(tokens, _joined(d), weigh) for d in documents), default=0.0),
        "number_context": _number_context(claim, held, near, weigh),
        "grams": _grams(tokens, " ".join(sentence.normal for sentence in held)),
        "cosine": cosine(tokens, pair, weigh),
        "order": longest_shared(tokens, pair, lambda _: 1.0) / n,
        "names": -float(min(4, sum(not set(name.split("-")) <= spoken for name in names))),
        "number_conflicts": -float(min(3, _number_conflicts(claim, near))),
        "antonyms": -float(min(2, _antonyms(claim, near))),
        "missing_run": -_missing_run(tokens, held) / n,
        "question": -float("?" in text),
    }


def _chinese(
    claim: Passage, documents: Sequence[Sequence[Passage]], near: Sequence[Passage], weigh: Weights
) -> Measured:
    stated = frozenset(value for document in documents for sentence in document for value in sentence.numbers)
    by_evidence = frozenset(value for sentence in near for value in sentence.numbers)
    tokens, pair = claim.tokens, _joined(near[:2])
    text = "".join(sentence.normal for sentence in near[:2])
    weight = sum(map(weigh, tokens)) or 1.0
    best = near[0].normal if near else ""
    return {
        "weighted_order": longest_shared(tokens, pair, weigh) / weight,
        "order": longest_shared(tokens, pair, lambda _: 1.0) / max(1, len(tokens)),
        "numbers": -len(claim.numbers - stated) / max(1, len(claim.numbers)),
        "numbers_near": -float(len(claim.numbers - by_evidence)),
        "universals": -float(sum(word in claim.normal and word not in text for word in _UNIVERSALS)),
        "antonyms": -float(_chinese_antonyms(claim.normal, best)),
        "negation": -float(_negations(claim.normal) % 2 != _negations(best) % 2),
    }


# --- single measurements


def _value(wanted: Sequence[str], sentence: Passage, weigh: Weights) -> float:
    """The weight of what a sentence holds, less for long ones: they hold some of everything."""
    held = sum(weigh(token) for token in set(wanted).intersection(sentence.tokens))
    return held / (1.0 + 0.12 * math.log1p(len(sentence.tokens)))


def _window(claim: Sequence[str], tokens: Sequence[str], weigh: Weights) -> float:
    """The largest share of the claim's weight inside a stretch of the document as long as the claim."""
    wanted, width = {token: weigh(token) for token in claim}, max(_NARROWEST, len(claim))
    inside: Counter[str] = Counter()
    best = held = 0.0
    for place, token in enumerate(tokens):
        if token in wanted:
            held += 0.0 if inside[token] else wanted[token]
            inside[token] += 1
        if place >= width and (left := tokens[place - width]) in wanted:
            inside[left] -= 1
            held -= 0.0 if inside[left] else wanted[left]
        best = max(best, held)
    return best / sum(wanted.values()) if wanted else 0.0


def _number_context(
    claim: Passage, held: Sequence[Passage], near: Sequence[Passage], weigh: Weights
) -> float:
    """The worst over the claim's numbers of how much of the claim stands beside that number."""
    if not claim.numbers:
        return _coverage(claim, near[0], weigh) if near else 0.0
    return min(
        max(
            (_coverage(claim, sentence, weigh) for sentence in held if value in sentence.numbers), default=0.0
        )
        for value in claim.numbers
    )


def _coverage(claim: Passage, sentence: Passage, weigh: Weights) -> float:
    wanted = set(claim.tokens)
    total = sum(map(weigh, wanted))
    return sum(map(weigh, wanted.intersection(sentence.tokens))) / total if total else 0.0


def _grams(tokens: Sequence[str], text: str) -> float:
    """The share of the claim's five-letter pieces that the documents hold, long words counting more."""
    total = found = 0.0
    for token in tokens:
        pieces = [token[n : n + _GRAM] for n in range(max(1, len(token) - _GRAM + 1))]
        total += len(token)
        found += len(token) * sum(piece in text for piece in pieces) / len(pieces)
    return found / total if total else 0.0


def _number_conflicts(claim: Passage, near: Sequence[Passage]) -> int:
    """Quantities of the claim that the evidence lacks while it has another one of the same unit."""
    stated = frozenset(value for sentence in near for value in sentence.numbers)
    units = {(quantity.dimension, quantity.unit) for sentence in near for quantity in sentence.quantities}
    return sum(
        not stated.issuperset(_values(quantity)) and (quantity.dimension, quantity.unit) in units
        for quantity in claim.quantities
    )


def _values(quantity: Quantity) -> set[float]:
    if quantity.dimension == "date":
        return {float(part) for part in quantity.date if part is not None}
    return {quantity.low, quantity.high}


def _antonyms(claim: Passage, near: Sequence[Passage]) -> int:
    best = frozenset(near[0].words if near else ())
    opposites = english().antonyms
    return sum(
        word not in best and not best.isdisjoint(opposites[word])
        for word in set(claim.words)
        if word in opposites
    )


def _chinese_antonyms(claim: str, best: str) -> int:
    return sum(
        word in claim and word not in best and any(other in best for other in opposites)
        for word, opposites in chinese().antonyms.items()
        if len(word) > 1
    )


def _negations(text: str) -> int:
    for exception in chinese().negator_exceptions:
        text = text.replace(exception, "")
    return sum(char in chinese().negators for char in text)


def _missing_run(tokens: Sequence[str], held: Sequence[Passage]) -> int:
    """The longest run of the claim's words that are in no document."""
    known = frozenset(token for sentence in held for token in sentence.tokens)
    longest = run = 0
    for token in tokens:
        run = 0 if token in known else run + 1
        longest = max(longest, run)
    return longest


# --- the sum


def _scales(measured: Sequence[Measured]) -> Mapping[str, tuple[float, float]]:
    """Measurement → its mean and deviation; one that never varies is left out."""
    columns = {name: [found[name] for found in measured] for name in measured[0]}
    return {name: (fmean(column), pstdev(column)) for name, column in columns.items() if pstdev(column) > 0}


def _squashed(found: Measured, scales: Mapping[str, tuple[float, float]]) -> float:
    total = sum(
        max(-CUT, min(CUT, (found[name] - mean) / deviation)) for name, (mean, deviation) in scales.items()
    )
    return 1.0 / (1.0 + math.exp(-total))


def _joined(held: Sequence[Passage]) -> list[str]:
    return [token for sentence in held for token in sentence.tokens]


@lru_cache(maxsize=256)
def _sentences(text: str) -> tuple[Passage, ...]:
    return tuple(read(text[start:end]) for start, end in sentences(text))
