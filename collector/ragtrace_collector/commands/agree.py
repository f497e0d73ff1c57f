"""``ragtrace agree``: a judge against people's labels."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ragtrace.agreement import report, with_baselines
from ragtrace.errors import InputError
from ragtrace.judged_rows import JudgedRow, judge_row
from ragtrace.labelled import KINDS, LabelledRow, read_rows
from ragtrace.model import Language
from ragtrace_collector.garbage import collect_seldom
from ragtrace_collector.judging import Judging, judge_options, make_judge
from ragtrace_collector.trouble import JUDGE_FAILED, Trouble
from ragtrace_collector.views import agreement as view
from ragtrace_collector.words.language import language_option, spoken


@click.command(name="agree")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--metric",
    type=click.Choice(["support", "relevance", "correctness"]),
    help="Which rows to take, by label_kind; without it each row's own kind.",
)
@click.option(
    "--by", default="source,lang", show_default=True, help="Fields to break down by, comma-separated."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--baselines",
    is_flag=True,
    help="Say beside the judge what word overlap, TF-IDF and a recipe of ten measurements reach.",
)
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Write a reliability diagram (needs ragtrace[plot])."
)
@language_option
@judge_options
def command(
    *,
    files: tuple[Path, ...],
    metric: Any,
    by: str,
    as_json: bool,
    baselines: bool,
    plot: Path | None,
    lang: str,
    **judge: Any,
) -> int:
    """Measure how well a judge agrees with people.

    FILES are JSONL: question (where the metric needs one), contexts, claim or answer, label in 0..1, and
    label_kind (support, context_relevance or correctness). A label counts as positive from 0.5 on.
    Exit code 3: the judge scored nothing.
    """
    fields = [field.strip() for field in by.split(",") if field.strip()]
    rows = [row for path in files for row in read_rows(path, metric, fields)]
    wanted = [row for row in rows if row is not None]
    if not wanted:
        raise InputError(_why_none(files, len(rows), metric))
    if plot is not None:
        view.check_plot(plot)  # before anything is paid for
    made = make_judge(**judge)
    collect_seldom()
    judged = asyncio.run(_judged(wanted, made))
    found = report(with_baselines(judged) if baselines else judged)
    if plot is not None:
        view.plot(found, plot)
    _show(found, len(rows) - len(wanted), spoken(lang), as_json=as_json)
    trouble = Trouble()
    for one in judged:
        trouble.add(one.fault)
    if line := trouble.line(judge["base_url"], judge["model"], spoken(lang)):
        click.echo(line, err=True)
    return JUDGE_FAILED if trouble.complete else 0


def _why_none(files: Sequence[Path], skipped: int, metric: str | None) -> str:
    where = ", ".join(map(str, files))
    if not skipped:
        return f"{where}: no row"
    kinds = ", ".join(sorted(kind for kind, one in KINDS.items() if metric in (None, one)))
    return f"{where}: none of {skipped} rows can be judged; label_kind must be one of {kinds}"


async def _judged(rows: Sequence[LabelledRow], made: Judging) -> list[JudgedRow]:
    """All rows judged, in their order, some at once."""
    gate = asyncio.Semaphore(made.concurrency)

    async def one(row: LabelledRow) -> JudgedRow:
        async with gate:
            return await judge_row(made.judge, row, made.embedder)

    try:
        return list(await asyncio.gather(*map(one, rows)))
    finally:
        await made.aclose()


def _show(found: Any, skipped: int, language: Language, *, as_json: bool) -> None:
    if as_json:
        json.dump(view.as_json(found, skipped), sys.stdout, ensure_ascii=False, allow_nan=False)
        sys.stdout.write("\n")
        return
    console = Console()
    console.print(view.agreement_table(found, skipped, language))
    console.print(view.reliability_view(found.table, language))
