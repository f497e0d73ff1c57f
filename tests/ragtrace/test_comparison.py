"""Paired differences: what may be called better, and how often that is wrong."""

import random

import pytest

from ragtrace.comparison import RowNumbers, compare, differences_of_sets, paired, with_verdicts
from ragtrace.intervals import mean_interval, student_quantile, student_tails


def run(values: list[float | None], revision: str = "r", metric: str = "faithfulness") -> RowNumbers:
    return RowNumbers(
        {
            "question": f"q{n}",
            "reference": None,
            "gold": None,
            "judge": {"revision": revision},
            "outcomes": {metric: {"value": value}},
        }
        for n, value in enumerate(values)
    )


@pytest.mark.parametrize(
    ("degrees", "wanted"), [(1, 12.7062), (2, 4.3027), (5, 2.5706), (10, 2.2281), (30, 2.0423), (120, 1.9799)]
)
def test_students_quantiles_are_those_of_the_tables(degrees: int, wanted: float) -> None:
    """Two-sided 95 %, as printed in any table of the distribution."""
    assert student_quantile(degrees) == pytest.approx(wanted, abs=5e-5)
    assert student_tails(wanted, degrees) == pytest.approx(0.05, abs=1e-5)


def test_an_interval_of_equal_values_has_a_width() -> None:
    """Three perfect rows do not prove perfection: Wilson's interval of 3 of 3 begins at 0.4385."""
    found = mean_interval([1.0, 1.0, 1.0])
    assert found is not None
    assert (found.mean, round(found.low, 4), found.high) == (1.0, 0.4385, 1.0)
    assert mean_interval([]) is None


def test_the_t_interval_by_hand() -> None:
    """Differences 0.1, 0.2, 0.3: mean 0.2, standard error 0.1/√3, t(2) = 4.3027."""
    one = paired("m", [(0.1, 0.2), (0.1, 0.3), (0.1, 0.4)])
    assert one.difference == pytest.approx(0.2)
    assert one.low == pytest.approx(0.2 - 4.30265 * 0.1 / 3**0.5, abs=1e-5)
    assert one.high == pytest.approx(0.2 + 4.30265 * 0.1 / 3**0.5, abs=1e-5)


def test_a_clear_gain_is_better_and_more_noise_is_worse() -> None:
    """The direction is the metric's: less noise is better."""
    old, new = [0.2 + n % 3 / 10 for n in range(30)], [0.5 + n % 4 / 10 for n in range(30)]
    assert compare(run(old), run(new))[0].verdict == "better"
    assert compare(run(new), run(old))[0].verdict == "worse"
    noise = compare(run(old, metric="context_noise"), run(new, metric="context_noise"))
    assert noise[0].verdict == "worse"


def test_a_few_lucky_rows_prove_nothing() -> None:
    """Four of thirty rows that differ the same way happen by chance once in eight."""
    old: list[float | None] = [0.5] * 30
    assert compare(run(old), run([1.0] * 4 + [0.5] * 26))[0].verdict == "no difference shown"
    assert compare(run(old), run([1.0] * 12 + [0.5] * 18))[0].verdict == "better"


def test_rows_without_a_number_in_either_run_are_left_out_and_counted() -> None:
    """A row that one judge could not score says nothing of the difference."""
    one = compare(run([0.1, None, 0.3]), run([0.2, 0.5, None]))[0]
    assert (one.n, one.n_left_out, one.low) == (1, 2, None)


def test_changed_sets_and_judges_are_named() -> None:
    """A row that is new, a row that is gone, another revision."""
    baseline = run([0.1, 0.2])
    keys = [key for key, _ in baseline.rows]
    assert differences_of_sets(baseline, keys, "r") == []
    assert "another revision (r; now s)" in differences_of_sets(baseline, keys, "s")[0]
    assert "1 rows are new or changed, 1 are gone" in differences_of_sets(baseline, [keys[0], "x"], "r")[0]


def test_holm_adjusts_by_the_number_of_metrics() -> None:
    """The smallest of two p-values counts double, and none falls below a smaller one's."""
    pairs = [(0.0, 0.1 + n / 50) for n in range(8)]
    first, second = with_verdicts([paired("a", pairs), paired("b", [(y, x) for x, y in pairs])])
    assert first.p_holm == pytest.approx(2 * first.p)
    assert second.p_holm == pytest.approx(2 * first.p)


def _binary(draw: random.Random) -> float:
    return float(draw.random() < 0.8)


def _share(draw: random.Random) -> float:
    return draw.choice([0.0, 0.5, 2 / 3, 1.0, 1.0, 1.0])


def _sparse(draw: random.Random) -> float:
    return float(draw.random() > 0.03)


@pytest.mark.parametrize("value", [_binary, _share, _sparse, random.Random.random])
@pytest.mark.parametrize("n", [20, 80])
def test_two_runs_of_the_same_app_are_seldom_called_different(value: object, n: int) -> None:
    """In 1,000 comparisons of runs that differ by chance alone, at most 6.5 % say better, or worse."""
    draw = random.Random(7)
    make = value if callable(value) else None
    assert make is not None
    verdicts = [
        with_verdicts([paired("m", [(make(draw), make(draw)) for _ in range(n)])])[0].verdict
        for _ in range(1000)
    ]
    assert verdicts.count("better") <= 65
    assert verdicts.count("better") + verdicts.count("worse") <= 65
