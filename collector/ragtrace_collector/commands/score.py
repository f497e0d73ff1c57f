"""``ragtrace score``: recorded traces and interactions in, outcomes out."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import click

from ragtrace import extract
from ragtrace.dataset import set_row
from ragtrace.errors import ConfigError
from ragtrace.evaluation import Evaluator
from ragtrace.model import Evaluation, Interaction, Language, SpanRecord
from ragtrace.records import evaluation_to_dict, interaction_to_dict
from ragtrace_collector.garbage import collect_seldom
from ragtrace_collector.inputs import Inputs
from ragtrace_collector.judging import judge_options, make_judge
from ragtrace_collector.mapping import read_mapping
from ragtrace_collector.trouble import JUDGE_FAILED, Trouble, lost_to
from ragtrace_collector.words.language import judged_in, language_option, spoken
from ragtrace_collector.words.progress import PROGRESS


@click.command(name="score")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, in input order.")
@click.option(
    "--as-rows",
    is_flag=True,
    help="Print rows of an evaluation set, without judging: add references to them.",
)
@click.option("--extract-only", is_flag=True, help="Stop before judging: show what the traces hold.")
@click.option("--explain", is_flag=True, help="Say where each field was found, and what is missing.")
@click.option("--tree", is_flag=True, help="Show each interaction as a tree: every claim and its reason.")
@language_option
@click.option(
    "--mapping", type=click.Path(path_type=Path), help="YAML with attribute paths of your own spans."
)
@click.option("--stitch", is_flag=True, help="Join one-trace-per-step apps by session id.")
@click.option(
    "--row-timeout",
    type=click.FloatRange(min=0.1),
    default=120.0,
    show_default=True,
    help="Seconds for one interaction; what is not there by then is timed_out.",
)
@judge_options
def command(
    *,
    files: tuple[Path, ...],
    as_json: bool,
    as_rows: bool,
    extract_only: bool,
    explain: bool,
    tree: bool,
    lang: str,
    mapping: Path | None,
    stitch: bool,
    row_timeout: float,
    **judge: Any,
) -> int:
    """Score recorded traces or interactions.

    FILES hold OTLP JSON (one request a line, or one document), OTLP protobuf, or interaction JSONL (question,
    contexts or documents, answer, reference); spans and logs are told apart by content. All files are read
    together. Exit code 2 says that a line could not be read; the others are still scored. Exit code 3: the
    judge scored nothing.
    """
    if tree and (as_json or as_rows or extract_only):
        raise ConfigError("shows judged interactions: not with --json, --as-rows, --extract-only", "--tree")
    inputs = Inputs()
    for path in files:
        inputs.read(path)
    for problem in inputs.problems:
        click.echo(f"ragtrace: {problem}", err=True)
    interactions = inputs.interactions(mapping=read_mapping(mapping) if mapping else None, stitch=stitch)
    trouble = Trouble()
    if as_rows:
        for interaction in interactions:
            _print_json(set_row(interaction))
    elif extract_only:
        _show_extracted(interactions, as_json=as_json, explain=explain)
    elif interactions:
        show = _Shown(spoken(lang), inputs.spans_by_trace(), as_json=as_json, explain=explain, tree=tree)
        trouble = asyncio.run(_score(interactions, judge, lang, show, row_timeout))
        if line := trouble.line(judge["base_url"], judge["model"], spoken(lang)):
            click.echo(line, err=True)
    if not interactions and not inputs.problems:
        click.echo("no RAG interaction in these files; `ragtrace doctor FILE` says why", err=True)
    if inputs.problems:
        return 2
    return JUDGE_FAILED if trouble.complete else 0


def _show_extracted(interactions: Sequence[Interaction], *, as_json: bool, explain: bool) -> None:
    from ragtrace_collector.views.listing import explanation, extracted

    for interaction in interactions:
        if as_json:
            record = interaction_to_dict(interaction)
            _print_json(record | {"explain": extract.explain(interaction)} if explain else record)
        elif explain:
            _print_rich(explanation(interaction))
    if not as_json and not explain:
        _print_rich(extracted(interactions))


@dataclass(frozen=True, slots=True)
class _Shown:
    """How evaluations are shown: each as it comes, and all at the end."""

    language: Language
    spans: Mapping[str, Sequence[SpanRecord]]
    as_json: bool
    explain: bool
    tree: bool

    @property
    def as_it_comes(self) -> bool:
        """Whether something is shown of each evaluation as soon as it is there."""
        return self.as_json or self.explain or self.tree

    def one(self, evaluation: Evaluation, record: Mapping[str, Any]) -> None:
        """What is shown of an evaluation as soon as it is there."""
        interaction = evaluation.interaction
        if self.as_json:
            _print_json({**record, "explain": extract.explain(interaction)} if self.explain else record)
            return
        if self.explain:
            from ragtrace_collector.views.listing import explanation

            _print_rich(explanation(interaction))
        if self.tree:
            from ragtrace_collector.views.tree import render

            _print_rich(render(evaluation, self.spans.get(interaction.trace_id or "", ())))
            _print_rich("")

    def all(self, evaluations: Sequence[Evaluation]) -> None:
        """The tables of all; what a tree has said already is not said again."""
        from ragtrace_collector.views.failures import failures
        from ragtrace_collector.views.listing import scored, summary

        _print_rich(scored(evaluations, self.language))
        if not self.tree and (lines := failures(evaluations)) is not None:
            _print_rich(lines)
        _print_rich(summary(evaluations, self.language))


async def _score(
    interactions: Sequence[Interaction], judge: dict[str, Any], lang: str, show: _Shown, row_timeout: float
) -> Trouble:
    made = make_judge(**judge)
    evaluator = Evaluator(made.judge, embedder=made.embedder, language=judged_in(lang))
    collect_seldom()
    done: list[Evaluation] = []
    trouble = Trouble()
    try:
        with _progress(len(interactions), show) as advance:
            async for evaluation in _evaluations(evaluator, interactions, made.concurrency, row_timeout):
                record = evaluation_to_dict(evaluation)
                trouble.add(lost_to(record["outcomes"]))
                show.one(evaluation, record)
                if not show.as_json:
                    done.append(evaluation)
                advance()
    finally:
        await made.aclose()
    if not show.as_json:
        show.all(done)
    return trouble


async def _evaluations(
    evaluator: Evaluator, interactions: Sequence[Interaction], concurrency: int, row_timeout: float
) -> AsyncIterator[Evaluation]:
    """Evaluations in input order, ``concurrency`` of them at work at a time, each for ``row_timeout`` seconds
    from its turn at most."""

    async def judged(interaction: Interaction) -> Evaluation:
        return await evaluator.evaluate(interaction, time.monotonic() + row_timeout)

    pending: list[asyncio.Task[Evaluation]] = []
    source: Iterator[Interaction] = iter(interactions)
    try:
        while True:
            while len(pending) < concurrency and (interaction := next(source, None)) is not None:
                pending.append(asyncio.create_task(judged(interaction)))
            if not pending:
                return
            yield await pending.pop(0)
    finally:
        for task in pending:
            task.cancel()


@contextmanager
def _progress(total: int, show: _Shown) -> Iterator[Callable[[], None]]:
    """A bar on stderr, where that is a terminal on which nothing else is written meanwhile; what is yielded
    moves it on by one."""
    if not sys.stderr.isatty() or (show.as_it_comes and sys.stdout.isatty()):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # Left to itself it takes what is printed meanwhile for a part of the terminal, whatever stdout is.
    stderr = Console(stderr=True)
    with Progress(*columns, console=stderr, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(PROGRESS["evaluating"][show.language], total=total)
        yield lambda: bar.advance(task)


def _print_json(record: Mapping[str, Any], out: TextIO | None = None) -> None:
    stream = out or sys.stdout
    stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
    stream.flush()


def _print_rich(renderable: Any) -> None:
    from rich.console import Console

    Console(highlight=False).print(renderable)
