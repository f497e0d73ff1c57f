"""Agreement with labels as a table, as JSON and as a reliability plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragtrace.agreement import Agreement, Report
from ragtrace.errors import ConfigError, MissingExtra
from ragtrace.model import Language
from ragtrace.reliability import Bin
from ragtrace_collector.words.agreement import AGREEMENT

_COLUMNS = ("auroc", "balanced_accuracy", "balanced_accuracy_best", "kappa", "ece", "coverage")
_DECIDED = ("share", "supported", "rightly", "unsupported", "rightly")


def agreement_table(report: Report, skipped: int, language: Language = "en") -> RenderableType:
    """The report for a terminal: agreement, and where they are known baselines and what a cascade decided."""
    heads = _heads(("n", *_COLUMNS), language)
    parts: list[RenderableType] = [_grouped("title", report, heads, _cells, language)]
    if others := list(report.overall.baselines):

        def beside(found: Agreement) -> list[str]:
            return [_number(found.auroc), *(_number(found.baselines.get(name)) for name in others)]

        heads = [*_heads(("judge",), language), *others]
        parts.append(_grouped("baselines", report, heads, beside, language))
    if report.overall.local is not None:
        parts.append(decided_table(report, language))
    return Group(*parts, Text(_notes(report, skipped, language)))


def decided_table(report: Report, language: Language = "en") -> Table:
    """What a cascade decided: the share of all rows, and of each side its share and the share of it that is
    right."""
    return _grouped("decided", report, _heads(_DECIDED, language), _decided_cells, language)


def _heads(names: Sequence[str], language: Language) -> list[str]:
    return [AGREEMENT[name][language] for name in names]


def _grouped(
    title: str,
    report: Report,
    heads: Sequence[str],
    cells: Callable[[Agreement], Sequence[str]],
    language: Language,
) -> Table:
    """A table with a line for each group, and below them one for all."""
    table = _table(AGREEMENT[title][language])
    fields = list(report.groups[0][0]) if report.groups else []
    for field in fields:
        table.add_column(field, overflow="fold")
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for keys, found in report.groups:
        table.add_row(*keys.values(), *cells(found))
    if len(report.groups) > 1:
        table.add_section()
        mean = AGREEMENT["mean_of_groups"][language]
        first = [mean, *[""] * (len(fields) - 1)] if fields else []
        table.add_row(*first, *cells(report.overall))
    return table


def reliability_view(bins: tuple[Bin, ...], language: Language = "en") -> RenderableType:
    """The reliability table: what the judge said, and how often it was so."""
    table = _table(AGREEMENT["calibration"][language])
    for head in _heads(("probability", "share_of_rows", "mean_probability", "share_true"), language):
        table.add_column(head, justify="right")
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
    lower.set(xlim=(0, 1), xlabel="judge's probability", ylabel="share of rows")
    figure.savefig(path, dpi=150)


def _table(title: str) -> Table:
    """Narrow, so that eighty columns hold it."""
    return Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True
    )


def _cells(found: Agreement) -> list[str]:
    cells = [str(found.n), *(_number(getattr(found, name)) for name in _COLUMNS)]
    if found.auroc is not None:
        half = ((found.auroc_high or 0.0) - (found.auroc_low or 0.0)) / 2
        cells[1] += f" ±{half:.2f}"
    return cells


def _decided_cells(found: Agreement) -> list[str]:
    local = found.local
    if local is None:
        return ["–"] * len(_DECIDED)
    shares = [local.share, local.positive, local.positive_precision, local.negative, local.negative_precision]
    return ["–" if share is None else f"{share:.1%}" for share in shares]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _notes(report: Report, skipped: int, language: Language) -> str:
    usage = report.usage
    said: list[tuple[str, dict[str, object]]] = [("pooled", {"ece": _number(report.ece_pooled)})]
    if usage.calls:
        counts = {"calls": usage.calls, "read": usage.input_tokens, "written": usage.output_tokens}
        said.append(("calls", {**counts}))
    if usage.local_claims:
        said.append(("local", {"n": usage.local_claims}))
    if skipped:
        said.append(("skipped", {"n": skipped}))
    return " · ".join(AGREEMENT[name][language].format(**values) for name, values in said)
