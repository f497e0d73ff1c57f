"""Agreement with labels as a table, as JSON and as a reliability plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragtrace.agreement import Agreement, Report
from ragtrace.errors import ConfigError, MissingExtra
from ragtrace.reliability import Bin

_COLUMNS = (
    ("auroc", "AUROC 95 %"),
    ("balanced_accuracy", "bal.acc"),
    ("balanced_accuracy_best", "best"),
    ("kappa", "kappa"),
    ("ece", "ECE"),
    ("coverage", "cov."),
)


def agreement_table(report: Report, skipped: int) -> RenderableType:
    """The report for a terminal."""
    table = Table(title="Judge against labels", title_justify="left")
    fields = list(report.groups[0][0]) if report.groups else []
    for field in fields:
        table.add_column(field, overflow="fold")
    others = list(report.overall.baselines)
    for title in ("n", *(title for _, title in _COLUMNS), *others):
        table.add_column(title, justify="right", no_wrap=True)
    for keys, found in report.groups:
        table.add_row(*keys.values(), str(found.n), *_cells(found, others))
    if len(report.groups) > 1:
        table.add_section()
        first = ["mean of groups", *[""] * (len(fields) - 1)] if fields else []
        table.add_row(*first, str(report.overall.n), *_cells(report.overall, others))
    return Group(table, Text(_notes(report, skipped)))


def reliability_view(bins: tuple[Bin, ...]) -> RenderableType:
    """The reliability table: what the judge said, and how often it was so."""
    table = Table(title="Calibration (groups weigh the same)", title_justify="left")
    for title in ("probability", "share of rows", "mean probability", "share true"):
        table.add_column(title, justify="right")
    total = sum(line.weight for line in bins) or 1.0
    for line in bins:
        table.add_row(
            f"{line.low:.1f}–{line.high:.1f}",
            f"{line.weight / total:.1%}",
            f"{line.mean_score:.2f}",
            f"{line.share_true:.2f}",
        )
    return table


def as_json(report: Report, skipped: int) -> dict[str, Any]:
    """The report as plain data: ``groups``, ``overall`` with ``ece_pooled``, ``usage``, ``skipped``."""
    return {
        "groups": [{**keys, **asdict(found)} for keys, found in report.groups],
        "overall": {**asdict(report.overall), "ece_pooled": report.ece_pooled},
        "reliability": [asdict(line) for line in report.table],
        "usage": asdict(report.usage),
        "skipped": skipped,
    }


def check_plot(path: Path) -> None:
    """Whether :func:`plot` will be able to write ``path``.

    Raises:
        MissingExtra: matplotlib is not installed.
        ConfigError: the ending names no format, or the folder is not there.
    """
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ModuleNotFoundError as error:
        raise MissingExtra("--plot (matplotlib)", "plot") from error
    formats = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.removeprefix(".").lower() not in formats:
        raise ConfigError(
            f"the ending of {path.name!r} must be one of {', '.join(sorted(formats))}", "--plot"
        )
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"there is no folder {path.absolute().parent}", "--plot")


def plot(report: Report, path: Path) -> None:
    """Write a reliability diagram to ``path``: above, how often what the judge said was so; below, how many
    rows it said it of. Its ending says the format; call :func:`check_plot` first."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    upper.plot([0, 1], [0, 1], color="0.7", linestyle="--", label="perfect")
    upper.plot(
        [b.mean_score for b in report.table],
        [b.share_true for b in report.table],
        marker="o",
        label="judge",
    )
    upper.set(ylim=(-0.02, 1.02), ylabel="share of positive labels")
    upper.set_title(f"{report.overall.n} rows, pooled calibration error {_number(report.ece_pooled)}")
    upper.legend(loc="upper left", frameon=False)
    total = sum(b.weight for b in report.table) or 1.0
    lower.bar(
        [(b.low + b.high) / 2 for b in report.table], [b.weight / total for b in report.table], width=0.09
    )
    lower.set(xlim=(0, 1), xlabel="judge's probability", ylabel="rows")
    figure.savefig(path, dpi=150)


def _cells(found: Agreement, others: Sequence[str]) -> list[str]:
    cells = [_number(getattr(found, name)) for name, _ in _COLUMNS]
    if found.auroc is not None:
        half = ((found.auroc_high or 0.0) - (found.auroc_low or 0.0)) / 2
        cells[0] += f" ±{half:.2f}"
    return cells + [_number(found.baselines.get(name)) for name in others]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _notes(report: Report, skipped: int) -> str:
    usage = report.usage
    notes = [f"pooled calibration error {_number(report.ece_pooled)}"]
    if report.overall.baselines:
        notes.append(f"AUROC of word overlap: {', '.join(report.overall.baselines)}")
    if usage.calls:
        notes.append(f"{usage.calls} judge calls, {usage.input_tokens} + {usage.output_tokens} tokens")
    if usage.local_claims:
        notes.append(f"{usage.local_claims} claims decided without a model")
    if skipped:
        notes.append(f"{skipped} rows of other kinds skipped")
    return " · ".join(notes)
