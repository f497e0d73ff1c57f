"""The figures: counted once, read back, balanced."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ragtrace_collector.telemetry import TABLE, Figure, Telemetry, unaccounted


def test_every_figure_has_one_row() -> None:
    """And what it is, in words, for the one who reads the metrics page."""
    assert [row.figure for row in TABLE] == list(dict.fromkeys(row.figure for row in TABLE))
    assert {row.figure for row in TABLE} == set(Figure)
    assert all(row.help for row in TABLE)


def test_a_figure_is_summed_over_the_labels_that_are_not_asked_for() -> None:
    """Refused for any reason, or for one."""
    telemetry = Telemetry()
    telemetry.count(Figure.REFUSED, 3, reason="memory")
    telemetry.count(Figure.REFUSED, 4, reason="spool_full")
    assert telemetry.value(Figure.REFUSED) == 7
    assert telemetry.value(Figure.REFUSED, reason="memory") == 3
    assert telemetry.value(Figure.REFUSED, reason="never") == 0
    assert b'ragtrace_collector_refused_spans_total{reason="memory"} 3.0' in telemetry.exposition()


def test_a_level_is_asked_for_when_it_is_looked_at() -> None:
    """A counter cannot be one."""
    telemetry, held = Telemetry(), [5.0]
    telemetry.watch(Figure.HELD, lambda: held[0])
    held[0] = 6.0
    assert telemetry.value(Figure.HELD) == 6
    with pytest.raises(TypeError):
        telemetry.watch(Figure.RECEIVED, lambda: 0.0)


def test_the_alerts_of_the_docs_name_figures_that_there_are() -> None:
    """A rule on a figure of another name would never fire."""
    page = (Path(__file__).parents[2] / "docs" / "collector.md").read_text(encoding="utf-8")
    (rules,) = re.findall(r"```yaml\n(groups:.*?)```", page, re.DOTALL)
    alerts = [rule["expr"] for group in yaml.safe_load(rules)["groups"] for rule in group["rules"]]
    shown = Telemetry().exposition().decode()
    named = [re.findall(r"ragtrace_collector_\w+", alert) for alert in alerts]
    assert all(named)
    assert all(f"# TYPE {name} " in shown for names in named for name in names)


def test_two_collectors_in_one_process_count_apart() -> None:
    """No global registry."""
    first, second = Telemetry(), Telemetry()
    first.count(Figure.RECEIVED, 2)
    assert second.value(Figure.RECEIVED) == 0


@given(st.lists(st.integers(0, 10**6), min_size=5, max_size=5))
def test_what_came_in_is_in_one_book_or_missing(parts: list[int]) -> None:
    """received + replayed + made = forwarded + held + spooled + refused + dropped; the difference is what is lost."""
    forwarded, held, spooled, refused, dropped = parts
    telemetry = Telemetry()
    telemetry.count(Figure.RECEIVED, sum(parts) + 11)
    telemetry.count(Figure.REPLAYED, 2)
    telemetry.count(Figure.MADE, 3)
    telemetry.count(Figure.FORWARDED, forwarded)
    telemetry.watch(Figure.HELD, lambda: held)
    telemetry.watch(Figure.SPOOLED, lambda: spooled)
    telemetry.count(Figure.REFUSED, refused, reason="memory")
    telemetry.count(Figure.DROPPED, dropped, reason="export")
    assert unaccounted(telemetry) == 16
