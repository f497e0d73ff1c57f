"""Every metric ends with a number that is one, or with the reason why there is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtrace.errors import ConfigError
from ragtrace.evaluation import wanted
from ragtrace.judges.base import Fault, JudgeReply, ReferenceClaim, Want
from ragtrace.metrics import DEFAULT_METRICS, IR_METRICS, Evidence, by_name
from ragtrace.metrics.answer_correctness import f_measure
from ragtrace.metrics.context_noise import noise
from ragtrace.metrics.context_precision import average_precision
from ragtrace.metrics.faithfulness import faithfulness
from ragtrace.model import Interaction, Need, Outcome, RetrievedDocument, Status, Support, Turn
from ragtrace.reading import read
from ragtrace.testing import judged, make_interaction

NO_REPLY = JudgeReply()
S, C, N = Support.SUPPORTED, Support.CONTRADICTED, Support.NOT_FOUND


def evidence(interaction: Interaction, reply: JudgeReply = NO_REPLY, **fields: Any) -> Evidence:
    reading = read(interaction)
    return Evidence(
        interaction,
        reply,
        reading.units,
        reading.citations,
        reading.abstained,
        language=reading.language,
        **fields,
    )


def claims(interaction: Interaction, *verdicts: Support | None) -> JudgeReply:
    """The reply that gives the units of the answer these verdicts."""
    return JudgeReply(
        claims=tuple(judged(unit, v) for unit, v in zip(read(interaction).units, verdicts, strict=True))
    )


def outcome(metric: str, interaction: Interaction, reply: JudgeReply = NO_REPLY, **fields: Any) -> Outcome:
    return by_name([metric])[0].score(evidence(interaction, reply, **fields))


THREE = make_interaction(
    documents=("Refunds take 3 days.", "Refunds go to the card.", "Gifts are final."),
    answer="Refunds take 3 days [1]. They go to the card [2]. They are free.",
)


# --- faithfulness -----------------------------------------------------------------------------------------


def test_faithfulness_is_the_share_of_supported_claims() -> None:
    """Contradicted and not found both count against it."""
    found = outcome("faithfulness", THREE, claims(THREE, S, C, N))
    assert found.value == pytest.approx(1 / 3)
    assert (found.n_judged, found.n_total, found.evidence["contradicted"]) == (3, 3, 1)


def test_a_claim_without_verdict_leaves_the_denominator_and_shows() -> None:
    """A cut verdict list is not scored as if it were whole, nor as if the rest were false."""
    found = outcome("faithfulness", THREE, claims(THREE, S, None, N))
    assert (found.value, found.n_judged, found.n_total) == (0.5, 2, 3)


def test_no_verdict_at_all_is_a_judge_error() -> None:
    """Nothing judged is neither 0 nor 1."""
    found = outcome("faithfulness", THREE, claims(THREE, None, None, None))
    assert (found.status, found.value, found.n_judged, found.n_total) == (Status.JUDGE_ERROR, None, 0, 3)


def test_invented_facts_on_an_empty_retrieval_are_unfaithful_without_asking() -> None:
    """Nothing was retrieved, so nothing can support them."""
    nothing = make_interaction(documents=(), answer="Paris has 2.1M people.")
    assert wanted(by_name(["faithfulness"]), nothing, read(nothing)) == frozenset()
    found = outcome("faithfulness", nothing)
    assert (found.value, found.n_judged, found.basis) == (0.0, 1, "nothing_retrieved")


def test_earlier_turns_can_support_an_answer_without_documents() -> None:
    """With a conversation before it, an empty retrieval does not settle the matter."""
    follow_up = make_interaction(
        documents=(), answer="Sam founded it.", history=(Turn("Who founded it?", "Sam did."),)
    )
    assert Want.VERDICTS in wanted(by_name(["faithfulness"]), follow_up, read(follow_up))
    assert outcome("faithfulness", follow_up, claims(follow_up, S)).value == 1.0


def test_greetings_do_not_dilute_faithfulness() -> None:
    """They are dropped, and the number of them is shown."""
    chatty = make_interaction(answer="Hi! Happy to help. UW is in Seattle.")
    found = outcome("faithfulness", chatty, claims(chatty, N, N, S))
    assert (found.value, found.n_total, found.evidence["dropped"]) == (1.0, 1, 2)


@pytest.mark.parametrize(
    ("interaction", "status", "reason"),
    [
        pytest.param(make_interaction(answer="IDK"), Status.ABSTAINED, "answer_declines", id="IDK"),
        pytest.param(
            make_interaction(answer="抱歉，资料中没有相关信息。"),
            Status.ABSTAINED,
            "answer_declines",
            id="zh refusal",
        ),
        pytest.param(
            make_interaction(answer="Hello!"), Status.NOT_APPLICABLE, "no_claims", id="nothing stated"
        ),
        pytest.param(
            make_interaction(documents=None),
            Status.NOT_APPLICABLE,
            "documents_not_recorded",
            id="no documents",
        ),
        pytest.param(
            make_interaction(documents=(None, None)),
            Status.NOT_APPLICABLE,
            "documents_not_recorded",
            id="no texts",
        ),
        pytest.param(
            make_interaction(answer=None), Status.NOT_APPLICABLE, "answer_not_recorded", id="no answer"
        ),
        pytest.param(make_interaction(answer=""), Status.NOT_APPLICABLE, "empty_answer", id="empty answer"),
        pytest.param(
            make_interaction(partial=True), Status.NOT_APPLICABLE, "partial_answer", id="broken stream"
        ),
        pytest.param(
            make_interaction(documents=(), answer="Hello!"),
            Status.NOT_APPLICABLE,
            "no_claims",
            id="empty, unstated",
        ),
    ],
)
def test_faithfulness_without_a_number_says_why(
    interaction: Interaction, status: Status, reason: str
) -> None:
    """Nothing to check, not recorded, and refused are three things."""
    found = outcome("faithfulness", interaction)
    assert (found.status, found.reason, found.value) == (status, reason, None)


@pytest.mark.parametrize("status", [Status.JUDGE_ERROR, Status.TIMED_OUT, Status.SKIPPED])
def test_a_fault_of_the_judge_keeps_its_status_and_reason(status: Status) -> None:
    """Whoever reads the outcome learns what went wrong."""
    reply = JudgeReply(faults=tuple(Fault(want, status, "steered") for want in Want))
    found = {
        metric.name: metric.score(evidence(THREE, reply))
        for metric in DEFAULT_METRICS
        if metric.name not in ("citation_presence", "answer_correctness")
    }
    assert {(o.status, o.reason, o.value) for o in found.values()} == {(status, "steered", None)}


def test_cut_input_shows_as_kept_ratio() -> None:
    """What was cut on the way and what the judge left out multiply."""
    cut = make_interaction(kept_ratio=0.5)
    reply = JudgeReply(claims=claims(cut, S).claims, kept_ratio=0.5)
    assert outcome("faithfulness", cut, reply).kept_ratio == 0.25  # type: ignore[union-attr]


# --- documents --------------------------------------------------------------------------------------------


def relevance(*probabilities: float | None) -> JudgeReply:
    return JudgeReply(relevance=dict(enumerate(probabilities, start=1)))


@pytest.mark.parametrize(
    ("probabilities", "precision", "noise_"),
    [
        ((1, 0, 0), 1.0, 2 / 3),
        ((0, 0, 1), 1 / 3, 2 / 3),
        ((1, 1, 1), 1.0, 0.0),
        ((0, 0, 0), 0.0, 1.0),
        ((0.5, 0.49, 0.9), (1 + 2 / 3) / 2, 1 / 3),
        ((None, 0, 1), 0.5, 0.5),
    ],
)
def test_precision_reads_the_order_and_noise_does_not(
    probabilities: tuple[float | None, ...], precision: float, noise_: float
) -> None:
    """One relevant document among many is precise if it is first, and noisy wherever it is."""
    reply = relevance(*probabilities)
    assert outcome("context_precision", THREE, reply).value == pytest.approx(precision)
    assert outcome("context_noise", THREE, reply).value == pytest.approx(noise_)


def test_a_document_without_words_is_irrelevant() -> None:
    """A row of numbers makes judges talk; it needs no verdict."""
    junk = make_interaction(documents=("No thumb drives.", "# !-- 12, (48,756) -"))
    assert outcome("context_precision", junk, relevance(1, None)).value == 1.0
    assert outcome("context_noise", junk, relevance(1, None)).value == 0.5


def test_relevance_by_reference_is_preferred_and_said() -> None:
    """With a reference the basis changes, and the outcome says so."""
    asked = make_interaction(documents=("a", "b"), reference="Three days.")
    reply = JudgeReply(relevance={1: 1, 2: 0}, reference_relevance={1: 0, 2: 1})
    found = outcome("context_precision", asked, reply)
    assert (found.value, found.basis) == (0.5, "reference")


def test_an_empty_retrieval_has_no_precision_no_recall_and_no_noise() -> None:
    """Nothing found is 0 for finding, and nothing to measure for purity."""
    nothing = make_interaction(documents=())
    assert outcome("context_precision", nothing).value == 0.0
    assert outcome("context_recall", nothing).value == 0.0
    assert outcome("context_noise", nothing).reason == "nothing_retrieved"


def test_recall_without_a_reference_counts_needs() -> None:
    """The basis names what was counted; a need without a verdict is not counted."""
    reply = JudgeReply(needs=(Need("time", True, True), Need("fee", False, True), Need("who", None, None)))
    found = outcome("context_recall", THREE, reply)
    assert (found.value, found.basis, found.n_judged, found.n_total) == (0.5, "needs", 2, 3)


def test_recall_with_a_reference_counts_its_claims() -> None:
    """Needs are not looked at then."""
    asked = make_interaction(reference="Three days, free.")
    reply = JudgeReply(
        needs=(Need("time", False, True),),
        reference_claims=(ReferenceClaim("three days", True), ReferenceClaim("free", False)),
    )
    found = outcome("context_recall", asked, reply)
    assert (found.value, found.basis) == (0.5, "reference")


# --- the question -----------------------------------------------------------------------------------------


def test_relevancy_is_the_mean_cosine_of_generated_questions() -> None:
    """Negative cosines count as 0."""
    reply = JudgeReply(questions=("a", "b"), noncommittal=(False, True))
    found = outcome("answer_relevancy", THREE, reply, similarities=(0.8, -0.4))
    assert (found.value, found.basis) == (0.4, "generated_questions")


def test_an_answer_that_every_question_finds_evasive_abstains() -> None:
    """It is no 0: the answer was not wrong, it was none."""
    reply = JudgeReply(questions=("a", "b"), noncommittal=(True, True))
    assert outcome("answer_relevancy", THREE, reply, similarities=(0.8, 0.9)).status is Status.ABSTAINED


def test_relevancy_without_an_embedder_is_skipped() -> None:
    """Missing equipment is not the answer's fault."""
    found = outcome("answer_relevancy", THREE, JudgeReply(questions=("a",)))
    assert (found.status, found.reason) == (Status.SKIPPED, "no_embedder")


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("deadline", Status.TIMED_OUT),
        ("embedder_timeout", Status.TIMED_OUT),
        ("embedder_raised", Status.JUDGE_ERROR),
    ],
)
def test_an_embedder_that_is_late_has_not_failed(fault: str, status: Status) -> None:
    """Late is timed_out, as it is for a judge; the reason stays."""
    found = outcome("answer_relevancy", THREE, JudgeReply(questions=("a",)), embedder_fault=fault)
    assert (found.status, found.reason) == (status, fault)


