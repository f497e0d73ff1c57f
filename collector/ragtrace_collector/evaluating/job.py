"""What ``ragtrace evaluate`` was asked for, checked before anything is paid for; and what came of it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import click

from ragtrace.aggregates import Aggregate
from ragtrace.comparison import RowNumbers, compare, differences_of_sets
from ragtrace.dataset import EvaluationSet, json_rows, row_key
from ragtrace.errors import ConfigError, InputError
from ragtrace.findings import Findings
from ragtrace.model import Language
from ragtrace.refusals import METRIC as REFUSAL
from ragtrace_collector.commands.judging import make_judge
from ragtrace_collector.evaluating.app import App, load_app
from ragtrace_collector.evaluating.benches import Bench, LocalBench, Measuring, PoolBench, known_metrics
from ragtrace_collector.evaluating.gates import Gate, read_gates
from ragtrace_collector.evaluating.journal import Forgetful, Journal
from ragtrace_collector.evaluating.report import Report
from ragtrace_collector.evaluating.run import Progress, Run
from ragtrace_collector.evaluating.sets import open_set


@dataclass(slots=True)
class Job:
    """A run that is ready to begin: set, app, judge flags and gates have been checked."""

    rows: EvaluationSet
    measuring: Measuring
    judging: dict[str, Any]
    gates: list[Gate]
    by: tuple[str, ...]
    journal: Path
    out: Path | None
    as_json: bool
    app: App | None
    app_run: str
    id_field: str | None
    baseline: RowNumbers | None
    compare_anyway: bool
    fresh: bool
    quiet: bool
    processes: int | None
    warnings: list[str] = field(default_factory=list)

    async def run(self) -> Report:
        """Answer, judge and sum up.

        Raises:
            ConfigError: the comparison is none, or the journal or ``--rows`` cannot be written.
        """
        with Journal(self.journal) as journal:
            bench = self._bench(journal)
            try:
                self._check_comparison(bench)
                if self.fresh:
                    journal.forget_answers(self.app_run)
                with _bar(len(self.rows.rows), quiet=self.quiet) as watch:
                    run = Run(
                        self.rows.rows,
                        bench,
                        self.measuring,
                        journal,
                        app=self.app,
                        app_run=self.app_run,
                        id_field=self.id_field if self.app is not None else None,
                        fresh=self.fresh,
                        watch=watch,
                    )
                    await run.work()
            finally:
                await bench.aclose()
                if self.app is not None:
                    self.app.close()
            return self._sum_up(run)

    def _bench(self, journal: Journal) -> Bench:
        if self.judging["kind"] == "embedded":
            make_judge(**self.judging)  # its flags are checked there
            return PoolBench(self.measuring, min(self.processes or len(self.rows.rows), _most_processes()))
        store = Forgetful(journal) if self.fresh else journal
        return LocalBench(make_judge(**self.judging, store=store), self.measuring)

    def _check_comparison(self, bench: Bench) -> None:
        if self.baseline is None:
            return
        keys = [row_key(row) for row in self.rows.rows]
        self.warnings = differences_of_sets(self.baseline, keys, bench.judge.revision)
        if self.warnings and not self.compare_anyway:
            raise ConfigError(
                f"{'; '.join(self.warnings)}. --compare-anyway compares the rows that are in both",
                "--compare",
            )

    def _sum_up(self, run: Run) -> Report:
        aggregate, findings = Aggregate(self.by), Findings(self.by)
        current = RowNumbers()
        if not run.progress.stopped:
            with _rows_file(self.out) as write:
                for record in run.records():
                    write(record)
                    aggregate.add(record)
                    findings.add(record)
                    if self.baseline is not None:
                        current.add(record)
        return Report(
            self.rows.name,
            self.rows.fingerprint,
            run.progress,
            aggregate,
            findings,
            self.rows.problems,
            None if self.baseline is None else compare(self.baseline, current),
            tuple(self.warnings),
        )


def prepare(
    *,
    source: str,
    app: str | None,
    app_concurrency: int,
    traces: Path | None,
    by: str,
    k: str,
    id_field: str | None,
    rows: Path | None,
    as_json: bool,
    compare: Path | None,
    compare_anyway: bool,
    fail_under: Sequence[str],
    lenient: bool,
    lang: str,
    row_timeout: float,
    processes: int | None,
    journal: Path,
    fresh: bool,
    quiet: bool,
    judging: dict[str, Any],
) -> Job:
    """The job that the flags ask for.

    Raises:
        InputError: the set, or the baseline, cannot be read.
        ConfigError: a flag does not hold what it should.
    """
    found = open_set(
        source, lenient=lenient, needs_answers=app is None, id_field=None if app is not None else id_field
    )
    for problem in found.problems:
        click.echo(f"ragtrace: left out: {problem}", err=True)
    metrics = known_metrics(read_cut_offs(k), has_gold=any(row.gold is not None for row in found.rows))
    language: Language | Literal["auto"] = "zh" if lang == "zh" else "en" if lang == "en" else "auto"
    if traces is not None and app is None:
        raise ConfigError("needs --app: there are no traces without a run", "--traces")
    return Job(
        rows=found,
        measuring=Measuring(metrics, language, row_timeout),
        judging=judging,
        gates=read_gates(fail_under, (*metrics, REFUSAL)),
        by=tuple(name.strip() for name in by.split(",") if name.strip()),
        journal=journal,
        out=rows,
        as_json=as_json,
        app=None if app is None else load_app(app, app_concurrency, traces),
        app_run=hashlib.sha256(f"{app}\n{found.fingerprint}".encode()).hexdigest()[:16],
        id_field=id_field,
        baseline=None if compare is None else read_baseline(compare),
        compare_anyway=compare_anyway,
        fresh=fresh,
        quiet=quiet,
        processes=processes,
    )


def read_cut_offs(text: str) -> tuple[int, ...]:
    """``1,3,5`` → (1, 3, 5).

    Raises:
        ConfigError: one is no whole number from 1 to 9999.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() and 0 < int(part) < 10_000 for part in parts):
        raise ConfigError(f"{text!r} is no list of whole numbers from 1 on", "--k")
    return tuple(sorted({int(part) for part in parts}))


def read_baseline(path: Path) -> RowNumbers:
    """The numbers of the rows that ``--rows`` wrote.

    Raises:
        InputError: the file cannot be read, or holds other rows.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(error), str(path)) from error
    numbers = RowNumbers()
    for line, record in json_rows(text, str(path)):
        try:
            numbers.add(record)  # type: ignore[arg-type]  # what it is no mapping of is told below
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError("no row of --rows: it has no outcomes or no judge", str(path), line) from error
    if not numbers.rows:
        raise InputError("no row", str(path))
    return numbers


def _most_processes() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _rows_file(path: Path | None) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Writes records to ``path`` as JSON lines; the file is there when it is whole.

    Raises:
        ConfigError: it cannot be written.
    """
    if path is None:
        yield lambda _: None
        return
    half = path.with_name(path.name + ".part")
    try:
        with half.open("w", encoding="utf-8") as out:
            yield lambda record: _write_line(out, record)
        half.replace(path)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}", "--rows") from error


def _write_line(out: Any, record: dict[str, Any]) -> None:
    out.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")


@contextmanager
def _bar(total: int, *, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """A progress bar on stderr, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda _: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("evaluating", total=total, note="")

        def watch(progress: Progress) -> None:
            note = f"{progress.known} known before" if progress.known else ""
            bar.update(task, completed=progress.done, note="finishing …" if progress.stopped else note)

        yield watch
