"""What word overlap alone says of labelled rows: the scores that a judge has to beat.

All are counts over words and Chinese characters, none is fitted or calibrated, so that only their order means
anything. Of several references the likest counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ragtrace.labelled import LabelledRow, Metric
from ragtrace.overlap import Weights, content_of, cosine, document_weights, recall, token_f1
from ragtrace.recipe import recipe_scores
from ragtrace.text.sentences import sentences
from ragtrace.text.tokens import normalise, words

_ARTICLES = frozenset({"a", "an", "the"})


def baseline_scores(rows: Sequence[LabelledRow]) -> list[Mapping[str, float]]:
    """For each row: baseline → score in 0..1; which baselines there are hangs on the row's metric.

    support       ``overlap`` = share of the claim's content words found in the documents; ``tfidf`` = cosine
                  of the claim and its nearest sentence; ``recipe`` = ten measurements (seven in Chinese) with
                  equal weight, standardised over ``rows`` (:mod:`ragtrace.recipe`)
    relevance     ``overlap`` = share of the question's content words found; ``tfidf`` = cosine of question
                  and document
    correctness   ``token_f1``, ``reference_recall`` = share of the reference's words that the answer says

    Word weights of ``tfidf`` and ``recipe`` are those of :func:`ragtrace.overlap.document_weights` over the
    documents of ``rows``.
    """
    weigh = document_weights([text for row in rows for text in _texts(row)])
    found = [_SCORERS[row.metric](row, weigh) for row in rows]
    supports = [place for place, row in enumerate(rows) if row.metric == "support"]
    recipe = recipe_scores([(_claim(rows[place]), _texts(rows[place])) for place in supports], weigh)
    for place, score in zip(supports, recipe, strict=True):
        found[place] = {**found[place], "recipe": score}
    return found


def _support(row: LabelledRow, weigh: Weights) -> Mapping[str, float]:
    claim = content_of(_claim(row))
    held = [text[start:end] for text in _texts(row) for start, end in sentences(text)]
    return {
        "overlap": recall(claim, [token for text in _texts(row) for token in content_of(text)]),
        "tfidf": max((cosine(claim, content_of(sentence), weigh) for sentence in held), default=0.0),
    }


def _relevance(row: LabelledRow, weigh: Weights) -> Mapping[str, float]:
    question = content_of(row.interaction.question or "")
    documents = [content_of(text) for text in _texts(row)]
    return {
        "overlap": max((recall(question, document) for document in documents), default=0.0),
        "tfidf": max((cosine(question, document, weigh) for document in documents), default=0.0),
    }


def _correctness(row: LabelledRow, weigh: Weights) -> Mapping[str, float]:
    one = row.interaction
    answer = _plain(one.answer or "")
    references = [_plain(text) for text in (one.reference, *one.other_references) if text]
    return {
        "token_f1": max((token_f1(answer, reference) for reference in references), default=0.0),
        "reference_recall": max((recall(reference, answer) for reference in references), default=0.0),
    }


_SCORERS: Mapping[Metric, Callable[[LabelledRow, Weights], Mapping[str, float]]] = {
    "support": _support,
    "relevance": _relevance,
    "correctness": _correctness,
}


def _claim(row: LabelledRow) -> str:
    return row.claim or row.interaction.answer or ""


def _texts(row: LabelledRow) -> list[str]:
    return [document.text for document in row.interaction.documents or () if document.text]


def _plain(text: str) -> list[str]:
    return [token for token in words(normalise(text)) if token not in _ARTICLES]