def test_relevancy_by_a_judge_without_questions_is_an_estimate() -> None:
    """The basis says that it is one."""
    found = outcome("answer_relevancy", THREE, JudgeReply(answer_fit=0.7))
    assert (found.value, found.basis) == (0.7, "estimate")


def test_questions_in_the_wrong_language_are_flagged() -> None:
    """A judge that writes English questions for Chinese answers lowers the cosine, and that shows."""
    chinese = make_interaction("密封件多久更换一次？", ("每500小时更换。",), "每500小时。")
    reply = JudgeReply(questions=("How often is the seal replaced?",))
    found = outcome("answer_relevancy", chinese, reply, similarities=(0.5,))
    assert found.evidence["language_mismatch"] is True


# --- the reference ----------------------------------------------------------------------------------------


def test_correctness_weighs_claims_and_similarity() -> None:
    """2 of 3 reference claims made and 1 claim too many: F1 = 2/3."""
    asked = make_interaction(reference="Three claims.")
    reply = JudgeReply(
        reference_claims=(
            ReferenceClaim("a", True, (), True),
            ReferenceClaim("b", True, (), True),
            ReferenceClaim("c", True, (), False),
        ),
        unsupported_answer_claims=("d",),
    )
    found = outcome("answer_correctness", asked, reply, reference_similarity=0.8)
    assert found.value == pytest.approx(0.75 * 2 / 3 + 0.25 * 0.8)
    assert (found.evidence["tp"], found.evidence["fp"], found.evidence["fn"]) == (2, 1, 1)


