"""A set's summary in the terminal: means with intervals, breakdowns, paths, a comparison, what to try."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragtrace.aggregates import Aggregate
from ragtrace.aggregates import Group as RowGroup
from ragtrace.comparison import Difference
from ragtrace.findings import Finding
from ragtrace_collector.evaluating.report import Report
from ragtrace_collector.views.lines import shorten
from ragtrace_collector.views.words import METRICS, PHRASES

_COLUMNS = (
    *("faithfulness", "answer_relevancy", "context_precision", "context_recall", "answer_correctness"),
    *("citation_correctness", "refusal", "mrr"),
)
"""Metrics of the breakdown, where they have a number."""
_COLOURS = {"better": "bold green", "worse": "bold red"}


def view(report: Report) -> RenderableType:
    """The whole summary."""
    return Group(*_parts(report))


def _parts(report: Report) -> Iterator[RenderableType]:
    aggregate, progress = report.aggregate, report.progress
    head = f"{report.name}  {aggregate.whole.n} rows"
    if report.problems:
        head += f", {len(report.problems)} bad ones left out"
    if progress.known:
        head += f", {progress.known} known before"
    if progress.failed_answers:
        head += f", the app failed on {progress.failed_answers}"
    yield Text(head, style="bold")
    yield _metrics(aggregate.whole)
    yield from _without_number(aggregate.whole)
    yield _paths(aggregate.whole)
    for name, groups in aggregate.by.items():
        yield _breakdown(name, groups, aggregate)
    if report.differences is not None:
        yield from _comparison(report.differences, report.warnings)
    for finding in report.findings.found():
        yield from _finding(finding)
    yield _judge(aggregate.judge)


def _metrics(group: RowGroup) -> Table:
    table = _table("metric", "mean", "95 %", "scored", "coverage", "not scored, and why")
    table.columns[0].no_wrap = table.columns[2].no_wrap = True
    for name, tally in group.metrics.items():
        found = tally.as_json()
        if found["mean"] is None:
            continue
        reasons = ", ".join(f"{count}× {reason}" for reason, count in tally.reasons.most_common(3))
        table.add_row(
            name,
            _number(found["mean"]),
            "" if found["mean"] is None else f"{found['low']:.3f}–{found['high']:.3f}",
            str(found["n_scored"]),
            "–" if found["coverage"] is None else f"{found['coverage']:.0%}",
            reasons,
        )
    return table


def _without_number(group: RowGroup) -> Iterator[Text]:
    """The metrics that no row has a number for, those with the same reason on one line."""
    by_reason: dict[str, list[str]] = {}
    for name, tally in group.metrics.items():
        if not tally.values:
            reason = ", ".join(f"{count}× {reason}" for reason, count in tally.reasons.most_common(3))
            by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        yield Text(f"no number for {', '.join(names)}: {reason}\n", style="dim")


def _paths(group: RowGroup) -> Text:
    names = {"A": "retrieval missed", "B": "misranked or noisy", "C": "unfaithful", "D": "off the question"}
    counts = {**dict.fromkeys("ABCD", 0), **group.paths}
    parts = [f"{path} {names.get(path, '')}".strip() + f" {count}" for path, count in counts.items()]
    return Text("failure paths:  " + " · ".join(parts) + "\n")


def _breakdown(name: str, groups: Mapping[str, RowGroup], aggregate: Aggregate) -> Table:
    shown = [metric for metric in _COLUMNS if _mean(aggregate.whole, metric) is not None]
    table = _table(name, "rows", *(METRICS[m]["en"] if m in METRICS else m for m in shown), *"ABCD")
    for column in table.columns:
        column.no_wrap = True
    for value, group in sorted(groups.items()):
        numbers = (_number(_mean(group, metric)) for metric in shown)
        table.add_row(value, str(group.n), *numbers, *(str(group.paths[path]) for path in "ABCD"))
    return table


def _comparison(differences: Sequence[Difference], warnings: Sequence[str]) -> Iterator[RenderableType]:
    for warning in warnings:
        yield Text(f"compared although {warning}", style="yellow")
    table = _table("metric", "baseline", "now", "difference", "95 %", "rows", "p (Holm)", "")
    for one in differences:
        bounds = "" if one.low is None or one.high is None else f"{one.low:+.3f} … {one.high:+.3f}"
        table.add_row(
            one.metric,
            f"{one.baseline:.3f}",
            f"{one.current:.3f}",
            f"{one.difference:+.3f}",
            bounds,
            str(one.n),
            f"{one.p_holm:.3f}",
            Text(one.verdict, style=_COLOURS.get(one.verdict, "dim")),
        )
    yield table


def _finding(finding: Finding) -> Iterator[RenderableType]:
    where = "" if finding.field is None else f"  {finding.field} = {finding.value}"
    yield Text(f"{finding.metric} {finding.mean:.2f}{where}", style="bold yellow")
    try_, join = PHRASES["try"][finding.language], PHRASES["advice_join"][finding.language]
    yield Text(f"  {try_}{join.join(finding.advice)}")
    for row in finding.rows:
        yield Text(
            f"  row {row.row}  {row.value:.2f}  {shorten(row.question, 40)}  {shorten(row.because, 90)}",
            style="dim",
        )
    yield Text()


def _judge(judge: Mapping[str, Any]) -> Text:
    name = " ".join(str(judge[part]) for part in ("kind", "model") if judge.get(part))
    tokens = f"{judge.get('input_tokens', 0)} + {judge.get('output_tokens', 0)} tokens"
    return Text(
        f"judge {name}, revision {judge.get('revision')}: {judge.get('calls', 0)} calls, {tokens}",
        style="dim",
    )


def _mean(group: RowGroup, metric: str) -> float | None:
    tally = group.metrics.get(metric)
    return sum(tally.values) / len(tally.values) if tally is not None and tally.values else None


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _table(*heads: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold")
    return table
