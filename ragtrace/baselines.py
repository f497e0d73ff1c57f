"""What word overlap alone says of labelled rows: the scores that a judge has to beat.

All are plain counts over words and Chinese characters, none is fitted or calibrated, so that only their order
means anything. Of several references the likest counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ragtrace.labelled import LabelledRow, Metric
from ragtrace.text.sentences import sentences
from ragtrace.text.tokens import content, normalise, words

_ARTICLES = frozenset({"a", "an", "the"})

Weights = Callable[[str], float]
"""Word → how much it counts."""


def baseline_scores(rows: Sequence[LabelledRow]) -> list[Mapping[str, float]]:
    """For each row: baseline → score in 0..1; which baselines there are hangs on the row's metric.

    support       ``overlap`` = share of the claim's content words found in the documents; ``tfidf`` = cosine
                  of the claim and its nearest sentence
    relevance     ``overlap`` = share of the question's content words found; ``tfidf`` = cosine of question
                  and document
    correctness   ``token_f1``, ``reference_recall`` = share of the reference's words that the answer says

    Word weights of ``tfidf`` are log((1 + documents) / (1 + documents with the word)) + 1, over the documents
    of ``rows``.
    """
    weigh = _weights([text for row in rows for text in _texts(row)])
    return [_SCORERS[row.metric](row, weigh) for row in rows]


def _support(row: LabelledRow, weigh: Weights) -> Mapping[str, float]:
    claim = _content(row.claim or row.interaction.answer or "")
    held = [text[start:end] for text in _texts(row) for start, end in sentences(text)]
    return {
        "overlap": _recall(claim, [token for text in _texts(row) for token in _content(text)]),
        "tfidf": max((_cosine(claim, _content(sentence), weigh) for sentence in held), default=0.0),
    }


def _relevance(row: LabelledRow, weigh: Weights) -> Mapping[str, float]:
    question = _content(row.interaction.question or "")
    documents = [_content(text) for text in _texts(row)]
    return {
        "overlap": max((_recall(question, document) for document in documents), default=0.0),
        "tfidf": max((_cosine(question, document, weigh) for document in documents), default=0.0),
    }


def _correctness(row: LabelledRow, weigh: Weights) -> Mapping[str, float]:
    one = row.interaction
    answer = _plain(one.answer or "")
    references = [_plain(text) for text in (one.reference, *one.other_references) if text]
    return {
        "token_f1": max((token_f1(answer, reference) for reference in references), default=0.0),
        "reference_recall": max((_recall(reference, answer) for reference in references), default=0.0),
    }


_SCORERS: Mapping[Metric, Callable[[LabelledRow, Weights], Mapping[str, float]]] = {
    "support": _support,
    "relevance": _relevance,
    "correctness": _correctness,
}


def token_f1(answer: Sequence[str], reference: Sequence[str]) -> float:
    """F1 of two bags of words (Rajpurkar et al. 2016)."""
    shared = sum((Counter(answer) & Counter(reference)).values())
    return 2 * shared / (len(answer) + len(reference)) if shared else 0.0


def _recall(wanted: Sequence[str], said: Sequence[str]) -> float:
    """The share of the distinct words ``wanted`` that were ``said``."""
    return len(set(wanted) & set(said)) / len(set(wanted)) if wanted else 0.0


def _cosine(one: Sequence[str], other: Sequence[str], weigh: Weights) -> float:
    a, b = ({token: n * weigh(token) for token, n in Counter(side).items()} for side in (one, other))
    product = math.fsum(value * b[token] for token, value in a.items() if token in b)
    norms = math.sqrt(math.fsum(v * v for v in a.values()) * math.fsum(v * v for v in b.values()))
    return product / norms if norms else 0.0


def _weights(documents: Sequence[str]) -> Weights:
    holding = Counter(token for text in documents for token in set(_content(text)))
    return lambda token: math.log((1 + len(documents)) / (1 + holding[token])) + 1.0


def _texts(row: LabelledRow) -> list[str]:
    return [document.text for document in row.interaction.documents or () if document.text]


def _content(text: str) -> list[str]:
    return content(words(normalise(text)))


def _plain(text: str) -> list[str]:
    return [token for token in words(normalise(text)) if token not in _ARTICLES]
