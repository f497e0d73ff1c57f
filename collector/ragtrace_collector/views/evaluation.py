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
from ragtrace.model import Cause, Language
from ragtrace_collector.evaluating.report import Report
from ragtrace_collector.views.lines import Branch, shorten
from ragtrace_collector.words.reasons import status_words
from ragtrace_collector.words.terms import CAUSES, HEADS, METRICS, PHRASES, SUMMARY

_COLUMNS = (
    *("faithfulness", "answer_relevancy", "context_precision", "context_recall", "answer_correctness"),
    *("citation_correctness", "refusal", "mrr"),
)
"""Metrics of the breakdown, where they have a number."""
_METRIC_HEADS = ("metric", "mean", "scored", "coverage")
_REASONS = 3
"""Of a metric's reasons the most frequent ones are shown."""
_COLOURS = {"better": "bold green", "worse": "bold red"}


def view(report: Report, language: Language = "en") -> RenderableType:
    """The whole summary. ``language`` is that of heads and sentences; advice is in that of its rows."""
    return Group(*_parts(report, language))


def _parts(report: Report, language: Language) -> Iterator[RenderableType]:
    aggregate = report.aggregate
    yield _head(report, language)
    yield _metrics(aggregate.whole, language)
    yield from _not_scored(aggregate.whole, language)
    yield _paths(aggregate.whole, language)
    for name, groups in aggregate.by.items():
        yield _breakdown(name, groups, aggregate, language)
    if report.differences is not None:
        yield from _comparison(report.differences, report.warnings, language)
    for finding in report.findings.found():
        yield from _finding(finding)
    yield _judge(aggregate.judge, language)


def _head(report: Report, language: Language) -> Text:
    progress = report.progress
    counts = {"left_out": len(report.problems), "known": progress.known}
    notes = [SUMMARY[name][language].format(n=count) for name, count in counts.items() if count]
    if progress.first_failure is not None:
        row, error = progress.first_failure
        said = SUMMARY["app_failed"][language]
        notes.append(said.format(n=progress.failed_answers, row=row, error=error))
    rows = SUMMARY["rows"][language].format(n=report.aggregate.whole.n)
    return Text(f"{report.name}  {rows}{''.join(notes)}", style="bold")


def _metrics(group: RowGroup, language: Language) -> Table:
    metric, mean, *others = (HEADS[name][language] for name in _METRIC_HEADS)
    table = _table(metric, mean, "95 %", *others)
    for column in table.columns:
        column.no_wrap = True
    for name, tally in group.metrics.items():
        found = tally.as_json()
        if found["mean"] is None:
            continue
        table.add_row(
            METRICS[name]["zh"] if language == "zh" and name in METRICS else name,
            _number(found["mean"]),
            f"{found['low']:.3f}–{found['high']:.3f}",
            str(found["n_scored"]),
            "–" if found["coverage"] is None else f"{found['coverage']:.0%}",
        )
    return table


def _not_scored(group: RowGroup, language: Language) -> Iterator[RenderableType]:
    """Why rows have no number: a line for each reason, with all metrics of as many rows behind it."""
    by_reason: dict[tuple[str, int], list[str]] = {}
    for name, tally in group.metrics.items():
        for coded, count in tally.reasons.most_common(_REASONS):
            by_reason.setdefault((coded, count), []).append(name)
    lines = []
    for (coded, count), names in by_reason.items():
        status, _, reason = coded.partition(": ")
        words = status_words(status, reason, language)
        said = SUMMARY["not_scored"][language].format(n=count, reason=words, names=_joined(names, language))
        lines.append(Branch(Text("  "), Text("    "), Text(said, style="dim")))
    if lines:
        yield Group(Text(HEADS["why_not"][language], style="dim"), *lines, Text())


def _joined(names: Sequence[str], language: Language) -> str:
    """The names on one line; those of one measure at several cut-offs as one, ``hit@1,3,5``."""
    cut_offs: dict[str, list[str]] = {}
    for name in names:
        measure, _, cut_off = name.partition("@")
        known = METRICS[measure]["zh"] if language == "zh" and measure in METRICS else measure
        cut_offs.setdefault(f"{known}{'@' if cut_off else ''}", []).append(cut_off)
    comma = "、" if language == "zh" else ", "
    return comma.join(measure + ",".join(offs) for measure, offs in cut_offs.items())


def _paths(group: RowGroup, language: Language) -> Text:
    counts = {**dict.fromkeys("ABCD", 0), **group.paths}
    parts = [f"{_path_name(path, language)} {count}" for path, count in counts.items()]
    return Text(SUMMARY["paths"][language] + " · ".join(parts) + "\n")


def _path_name(path: str, language: Language) -> str:
    """``C unfaithful``; for rows on no path the cause."""
    if path in SUMMARY:
        return f"{path} {SUMMARY[path][language]}"
    return CAUSES[Cause(path)]["zh"] if language == "zh" else path


def _breakdown(name: str, groups: Mapping[str, RowGroup], aggregate: Aggregate, language: Language) -> Table:
    shown = [metric for metric in _COLUMNS if _mean(aggregate.whole, metric) is not None]
    names = (HEADS[metric][language] if metric in HEADS else metric for metric in shown)
    table = _table(name, HEADS["rows"][language], *names, "A·B·C·D")
    table.collapse_padding = True
    for column in table.columns[1:]:
        column.no_wrap = True  # a narrow terminal folds the group's name, and nothing else
    for value, group in sorted(groups.items()):
        numbers = (_number(_mean(group, metric)) for metric in shown)
        table.add_row(value, str(group.n), *numbers, "·".join(str(group.paths[path]) for path in "ABCD"))
    return table


def _comparison(
    differences: Sequence[Difference], warnings: Sequence[str], language: Language
) -> Iterator[RenderableType]:
    for warning in warnings:
        yield Text(SUMMARY["anyway"][language].format(why=warning), style="yellow")
    *heads, rows = (HEADS[name][language] for name in ("metric", "baseline", "now", "difference", "rows"))
    table = _table(*heads, "95 %", rows, "p (Holm)", "")
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
            Text(SUMMARY[one.verdict][language], style=_COLOURS.get(one.verdict, "dim")),
        )
    yield table


def _finding(finding: Finding) -> Iterator[RenderableType]:
    where = "" if finding.field is None else f"  {finding.field} = {finding.value}"
    yield Text(f"{finding.metric} {finding.mean:.2f}{where}", style="bold yellow")
    try_, join = PHRASES["try"][finding.language], PHRASES["advice_join"][finding.language]
    yield Text(f"  {try_}{join.join(finding.advice)}")
    place = HEADS["row"][finding.language]
    for row in finding.rows:
        said = f"{shorten(row.question, 40)}  {shorten(row.because, 90)}"
        yield Text(f"  {place} {row.row}  {row.value:.2f}  {said}", style="dim")
    yield Text()


def _judge(judge: Mapping[str, Any], language: Language) -> Text:
    said = SUMMARY["judge"][language].format(
        name=" ".join(str(judge[part]) for part in ("kind", "model") if judge.get(part)),
        revision=judge.get("revision"),
        calls=judge.get("calls", 0),
        read=judge.get("input_tokens", 0),
        written=judge.get("output_tokens", 0),
    )
    if estimated := judge.get("estimated_calls", 0):
        said += SUMMARY["estimated"][language].format(n=estimated)
    if local := judge.get("local_claims", 0):
        said += SUMMARY["local"][language].format(n=local)
    return Text(said, style="dim")


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
