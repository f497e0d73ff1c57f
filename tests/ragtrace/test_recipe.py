"""The lexical recipe, by hand: word weights are 1 unless a test says otherwise."""

import math

import pytest

from ragtrace.overlap import cosine, longest_shared
from ragtrace.recipe import evidence, measure, read, recipe_scores


def one(_: str) -> float:
    return 1.0


def english(claim: str, *texts: str):
    return measure(claim, texts, one, "en")


def chinese(claim: str, *texts: str):
    return measure(claim, texts, one, "zh")


def test_a_copied_claim_measures_full_everywhere() -> None:
    """Every share is 1, and nothing speaks against it."""
    found = english("kiln glaze hardens slowly", "Kiln glaze hardens slowly.")
    assert {name: found[name] for name in ("window", "number_context", "grams", "order")} == {
        "window": 1.0,
        "number_context": 1.0,
        "grams": 1.0,
        "order": 1.0,
    }
    assert found["cosine"] == pytest.approx(1.0)
    against = ("names", "number_conflicts", "antonyms", "missing_run", "question")
    assert [found[name] for name in against] == [0.0] * 5


def test_order_counts_the_longest_common_subsequence() -> None:
    """Of glaze, kiln, hot the document has kiln, glaze, hot: two of three stand in the claim's order."""
    assert english("glaze kiln hot", "kiln glaze hot")["order"] == pytest.approx(2 / 3)


def test_a_window_is_as_long_as_the_claim_but_never_under_five_words() -> None:
    """Six other words lie between kiln and glaze: no five words hold both of the claim's two."""
    far = "kiln brick shelf stand cable meter gauge glaze"
    assert english("kiln glaze", far)["window"] == pytest.approx(1 / 2)
    assert english("kiln glaze", "kiln brick shelf stand glaze")["window"] == 1.0


def test_a_number_is_worth_what_stands_beside_it() -> None:
    """12 stands in a sentence with one more of the claim's three words: two of three; 99 stands nowhere."""
    texts = ("Twelve shelves dry. The kiln fired bowls.",)
    assert english("kiln fired 12", *texts)["number_context"] == pytest.approx(1 / 3)
    assert english("shelves fired 12", *texts)["number_context"] == pytest.approx(2 / 3)
    assert english("shelves fired 99", *texts)["number_context"] == 0.0


def test_pieces_of_five_letters_are_weighed_by_the_length_of_their_word() -> None:
    """glaz (4 letters) is found whole, of pottery (7) one piece of three: potte, not otter, ttery."""
    found = english("glaz pottery", "glaz potted pottesque")["grams"]
    assert found == pytest.approx((4 * 1 + 7 * 1 / 3) / 11)


def test_what_speaks_against_a_claim() -> None:
    """A name and a number in conflict, an opposite, words found nowhere, a question mark."""
    found = english("Does Anna see the price rise by 30 dollars?", "The price will fall by 20 dollars.")
    assert found["names"] == -1.0
    assert found["number_conflicts"] == -1.0
    assert found["antonyms"] == -1.0
    assert found["question"] == -1.0
    assert found["number_context"] == 0.0


def test_a_year_is_in_conflict_with_another_year_only() -> None:
    """1903 against 1902; against a count of boats it is merely missing."""
    assert english("Built in 1903.", "Built in 1902.")["number_conflicts"] == -1.0
    assert english("Built in 1903.", "Built for 40 boats.")["number_conflicts"] == 0.0


def test_the_longest_run_of_unknown_words_counts() -> None:
    """Unknown are one word, then two in a row: two of four."""
    assert english("zebra kiln lion tiger", "kiln")["missing_run"] == pytest.approx(-2 / 4)


def test_evidence_is_the_best_sentence_then_the_one_that_adds_most() -> None:
    """The second holds less than the third, but what the first lacks."""
    held = [read(text) for text in ("kiln glaze shelf", "bowl", "kiln glaze", "nothing")]
    found = evidence(read("kiln glaze shelf bowl"), held, one)
    assert [sentence.normal for sentence in found[:3]] == ["kiln glaze shelf", "bowl", "kiln glaze"]


def test_a_long_sentence_is_worth_less_than_a_short_one() -> None:
    """Both hold two words: 2 / (1 + .12 ln 3) against 2 / (1 + .12 ln 5)."""
    short, long = read("kiln glaze"), read("kiln glaze bowl plate")
    assert evidence(read("kiln glaze"), [long, short], one)[0] is short


def test_chinese_measurements() -> None:
    """八 is in no document, 不 denies (in 不仅 it does not), 唯一 is the claim's own, 上升 is the opposite of 下降."""
    found = chinese("渡轮八点开", "渡轮九点开。")
    assert found["numbers"] == -1.0
    assert found["numbers_near"] == -1.0
    assert found["negation"] == 0.0
    assert chinese("渡轮不停", "渡轮停。")["negation"] == -1.0
    assert chinese("渡轮不仅停", "渡轮停。")["negation"] == 0.0
    assert chinese("唯一渡轮", "渡轮停。")["universals"] == -1.0
    assert chinese("票价上升", "票价下降。")["antonyms"] == -1.0


def test_chinese_order_by_weight() -> None:
    """Of three characters two are shared in order; the shared ones weigh 1 and 3 of 1 + 3 + 2."""
    weights = {"渡": 1.0, "轮": 3.0, "港": 2.0}
    found = measure("渡轮港", ["渡轮"], lambda token: weights.get(token, 1.0), "zh")
    assert found["order"] == pytest.approx(2 / 3)
    assert found["weighted_order"] == pytest.approx(4 / 6)


def test_shared_order_and_cosine_by_weight() -> None:
    """The heavier of two crossing words is kept; one shared word of weight 2 beside one of weight 1 each."""
    weights = {"a": 2.0, "b": 1.0, "c": 1.0}
    assert longest_shared(["a", "b"], ["b", "a"], weights.__getitem__) == 2.0
    assert cosine(["a", "b"], ["a", "c"], weights.__getitem__) == pytest.approx(4 / 5)


def test_measurements_are_standardised_and_added_with_equal_weight() -> None:
    """Two claims differ in four measurements or more; each lies one deviation from the mean, so that their
    scores are mirror images."""
    better, worse = recipe_scores([("kiln glaze", ["kiln glaze"]), ("lion tiger", ["kiln glaze"])], one)
    assert better + worse == pytest.approx(1.0)
    varying = ("window", "number_context", "grams", "cosine", "order", "missing_run")
    assert better == pytest.approx(1 / (1 + math.exp(-len(varying))))


def test_no_measurement_counts_beyond_three_deviations() -> None:
    """One question among 26 claims lies five deviations out, and is cut at three: without the cut it would
    have lost 5 and the others gained 1/5 each."""
    rows = [("kiln glaze", ["kiln glaze"])] * 25 + [("kiln glaze?", ["kiln glaze"])]
    scores = recipe_scores(rows, one)
    assert scores[-1] == pytest.approx(1 / (1 + math.exp(3)))
    assert scores[0] == pytest.approx(1 / (1 + math.exp(-1 / 5)))


@pytest.mark.parametrize("claim", ["", "kiln", "渡轮", "?!"])
def test_nothing_to_measure_is_no_error(claim: str) -> None:
    """No documents, no words: a score all the same."""
    assert recipe_scores([(claim, [])], one) == [0.5]
    assert recipe_scores([], one) == []
