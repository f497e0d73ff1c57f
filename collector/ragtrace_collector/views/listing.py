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
from ragtrace.model import Evaluation, Interaction, Language, Outcome, Score, Status
from ragtrace_collector.views.lines import shorten
from ragtrace_collector.views.tree import SHOWN
from ragtrace_collector.words.reasons import status_words
from ragtrace_collector.words.terms import CAUSES, HEADS, METRICS, SUMMARY

_MARKS = {
    Status.NOT_APPLICABLE: "–",
    Status.ABSTAINED: "abst",
    Status.JUDGE_ERROR: "error",
    Status.SKIPPED: "skip",
    Status.TIMED_OUT: "late",
}


def scored(evaluations: Sequence[Evaluation], language: Language = "en") -> RenderableType:
    """One row an interaction: its place in the input (from 1), its scores, or in their place the status, and
    the diagnosis."""
    names = [name for name in SHOWN if any(_applies(one.outcomes.get(name)) for one in evaluations)]
    table = _table(*(HEADS[name][language] for name in ("row", *names, "path", "diagnosis", "question")))
    table.collapse_padding = True
    for column in table.columns[:-1]:
        column.no_wrap = True  # a narrow terminal folds the question, and nothing else
    for number, evaluation in enumerate(evaluations, start=1):
        diagnosis = evaluation.diagnosis
        table.add_row(
            str(number),
            *(_cell(evaluation.outcomes.get(name)) for name in names),
            diagnosis.path or "",
            CAUSES[diagnosis.cause]["zh"] if language == "zh" else diagnosis.cause,
            Text(shorten(evaluation.interaction.question or "?", 60)),
        )
    return table


def summary(evaluations: Sequence[Evaluation], language: Language = "en") -> RenderableType:
    """Mean of each metric, always with its coverage and the reasons of what is missing from it."""
    table = _table(*(HEADS[name][language] for name in ("metric", "mean", "scored", "why_not")))
    names = dict.fromkeys(name for evaluation in evaluations for name in evaluation.outcomes)
    for name in names:
        outcomes = [e.outcomes[name] for e in evaluations if name in e.outcomes]
        values = [o.value for o in outcomes if isinstance(o, Score)]
        comma = "、" if language == "zh" else ", "
        reasons = Counter(
            status_words(o.status, o.reason, language) for o in outcomes if not isinstance(o, Score)
        )
        table.add_row(
            METRICS[name]["zh"] if language == "zh" and name in METRICS else name,
            f"{fmean(values):.3f}" if values else "–",
            SUMMARY["n_of"][language].format(n=len(values), total=len(outcomes)),
            comma.join(f"{count} {reason}" for reason, count in reasons.most_common()),
        )
    causes = Counter(e.diagnosis.cause for e in evaluations).most_common()
    named = (f"{CAUSES[cause]['zh'] if language == 'zh' else cause} {count}" for cause, count in causes)
    return Group(
        table, Text(SUMMARY["interactions"][language].format(n=len(evaluations)) + " · ".join(named))
    )


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


def _applies(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.status is not Status.NOT_APPLICABLE


def _cell(outcome: Outcome | None) -> Text:
    if isinstance(outcome, Score):
        colour = "green" if outcome.value >= 0.8 else "yellow" if outcome.value >= 0.5 else "bold red"
        return Text(f"{outcome.value:.2f}", style=colour)
    return Text(_MARKS[outcome.status] if outcome else "–", style="dim")
