"""Word overlap, by hand."""

import math

import pytest

from ragtrace.baselines import baseline_scores
from ragtrace.labelled import LabelledRow, Metric
from ragtrace.model import Interaction, RetrievedDocument
from ragtrace.overlap import token_f1


def row(
    metric: Metric, question: str = "", answer: str = "", reference: str = "", *texts: str
) -> LabelledRow:
    documents = tuple(RetrievedDocument("", rank, text, "none") for rank, text in enumerate(texts, start=1))
    interaction = Interaction(
        question=question, documents=documents, answer=answer, reference=reference or None
    )
    return LabelledRow(metric, True, interaction, answer if metric == "support" else None, {}, "en")


def test_f1_counts_repeated_words_as_often_as_both_have_them() -> None:
    """Two of three words shared with two of four: 2·2 / (3 + 4)."""
    assert token_f1(["red", "red", "kiln"], ["red", "kiln", "hot", "new"]) == pytest.approx(4 / 7)
    assert token_f1([], ["red"]) == 0.0


def test_correctness_takes_the_likest_reference() -> None:
    """Articles aside: the answer says both words of the second reference, and two more."""
    interaction = Interaction(
        answer="The kiln is red", reference="blue glass", other_references=("a red kiln",)
    )
    found = baseline_scores([LabelledRow("correctness", True, interaction, None, {}, "en")])[0]
    assert found == {"token_f1": pytest.approx(2 * 2 / (3 + 2)), "reference_recall": 1.0}


def test_support_is_the_share_of_the_claims_words_found() -> None:
    """Three content words, two of them in the documents; the cosine is that of the nearest sentence alone."""
    found = baseline_scores(
        [row("support", "", "kiln glaze temperature", "", "Kiln glaze. Something else entirely.")]
    )[0]
    assert found["overlap"] == pytest.approx(2 / 3)
    rare, known = math.log(2) + 1, 1.0
    norms = math.sqrt((2 * known**2 + rare**2) * 2 * known**2)
    assert found["tfidf"] == pytest.approx(2 * known**2 / norms)


def test_relevance_takes_the_best_document() -> None:
    """One holds all of the question's words, one none of them."""
    (found,) = baseline_scores(
        [row("relevance", "kiln temperature", "", "", "Glass blowing", "kiln temperature")]
    )
    assert found == {"overlap": 1.0, "tfidf": pytest.approx(1.0)}


def test_nothing_to_compare_scores_nothing() -> None:
    """No words, no documents: 0, and the middle where only order means anything; never an error."""
    nothing = {"overlap": 0.0, "tfidf": 0.0}
    assert baseline_scores([row("support"), row("relevance")]) == [nothing | {"recipe": 0.5}, nothing]
    assert baseline_scores([]) == []


def test_the_recipe_is_standardised_over_the_support_rows_alone() -> None:
    """A row of another kind between them changes nothing, and has no such score."""
    rows = [row("support", "", claim, "", "Kiln glaze hardens.") for claim in ("kiln glaze", "lion tiger")]
    apart = baseline_scores(rows)
    mixed = baseline_scores([rows[0], row("relevance", "kiln", "", "", "Kiln glaze hardens."), rows[1]])
    assert mixed[0]["recipe"] == pytest.approx(apart[0]["recipe"])
    assert mixed[0]["recipe"] > 0.5 > mixed[2]["recipe"]
    assert "recipe" not in mixed[1]
