"""The decision table, row by row and where rows meet."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtrace.advice import advice
from ragtrace.diagnosis import DEFAULT_THRESHOLDS, Facts, Thresholds, diagnose, match, retrieval_flaws
from ragtrace.errors import ConfigErrors
from ragtrace.model import Cause, Need, Outcome, Score, Status, Support, Unscored
from ragtrace.reading import read
from ragtrace.testing import judged, make_interaction

GOOD = Facts(
    recall=1.0,
    precision=1.0,
    first_relevant=1,
    noise=0.5,
    faithfulness=1.0,
    citation_correctness=1.0,
    covered=1.0,
    answered=1.0,
    relevancy=0.9,
)
"""A good answer on good documents."""


@dataclass(frozen=True)
class Case:
    """``facts`` differ from a good answer's by ``but``; ``causes`` are the matches, the primary one first."""

    words: str
    causes: tuple[Cause, ...]
    but: dict[str, object] = field(default_factory=dict)


UNFAITHFUL = {"faithfulness": 0.5}
CASES = [
    Case("a good answer on good documents", ()),
    Case("half of the needs are covered: not missed", (), {"recall": 0.5}),
    Case("fewer are covered: missed", (Cause.RETRIEVAL_MISSED,), {"recall": 0.49}),
    Case("nothing retrieved: missed", (Cause.RETRIEVAL_MISSED,), {"nothing_retrieved": True, "recall": 0.0}),
    Case("noise on a good answer is no failure", (), {"noise": 1.0}),
    Case("bad order on a good answer is no failure", (), {"first_relevant": 9, "precision": 0.1}),
    Case(
        "noise and an unfaithful answer",
        (Cause.RETRIEVAL_NOISY, Cause.UNFAITHFUL_ANSWER),
        {"noise": 0.9, **UNFAITHFUL},
    ),
    Case("noise at the threshold is none", (Cause.UNFAITHFUL_ANSWER,), {"noise": 0.8, **UNFAITHFUL}),
    Case(
        "the first relevant document fourth, and an answer off the question",
        (Cause.RETRIEVAL_MISRANKED, Cause.OFF_QUESTION),
        {"first_relevant": 4, "answered": 0.0},
    ),
    Case("third is high enough", (Cause.OFF_QUESTION,), {"first_relevant": 3, "answered": 0.0}),
    Case(
        "low precision with enough recall, and a wrong answer by reference",
        (Cause.RETRIEVAL_MISRANKED,),
        {"precision": 0.4, "correctness": 0.3},
    ),
    Case(
        "low precision without enough recall is a miss, not an order",
        (Cause.RETRIEVAL_MISSED, Cause.UNFAITHFUL_ANSWER),
        {"precision": 0.4, "recall": 0.2, **UNFAITHFUL},
    ),
    Case(
        "no relevant document at all has no order",
        (Cause.UNFAITHFUL_ANSWER,),
        {"precision": 0.0, "first_relevant": None, **UNFAITHFUL},
    ),
    Case(
        "misranked, noisy and miscited",
        (Cause.RETRIEVAL_MISRANKED, Cause.RETRIEVAL_NOISY, Cause.MISCITED),
        {
            "first_relevant": 5,
            "noise": 0.9,
            "citation_correctness": 0.5,
        },
    ),
    Case(
        "one claim contradicted among many",
        (Cause.CONTRADICTS_DOCUMENTS,),
        {"contradicted": True, "faithfulness": 0.9},
    ),
    Case(
        "contradicted and unfaithful",
        (Cause.CONTRADICTS_DOCUMENTS, Cause.UNFAITHFUL_ANSWER),
        {"contradicted": True, **UNFAITHFUL},
    ),
    Case("unfaithful below the threshold", (Cause.UNFAITHFUL_ANSWER,), {"faithfulness": 0.79}),
    Case("faithful at the threshold", (), {"faithfulness": 0.8}),
    Case("true but wrongly marked", (Cause.MISCITED,), {"citation_correctness": 0.5}),
    Case(
        "markers of an unfaithful answer are not the point",
        (Cause.UNFAITHFUL_ANSWER,),
        {
            "citation_correctness": 0.0,
            **UNFAITHFUL,
        },
    ),
    Case("markers where faithfulness is unknown", (), {"citation_correctness": 0.0, "faithfulness": None}),
    Case("needs left unanswered", (Cause.OFF_QUESTION,), {"answered": 0.4}),
    Case("low relevancy does not matter where needs are known", (), {"relevancy": 0.1}),
    Case(
        "low relevancy where needs are unknown", (Cause.OFF_QUESTION,), {"relevancy": 0.39, "answered": None}
    ),
    Case(
        "missed and unfaithful: the model had nothing to be faithful to",
        (Cause.RETRIEVAL_MISSED, Cause.UNFAITHFUL_ANSWER),
        {"recall": 0.0, **UNFAITHFUL},
    ),
    Case(
        "all at once",
        (
            Cause.RETRIEVAL_MISSED,
            Cause.RETRIEVAL_MISRANKED,
            Cause.RETRIEVAL_NOISY,
            Cause.CONTRADICTS_DOCUMENTS,
            Cause.UNFAITHFUL_ANSWER,
            Cause.OFF_QUESTION,
        ),
        {
            "recall": 0.1,
            "first_relevant": 8,
            "noise": 0.9,
            "contradicted": True,
            "answered": 0.0,
            **UNFAITHFUL,
        },
    ),
    Case("declined although covered", (Cause.NEEDLESS_REFUSAL,), {"abstained": True, "covered": 1.0}),
    Case("declined, half covered", (Cause.NEEDLESS_REFUSAL,), {"abstained": True, "covered": 0.5}),
    Case(
        "declined, not covered, nobody knows the answer",
        (Cause.CORRECT_REFUSAL,),
        {"abstained": True, "covered": 0.0, "recall": 0.0},
    ),
    Case(
        "declined, not covered, but a reference knows the answer",
        (Cause.CORRECT_REFUSAL, Cause.RETRIEVAL_MISSED),
        {"abstained": True, "covered": 0.0, "recall": 0.0, "has_reference": True},
    ),
    Case(
        "declined after an empty retrieval",
        (Cause.CORRECT_REFUSAL,),
        {"abstained": True, "covered": None, "nothing_retrieved": True, "recall": 0.0},
    ),
    Case(
        "declined, needs unknown, the reference is covered",
        (Cause.NEEDLESS_REFUSAL,),
        {"abstained": True, "covered": None, "recall": 1.0, "has_reference": True},
    ),
    Case("declined, nothing known", (), {"abstained": True, "covered": None, "recall": None}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_the_table(case: Case) -> None:
    """Each row of the table, and rows together."""
    assert match(replace(GOOD, **case.but), DEFAULT_THRESHOLDS) == case.causes  # type: ignore[arg-type]


def scores(**values: float) -> dict[str, Outcome]:
    good = {"faithfulness": 1.0, "context_recall": 1.0, "context_precision": 1.0, "answer_relevancy": 0.9}
    return {metric: Score(metric, value) for metric, value in {**good, **values}.items()}


@pytest.mark.parametrize(
    ("outcomes", "path", "stage"),
    [
        (scores(context_recall=0.0), "A", "retrieval"),
        (scores(context_noise=0.9, faithfulness=0.1), "B", "retrieval"),
        (scores(faithfulness=0.1), "C", "generation"),
        (scores(answer_relevancy=0.1), "D", "generation"),
        (scores(), None, None),
    ],
)
def test_each_cause_names_its_path_and_stage(
    outcomes: dict[str, Outcome], path: str | None, stage: str | None
) -> None:
    """A and B belong to the retrieval, C and D to the generation."""
    found = diagnose(outcomes)
    assert (found.path, found.stage) == (path, stage)


def test_ok_is_said_only_when_nothing_is_missing() -> None:
    """A judge that failed leaves the question open, and the diagnosis names what it lacks."""
    outcomes = scores() | {"faithfulness": Unscored("faithfulness", Status.JUDGE_ERROR, "steered")}
    found = diagnose(outcomes)
    assert (found.cause, found.missing) == (Cause.UNDETERMINED, ("faithfulness",))


def test_a_failure_is_named_even_when_something_else_is_missing() -> None:
    """What is known to be wrong is wrong."""
    outcomes = scores(context_recall=0.1) | {
        "faithfulness": Unscored("faithfulness", Status.TIMED_OUT, "deadline")
    }
    assert diagnose(outcomes).cause is Cause.RETRIEVAL_MISSED


def test_what_was_not_recorded_is_missing_and_what_does_not_apply_is_not() -> None:
    """An answer without claims is fine; an answer whose documents nobody recorded is unknown."""
    without_claims = scores() | {"faithfulness": Unscored("faithfulness", Status.NOT_APPLICABLE, "no_claims")}
    assert diagnose(without_claims).cause is Cause.OK
    unrecorded = {
        metric: Unscored(metric, Status.NOT_APPLICABLE, "documents_not_recorded")
        for metric in ("faithfulness", "context_recall")
    }
    found = diagnose(scores() | unrecorded)
    assert (found.cause, found.missing) == (Cause.UNDETERMINED, ("faithfulness", "context_recall"))


def test_relevancy_is_not_missed_where_needs_say_it() -> None:
    """Without an embedder the needs still tell whether the question was answered."""
    outcomes = scores() | {"answer_relevancy": Unscored("answer_relevancy", Status.SKIPPED, "no_embedder")}
    assert diagnose(outcomes, needs=(Need("time", True, True),)).cause is Cause.OK
    assert diagnose(outcomes).missing == ("answer_relevancy",)


def test_an_evasive_answer_without_claims_is_a_refusal() -> None:
    """The judge saw what no phrase gave away."""
    evasive = {
        "faithfulness": Unscored("faithfulness", Status.NOT_APPLICABLE, "no_claims"),
        "answer_relevancy": Unscored("answer_relevancy", Status.ABSTAINED, "noncommittal"),
    }
    assert diagnose(scores() | evasive).cause is Cause.NEEDLESS_REFUSAL


def test_a_contradiction_counts_only_where_faithfulness_was_scored() -> None:
    """When the judge was steered, none of its verdicts is believed."""
    (unit,) = read(make_interaction()).units
    denied = (judged(unit, Support.CONTRADICTED),)
    steered = {"faithfulness": Unscored("faithfulness", Status.JUDGE_ERROR, "steered")}
    assert diagnose(scores(), claims=denied).cause is Cause.CONTRADICTS_DOCUMENTS
    assert diagnose(scores() | steered, claims=denied).cause is Cause.UNDETERMINED


def test_noise_on_a_good_answer_is_a_warning() -> None:
    """It is shown, not called a failure."""
    found = diagnose(scores(context_noise=0.9))
    assert (found.cause, found.warnings) == (Cause.OK, (Cause.RETRIEVAL_NOISY,))


def test_thresholds_can_be_moved() -> None:
    """A team with other standards sets its own."""
    strict = Thresholds(faithfulness=0.99)
    assert diagnose(scores(faithfulness=0.95), thresholds=strict).cause is Cause.UNFAITHFUL_ANSWER


def test_a_diagnosis_says_which_thresholds_were_moved() -> None:
    """A reader can tell it from one by the default ones, of which it says nothing."""
    assert diagnose(scores(), thresholds=Thresholds(faithfulness=0.99)).thresholds == {"faithfulness": 0.99}
    assert diagnose(scores(), thresholds=Thresholds(faithfulness=0.8)).thresholds == {}


def test_thresholds_out_of_range_are_refused_all_at_once() -> None:
    """A share in percent, or one that is no number, would say of everything that it failed, or of nothing."""
    with pytest.raises(ConfigErrors) as caught:
        Thresholds(faithfulness=80, context_noise=float("nan"), first_relevant_rank=0)
    assert [error.path for error in caught.value.errors] == [
        "thresholds.context_noise",
        "thresholds.faithfulness",
        "thresholds.first_relevant_rank",
    ]


@pytest.mark.parametrize("cause", [c for c in Cause if c not in (Cause.OK, Cause.UNDETERMINED)])
def test_every_failure_comes_with_advice_in_both_languages(cause: Cause) -> None:
    """The Chinese advice is Chinese, and as much of it."""
    english, chinese = advice(cause, "en"), advice(cause, "zh")
    assert english
    assert len(chinese) == len(english)
    assert all(any("\u4e00" <= char <= "\u9fff" for char in line) for line in chinese)


UNIT = st.none() | st.floats(0, 1)


@given(
    st.builds(
        Facts,
        abstained=st.booleans(),
        has_reference=st.booleans(),
        nothing_retrieved=st.booleans(),
        recall=UNIT,
        precision=UNIT,
        first_relevant=st.none() | st.integers(1, 20),
        noise=UNIT,
        contradicted=st.booleans(),
        faithfulness=UNIT,
        citation_correctness=UNIT,
        covered=UNIT,
        answered=UNIT,
        relevancy=UNIT,
        correctness=UNIT,
    )
)
def test_the_table_is_total_and_consistent(facts: Facts) -> None:
    """No cause twice; refusals and failures of an answer never together; B never without a symptom."""
    causes = match(facts, DEFAULT_THRESHOLDS)
    assert len(set(causes)) == len(causes)
    refusals = {Cause.NEEDLESS_REFUSAL, Cause.CORRECT_REFUSAL}
    assert not (refusals & set(causes)) or set(causes) <= refusals | {Cause.RETRIEVAL_MISSED}
    flaws = set(retrieval_flaws(facts, DEFAULT_THRESHOLDS)) & set(causes)
    symptoms = set(causes) - flaws - {Cause.RETRIEVAL_MISSED}
    wrong = facts.correctness is not None and facts.correctness < DEFAULT_THRESHOLDS.answer_correctness
    assert not flaws or symptoms or wrong


def test_an_answer_that_states_nothing_is_no_failed_retrieval() -> None:
    """A greeting or a question back would not have been better with other documents."""
    greeting = replace(
        GOOD,
        claimless=True,
        recall=0.0,
        covered=0.0,
        answered=0.0,
        relevancy=0.0,
        precision=0.0,
        faithfulness=None,
    )
    assert match(greeting, DEFAULT_THRESHOLDS) == ()
    with_reference = match(replace(greeting, has_reference=True), DEFAULT_THRESHOLDS)
    assert with_reference[0] is Cause.RETRIEVAL_MISSED