def test_the_reference_word_for_word_is_correct_without_asking() -> None:
    """A one-word answer has no claims to compare; spacing, case and width do not matter."""
    same = make_interaction("哪一味中药？", ("五味子酸收。",), "五味子", reference="五味子。")
    assert wanted(by_name(["answer_correctness"]), same, read(same)) == frozenset()
    assert outcome("answer_correctness", same).value == 1.0


def test_a_sign_is_not_ignored_when_texts_are_compared() -> None:
    """ "-5" is not "5"."""
    other = make_interaction(answer="-5", reference="5")
    assert wanted(by_name(["answer_correctness"]), other, read(other)) == {Want.REFERENCE}


def test_a_refusal_makes_none_of_the_references_claims() -> None:
    """It gets no credit for claims, only for what similarity there is."""
    refusal = make_interaction(answer="I don't know.", reference="Every 500 hours, by a technician.")
    reply = JudgeReply(
        reference_claims=(ReferenceClaim("a", True, (), False), ReferenceClaim("b", True, (), False)),
        unsupported_answer_claims=(),
    )
    found = outcome("answer_correctness", refusal, reply, reference_similarity=0.2)
    assert (found.value, found.evidence["f"]) == (pytest.approx(0.05), 0.0)


def test_correctness_without_claims_on_either_side_is_not_applicable() -> None:
    """As in every other metric, no claims is no number."""
    both = make_interaction(answer="I don't know.", reference="It is not documented.")
    found = outcome("answer_correctness", both, JudgeReply(unsupported_answer_claims=()))
    assert (found.status, found.reason) == (Status.NOT_APPLICABLE, "no_claims")


