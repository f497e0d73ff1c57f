"""What ``ragtrace evaluate`` was asked for, checked before anything is paid for; and what came of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from ragtrace.aggregates import Aggregate
from ragtrace.comparison import RowNumbers, compare, differences_of_sets
from ragtrace.dataset import EvaluationSet, row_key
from ragtrace.errors import ConfigError, InputError
from ragtrace.findings import Findings
from ragtrace.model import Language
from ragtrace.refusals import METRIC as REFUSAL
from ragtrace.set_files import json_rows
from ragtrace_collector.evaluating.app import App, load_app
from ragtrace_collector.evaluating.benches import Bench, LocalBench, PoolBench, cores, processes_for
from ragtrace_collector.evaluating.gates import Gate, read_gates
from ragtrace_collector.evaluating.journal import Forgetful, Journal
from ragtrace_collector.evaluating.measuring import Measuring, known_metrics
from ragtrace_collector.evaluating.report import Report
from ragtrace_collector.evaluating.run import Progress, Run
from ragtrace_collector.evaluating.sets import check_fields, open_set
from ragtrace_collector.evaluating.worker import Assignment
from ragtrace_collector.judging import make_judge
from ragtrace_collector.trouble import Trouble, lost_to
from ragtrace_collector.words.language import judged_in, spoken
from ragtrace_collector.words.progress import PROGRESS

_FOR_POOLS = frozenset({"openai", "cascade"})
"""Judges that wait for an endpoint, and can be made anew in another process."""


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
    language: Language
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
                with _bar(len(self.rows.rows), self.language, quiet=self.quiet) as watch:
                    run = Run(
                        self.rows.rows,
                        bench,
                        self.measuring,
                        journal,
                        numbers=self.rows.numbers,
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
        """Where to judge: a judge that computes in as many processes as there are cores, a model's replies in
        as many as they need, a judge of the user's own, of which nothing is known, in this process."""
        kind, rows = self.judging["kind"], len(self.rows.rows)
        store = Forgetful(journal) if self.fresh else journal
        made = make_judge(**self.judging, store=None if kind == "embedded" else store)
        bench = LocalBench(made, self.measuring)
        if kind == "embedded":
            processes = min(self.processes or rows, rows, cores())
            assignment = Assignment(self.judging, self.measuring)
            return PoolBench(
                assignment, processes, 2 * processes, bench.judge
            )  # each has its next row waiting
        processes = processes_for(made.concurrency, rows, self.processes) if kind in _FOR_POOLS else 1
        if processes == 1:
            return bench
        assignment = Assignment(self.judging, self.measuring, self.journal, self.fresh)
        return PoolBench(assignment, processes, made.concurrency, bench.judge)

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
        current, trouble = RowNumbers(), Trouble()
        if not run.progress.stopped:
            with _rows_file(self.out) as write:
                for record in run.records():
                    write(record)
                    aggregate.add(record)
                    findings.add(record)
                    trouble.add(lost_to(record["outcomes"]))
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
            trouble,
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
    if traces is not None and app is None:
        raise ConfigError("needs --app: there are no traces without a run", "--traces")
    fields = tuple(name.strip() for name in by.split(",") if name.strip())
    check_fields(found.rows, fields)
    return Job(
        rows=found,
        measuring=Measuring(metrics, judged_in(lang), row_timeout),
        judging=judging,
        gates=read_gates(fail_under, (*metrics, REFUSAL)),
        by=fields,
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
        language=spoken(lang),
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
        ConfigError: there is no such file.
        InputError: the file cannot be read, or holds other rows.
    """
    if not path.is_file():
        raise ConfigError(f"{path} is no file; --rows of an earlier run writes one", "--compare")
    numbers = RowNumbers()
    for line, record in json_rows(path):
        try:
            numbers.add(record)  # type: ignore[arg-type]  # what it is no mapping of is told below
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError("no row of --rows: it has no outcomes or no judge", str(path), line) from error
    if not numbers.rows:
        raise InputError("no row", str(path))
    return numbers


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
def _bar(total: int, language: Language, *, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """A progress bar on stderr, where that is a terminal; elsewhere it says only that a run is to stop."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield _say_when_stopped(language)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(PROGRESS["evaluating"][language], total=total, note="")

        def watch(progress: Progress) -> None:
            note = PROGRESS["known"][language].format(n=progress.known) if progress.known else ""
            note = PROGRESS["finishing"][language] if progress.stopped else note
            bar.update(task, completed=progress.done, note=note)

        yield watch


def _say_when_stopped(language: Language) -> Callable[[Progress], None]:
    said = False

    def watch(progress: Progress) -> None:
        nonlocal said
        if progress.stopped and not said:
            said = True
            click.echo(PROGRESS["stopping"][language], err=True)

    return watch
