"""A judge against labels: rows are read, judged and measured."""

from __future__ import annotations

import json

import pytest

from ragtrace.agreement import report
from ragtrace.errors import InputError
from ragtrace.judged_rows import JudgedRow, judge_row
from ragtrace.judges.embedded import EmbeddedJudge
from ragtrace.labelled import LabelledRow, read_rows
from ragtrace.testing import ScriptedJudge, make_interaction

CONTEXT = "The harbour was built in 1902 and holds forty boats."
ROWS = [
    {"claim": "The harbour was built in 1902.", "label": 1, "label_kind": "support"},
    {"claim": "The harbour was built in 1950 [1].", "label": 0, "label_kind": "citation"},
    {"claim": "Whales were hunted here.", "label": 0.2, "label_kind": "support"},
    {"claim": "It holds forty boats.", "label": 1.0, "label_kind": "support"},
]


@pytest.fixture
def labels(tmp_path):
    def write(rows, name="harbour.jsonl"):
        path = tmp_path / name
        lines = [json.dumps({"contexts": [CONTEXT], **row}, ensure_ascii=False) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


async def judged(path, metric=None, by=("source", "lang"), judge=None):
    rows = [row for row in read_rows(path, metric, by) if row is not None]
    return report([await judge_row(judge or EmbeddedJudge(), row) for row in rows])


async def test_claims_that_hold_rank_above_those_that_do_not(labels):
    """Two true and two false claims, clearly apart: everything that measures agreement is 1."""
    found = await judged(labels(ROWS))
    ((keys, group),) = found.groups
    assert keys == {"source": "harbour", "lang": "en"}
    assert (group.n, group.auroc, group.balanced_accuracy, group.kappa, group.coverage) == (4, 1, 1, 1, 1)


def test_rows_of_other_kinds_are_skipped(labels):
    """Only rows of the wanted metric come out; pairs of answers label no score."""
    rows = [*ROWS, {"question": "q", "label": 1, "label_kind": "context_relevance"}]
    rows.append({"answer": "a", "answer_b": "b", "label": 1, "label_kind": "correctness"})
    found = list(read_rows(labels(rows), "support", ()))
    assert [row is not None for row in found] == [True] * 4 + [False] * 2


def test_each_row_has_the_metric_of_its_kind(labels):
    """Without a metric, label_kind says what a row is about."""
    rows = [ROWS[0], {"question": "When?", "label": 1, "label_kind": "context_relevance"}]
    assert [row.metric for row in read_rows(labels(rows), None, ())] == ["support", "relevance"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"claim": "c", "label": "yes"}, "label is no number"),
        ({"label": 1, "label_kind": "support"}, "claim or answer"),
        ({"label": 1, "label_kind": "context_relevance", "contexts": []}, "question and contexts"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(labels, row, message):
    """File, line and reason stand in the error."""
    with pytest.raises(InputError, match=message) as caught:
        list(read_rows(labels([ROWS[0], row]), None, ()))
    assert caught.value.line == 2


async def test_a_judge_without_verdicts_is_not_scored(labels):
    """Rows that the judge gives nothing for lower coverage and no figure."""
    found = await judged(labels(ROWS), judge=ScriptedJudge())
    assert found.overall.coverage == 0.0
    assert found.overall.auroc is None


async def test_correctness_compares_with_the_likest_reference(labels):
    """An answer that matches one of several references scores above one that matches none."""
    base = {
        "question": "Who wrote Emma?",
        "reference": ["Jane Austen", "J. Austen"],
        "label_kind": "correctness",
    }
    rows = [
        {**base, "answer": "Jane Austen wrote it.", "label": 1},
        {**base, "answer": "Charles Dickens wrote it.", "label": 0},
    ]
    found = await judged(labels(rows))
    assert found.overall.auroc == 1.0


async def test_groups_weigh_the_same(labels, tmp_path):
    """The overall figures are means over groups, not over rows."""
    one, other = labels(ROWS, "one.jsonl"), labels(ROWS[:2] * 5, "two.jsonl")
    rows = [row for path in (one, other) for row in read_rows(path, None, ("source",)) if row]
    found = report([await judge_row(EmbeddedJudge(), row) for row in rows])
    means = [group.ece for _, group in found.groups]
    assert found.overall.ece == pytest.approx(sum(means) / 2)


def test_what_a_cascade_decided_counts_by_what_it_decided():
    """Groups weigh the same: of one all is decided and half of that rightly, of the other a quarter, rightly.
    Together five eighths are decided, and (1/2 + 1/4) / (1 + 1/4) of that rightly."""

    def row(source: str, label: bool, local: bool) -> JudgedRow:
        labelled = LabelledRow("support", label, make_interaction(), "c", {"source": source}, "en")
        return JudgedRow(labelled, 0.9, True, local=local)

    one = [row("one", True, True), row("one", False, True)]
    other = [row("other", True, True), *[row("other", False, False)] * 3]
    found = report([*one, *other]).overall.local
    assert found is not None
    assert found.share == found.positive == pytest.approx(5 / 8)
    assert found.positive_precision == pytest.approx(3 / 5)
    assert found.negative_precision is None