# --- citations --------------------------------------------------------------------------------------------


def numbers(interaction: Interaction, reply: JudgeReply) -> list[float | None]:
    return [
        outcome(f"citation_{kind}", interaction, reply).value
        for kind in ("presence", "correctness", "coverage")
    ]


def test_the_three_citation_numbers_come_apart() -> None:
    """Two of three claims marked, one of the two markers right: a third is covered."""
    units = read(THREE).units
    reply = JudgeReply(claims=(judged(units[0], S), judged(units[1], S, {2: N}), judged(units[2], S)))
    assert numbers(THREE, reply) == [pytest.approx(2 / 3), 0.5, pytest.approx(1 / 3)]


def test_a_true_claim_with_the_wrong_marker_is_miscited() -> None:
    """Support somewhere is not support where the marker points."""
    asked = make_interaction(
        documents=("Python 3.12 is out.", "Java 21 is out."), answer="Python 3.12 is out [2]."
    )
    (unit,) = read(asked).units
    assert numbers(asked, JudgeReply(claims=(judged(unit, S, {2: N}),))) == [1.0, 0.0, 0.0]


def test_a_dangling_marker_is_wrong_and_listed() -> None:
    """It cites a document that was never there."""
    asked = make_interaction(answer="Refunds take 3 days [1]. They are free [7].")
    units = read(asked).units
    found = outcome("citation_correctness", asked, JudgeReply(claims=tuple(judged(u, S) for u in units)))
    assert (found.value, found.evidence["dangling"]) == (0.5, ["7"])


def test_an_ambiguous_marker_is_neither_right_nor_wrong() -> None:
    """It is counted as not judged."""
    twins = (RetrievedDocument("dup", 1, "a"), RetrievedDocument("dup", 2, "b"))
    asked = make_interaction(documents=twins, answer="So it is [dup].")
    found = outcome("citation_correctness", asked, claims(asked, S))
    assert (found.status, found.reason) == (Status.NOT_APPLICABLE, "ambiguous_citations")
    assert found.evidence["ambiguous"] == ["dup"]


def test_an_answer_without_markers_has_presence_and_coverage_zero_and_no_correctness() -> None:
    """Whether markers are right cannot be asked where there are none."""
    bare = make_interaction(answer="Refunds take 3 days.")
    assert numbers(bare, claims(bare, S)) == [0.0, None, 0.0]


def test_saying_that_the_documents_are_silent_needs_no_citation() -> None:
    """Coverage is over what needs a source."""
    asked = make_interaction(answer="Refunds take 3 days [1]. The passage does not say what they cost.")
    assert numbers(asked, claims(asked, S, N))[::2] == [1.0, 1.0]


@pytest.mark.parametrize(
    "marker",
    [
        "[1]",
        "【1】",
        "［1］",
        "①",
        "¹",
        " (1)",
        "[^1]",
        "[[1]]",
        "<cite>1</cite>",
        " [doc-1]",
        "【1†source】",
    ],
)
@pytest.mark.parametrize("supports", [S, N])
def test_the_same_answer_in_each_form_gives_the_same_numbers(marker: str, supports: Support) -> None:
    """The form is not the content."""
    asked = make_interaction(answer=f"Refunds take 3 days{marker}. They are free.")
    first, second = read(asked).units
    reply = JudgeReply(claims=(judged(first, S, {1: supports}), judged(second, S)))
    right = float(supports is S)
    assert numbers(asked, reply) == [0.5, right, right / 2]


