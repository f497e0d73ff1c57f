"""Agreement figures against values worked out by hand."""

from __future__ import annotations

import pytest

from ragtrace import reliability


def test_auroc_counts_pairs():
    """Of the four pairs of a true and a false row, three are in order and one is a tie: 3.5 of 4."""
    assert reliability.auroc([True, True, False, False], [0.9, 0.5, 0.5, 0.1]) == pytest.approx(3.5 / 4)


def test_one_class_has_no_auroc():
    """Without rows of both kinds there is nothing to rank."""
    assert reliability.auroc([True, True], [0.1, 0.9]) is None
    assert reliability.balanced_accuracy([False], [False]) is None


def test_auroc_error_follows_hanley_and_mcneil():
    """Area 0.9 of 50 + 50 rows: q1 = 0.8182, q2 = 0.8526, so the error is 0.0318."""
    assert reliability.auroc_error(0.9, 50, 50) == pytest.approx(0.0318, abs=0.0005)


def test_balanced_accuracy_is_the_mean_of_both_shares():
    """Three of four true rows and one of two false rows: (0.75 + 0.5) / 2."""
    labels, decisions = [True] * 4 + [False] * 2, [True, True, True, False, False, True]
    assert reliability.balanced_accuracy(labels, decisions) == pytest.approx(0.625)


def test_the_best_threshold_separates_what_can_be_separated():
    """A threshold between the classes gives 1 and is the lowest score of the true rows."""
    assert reliability.best_balanced_accuracy([True, True, False], [0.8, 0.6, 0.3]) == (1.0, 0.6)


def test_kappa_takes_chance_away():
    """Agreement 0.7 with even marginals is 0.4 beyond chance."""
    labels = [True] * 5 + [False] * 5
    decisions = [True, True, True, False, False, False, False, False, False, True]
    assert reliability.kappa(labels, decisions) == pytest.approx(0.4)


def test_calibration_error_is_the_weighted_gap():
    """Half of the rows say 0.9 and hold, half say 0.1 and do not: gap 0.1 everywhere."""
    table = reliability.reliability_table([True, False], [0.9, 0.1])
    assert reliability.calibration_error(table) == pytest.approx(0.1)


def test_weights_balance_groups():
    """A row of weight 3 counts like three rows."""
    weighted = reliability.reliability_table([True, False], [0.55, 0.55], [3.0, 1.0])
    repeated = reliability.reliability_table([True, True, True, False], [0.55] * 4)
    assert weighted[0].share_true == pytest.approx(repeated[0].share_true)


def test_decided_rows_count_by_side():
    """Of five rows two are decided true, one of them rightly; one false, rightly; two are left."""
    found = reliability.decided([True, False, False, True, False], [True, True, False, None, None])
    assert (found.positive, found.positive_precision) == (2 / 5, 1 / 2)
    assert (found.negative, found.negative_precision) == (1 / 5, 1.0)
    assert found.share == pytest.approx(3 / 5)


def test_nothing_decided_has_no_precision():
    """A share of 0 is known, how often it would be right is not."""
    assert reliability.decided([True, False], [None, None]) == reliability.Decided(0.0, None, 0.0, None)
    assert reliability.decided([], []).share == 0.0
