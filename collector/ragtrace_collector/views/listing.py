"""Many interactions as tables, and one in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragtrace import extract
from ragtrace.model import Evaluation, Interaction, Outcome, Score, Status
from ragtrace_collector.views.lines import shorten
from ragtrace_collector.views.tree import SHOWN

_HEADS = {
    "faithfulness": "faith",
    "answer_relevancy": "relev",
    "context_precision": "prec",
    "context_recall": "recall",
    "citation_correctness": "cites",
    "answer_correctness": "correct",
}
_MARKS = {
    Status.NOT_APPLICABLE: "–",
    Status.ABSTAINED: "abst",
    Status.JUDGE_ERROR: "error",
    Status.SKIPPED: "skip",
    Status.TIMED_OUT: "late",
}


def scored(evaluations: Sequence[Evaluation]) -> RenderableType:
    """One row an interaction: its scores, or in their place the status, and the diagnosis."""
    table = _table("question", *(_HEADS[name] for name in SHOWN), "path", "diagnosis")
    for evaluation in evaluations:
        diagnosis = evaluation.diagnosis
        table.add_row(
            Text(shorten(evaluation.interaction.question or "?", 38)),
            *(_cell(evaluation.outcomes.get(name)) for name in SHOWN),
            diagnosis.path or "",
            diagnosis.cause,
        )
    return table


def summary(evaluations: Sequence[Evaluation]) -> RenderableType:
    """Mean of each metric, always with its coverage and the reasons of what is missing from it."""
    table = _table("metric", "mean", "scored", "not scored, and why")
    names = dict.fromkeys(name for evaluation in evaluations for name in evaluation.outcomes)
    for name in names:
        outcomes = [e.outcomes[name] for e in evaluations if name in e.outcomes]
        values = [o.value for o in outcomes if isinstance(o, Score)]
        reasons = Counter(f"{o.status}({o.reason})" for o in outcomes if not isinstance(o, Score))
        table.add_row(
            name,
            f"{fmean(values):.3f}" if values else "–",
            f"{len(values)} of {len(outcomes)}",
            ", ".join(f"{count} {reason}" for reason, count in reasons.most_common()),
        )
    causes = Counter(str(e.diagnosis.cause) for e in evaluations)
    line = " · ".join(f"{cause} {count}" for cause, count in causes.most_common())
    return Group(table, Text(f"{len(evaluations)} interactions: {line}"))


def extracted(interactions: Sequence[Interaction]) -> RenderableType:
    """One row an interaction: what its spans hold."""
    table = _table("question", "documents", "answer", "dialect", "missing")
    for interaction in interactions:
        documents = interaction.documents
        table.add_row(
            Text(shorten(interaction.question or "–", 40)),
            "not recorded" if documents is None else str(len(documents)),
            Text(shorten(interaction.answer or "–", 40)),
            interaction.dialect,
            Text("; ".join(interaction.missing)),
        )
    return table


def explanation(interaction: Interaction) -> RenderableType:
    """Where each field of an interaction was found, and what is missing and why."""
    head = Text(f"● {shorten(interaction.question or '?', 80)}", style="bold")
    return Group(head, *(Text(f"  {line}") for line in extract.explain(interaction)))


def _table(*heads: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold")
    return table


def _cell(outcome: Outcome | None) -> Text:
    if isinstance(outcome, Score):
        colour = "green" if outcome.value >= 0.8 else "yellow" if outcome.value >= 0.5 else "bold red"
        return Text(f"{outcome.value:.2f}", style=colour)
    return Text(_MARKS[outcome.status] if outcome else "–", style="dim")