# --- gold -------------------------------------------------------------------------------------------------


def test_retrieval_measures_against_gold() -> None:
    """The only relevant document stands second of three."""
    asked = make_interaction(documents=("a", "b", "c"), gold={"doc-2": 1})
    values = {m.name: m.score(evidence(asked)).value for m in IR_METRICS}
    assert values["hit@5"] == 1.0
    assert values["mrr"] == 0.5
    assert values["precision@5"] == 0.2
    assert values["recall@5"] == 1.0
    assert values["ndcg@5"] == pytest.approx(0.6309297535714574)  # 1 / log2(3)


@pytest.mark.parametrize("gold", [None, {}, {"doc-1": 0}])
def test_without_relevant_gold_no_retrieval_measure_has_a_number(gold: dict[str, float] | None) -> None:
    """There is nothing to find; 0 would be a lie."""
    asked = make_interaction(gold=gold)
    assert {m.score(evidence(asked)).status for m in IR_METRICS} == {Status.NOT_APPLICABLE}


# --- names ------------------------------------------------------------------------------------------------


def test_metrics_are_found_by_name_and_at_any_cut_off() -> None:
    """``hit@10`` needs no registration."""
    assert [m.name for m in by_name(["faithfulness", "hit@10", "mrr"])] == ["faithfulness", "hit@10", "mrr"]


@pytest.mark.parametrize("name", ["faithfullness", "hit@0", "no.such.module:Metric"])
def test_an_unknown_metric_is_an_error_that_names_it(name: str) -> None:
    """A typo does not silently drop a metric."""
    with pytest.raises(ConfigError, match=name):
        by_name([name])


# --- properties -------------------------------------------------------------------------------------------

FLAGS = st.lists(st.booleans(), min_size=1, max_size=30)


@given(FLAGS, st.randoms())
def test_shares_do_not_read_the_order(flags: list[bool], random: Any) -> None:
    """Faithfulness and noise are sets of verdicts."""
    shuffled = random.sample(flags, len(flags))
    assert faithfulness(flags) == faithfulness(shuffled)
    assert noise(flags) == noise(shuffled)


@given(FLAGS, st.data())
def test_one_more_supported_claim_never_lowers_faithfulness(flags: list[bool], data: st.DataObject) -> None:
    """It is monotone in support."""
    place = data.draw(st.integers(0, len(flags) - 1))
    better = [*flags[:place], True, *flags[place + 1 :]]
    assert (faithfulness(better) or 0) >= (faithfulness(flags) or 0)


@given(FLAGS)
def test_precision_is_best_with_the_relevant_first(flags: list[bool]) -> None:
    """Sorting cannot lower it, and it stays within 0 and 1."""
    assert 0.0 <= average_precision(flags) <= average_precision(sorted(flags, reverse=True)) <= 1.0


@given(*[st.integers(0, 50)] * 3, st.floats(0.1, 10))
def test_f_measure_stays_within_bounds(tp: int, fp: int, fn: int, beta: float) -> None:
    """Whatever the counts."""
    value = f_measure(tp, fp, fn, beta)
    assert value is None if not tp + fp + fn else 0.0 <= (value or 0.0) <= 1.0


@given(
    st.sampled_from([None, "", "IDK", "Refunds take 3 days [1]. Free [9].", "退款需要3天①。"]),
    st.sampled_from([None, (), ("a",), (None,), ("a", "b")]),
    st.sampled_from([None, "", "Three days."]),
    st.lists(st.sampled_from([S, C, N, None]), max_size=2),
    st.lists(st.sampled_from([None, 0.0, 0.5, 1.0]), max_size=3),
    st.sampled_from([None, -1.0, 0.3, float("nan")]),
    st.booleans(),
)
def test_every_metric_is_total(
    answer: str | None,
    documents: Any,
    reference: str | None,
    verdicts: list[Support | None],
    probabilities: list[float | None],
    fit: float | None,
    partial: bool,
) -> None:
    """Whatever is missing, the outcome is a number in 0..1 or a status with a reason."""
    asked = make_interaction(
        documents=documents, answer=answer, reference=reference, partial=partial, gold={"x": 1}
    )
    units = read(asked).units
    reply = JudgeReply(
        claims=tuple(judged(unit, v) for unit, v in zip(units, verdicts, strict=False)),
        relevance=dict(enumerate(probabilities, start=1)),
        answer_fit=fit,
    )
    for metric in (*DEFAULT_METRICS, *IR_METRICS):
        found = metric.score(evidence(asked, reply))
        assert (found.value is None) == bool(found.reason)
        assert found.value is None or 0.0 <= found.value <= 1.0
