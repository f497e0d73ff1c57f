"""Every score of ours is explained in one sentence, in either language."""

from __future__ import annotations

import pytest

from ragtrace.explanations import explanation
from ragtrace.metrics import DEFAULT_METRICS
from ragtrace.model import Score

EVIDENCE = {"relevant": 2, "first_relevant": 3, "tp": 4, "fn": 5, "fp": 6}


@pytest.mark.parametrize("metric", [metric.name for metric in DEFAULT_METRICS])
def test_every_metric_is_explained_in_both_languages(metric: str) -> None:
    """The Chinese sentence is Chinese, and no placeholder is left open."""
    score = Score(metric, 0.5, 8, 8, evidence=EVIDENCE)
    english, chinese = explanation(score, "en"), explanation(score, "zh")
    assert english
    assert chinese
    assert "{" not in english + chinese
    assert any("\u4e00" <= char <= "\u9fff" for char in chinese)
    assert not any("\u4e00" <= char <= "\u9fff" for char in english)


@pytest.mark.parametrize(
    ("score", "says"),
    [
        (Score("faithfulness", 0.0, 1, 1, "nothing_retrieved"), "nothing was retrieved"),
        (
            Score("context_precision", 0.0, 3, 3, evidence={"relevant": 0, "first_relevant": None}),
            "none of 3",
        ),
        (Score("context_noise", 0.25, 4, 4), "1 of 4 documents are not relevant"),
        (Score("answer_relevancy", 0.7, basis="estimate"), "estimated"),
        (Score("answer_correctness", 1.0, basis="identical"), "word for word"),
    ],
)
def test_special_cases_are_named(score: Score, says: str) -> None:
    """A number that was not counted is not explained by a count."""
    assert says in (explanation(score, "en") or "")


def test_a_metric_of_a_users_own_explains_itself() -> None:
    """We do not know what it counted, even where it has borrowed a name of ours."""
    assert explanation(Score("tone", 0.5), "en") is None
    assert explanation(Score("answer_correctness", 0.5, basis="mine"), "en") is None
