"""``ragtrace score``: recorded traces and interactions in, outcomes out."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import click

from ragtrace import extract
from ragtrace.dataset import set_row
from ragtrace.evaluation import Evaluator
from ragtrace.model import Evaluation, Interaction, Language
from ragtrace.records import evaluation_to_dict, interaction_to_dict
from ragtrace_collector.inputs import Inputs
from ragtrace_collector.judging import judge_options, make_judge
from ragtrace_collector.mapping import read_mapping
from ragtrace_collector.trouble import JUDGE_FAILED, Trouble, lost_to


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
@click.option("--lang", type=click.Choice(["auto", "en", "zh"]), default="auto", show_default=True)
@click.option(
    "--mapping", type=click.Path(path_type=Path), help="YAML with attribute paths of your own spans."
)
@click.option("--stitch", is_flag=True, help="Join one-trace-per-step apps by session id.")
@judge_options
def command(
    *,
    files: tuple[Path, ...],
    as_json: bool,
    as_rows: bool,
    extract_only: bool,
    explain: bool,
    lang: str,
    mapping: Path | None,
    stitch: bool,
    **judge: Any,
) -> int:
    """Score recorded traces or interactions.

    FILES hold OTLP JSON (one request a line, or one document), OTLP protobuf, or interaction JSONL (question,
    contexts or documents, answer, reference); spans and logs are told apart by content. All files are read
    together. Exit code 2 says that a line could not be read; the others are still scored. Exit code 3: the
    judge scored nothing.
    """
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
    else:
        language: Language | None = None if lang == "auto" else "zh" if lang == "zh" else "en"
        trouble = asyncio.run(_score(interactions, judge, language, as_json=as_json, explain=explain))
        if line := trouble.line(judge["base_url"], judge["model"]):
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


async def _score(
    interactions: Sequence[Interaction],
    judge: dict[str, Any],
    language: Language | None,
    *,
    as_json: bool,
    explain: bool,
) -> Trouble:
    from ragtrace_collector.views.listing import explanation, scored, summary

    made = make_judge(**judge)
    evaluator = Evaluator(made.judge, embedder=made.embedder, language=language or "auto")
    done: list[Evaluation] = []
    trouble = Trouble()
    try:
        async for evaluation in _evaluations(evaluator, interactions, made.concurrency):
            record = evaluation_to_dict(evaluation)
            trouble.add(lost_to(record["outcomes"]))
            if as_json:
                _print_json(
                    record | {"explain": extract.explain(evaluation.interaction)} if explain else record
                )
                continue
            done.append(evaluation)
            if explain:
                _print_rich(explanation(evaluation.interaction))
    finally:
        await made.aclose()
    if not as_json:
        _print_rich(scored(done, language or "en"))
        _print_rich(summary(done, language or "en"))
    return trouble


async def _evaluations(
    evaluator: Evaluator, interactions: Sequence[Interaction], concurrency: int
) -> AsyncIterator[Evaluation]:
    """Evaluations in input order, ``concurrency`` of them at work at a time."""
    pending: list[asyncio.Task[Evaluation]] = []
    source: Iterator[Interaction] = iter(interactions)
    try:
        while True:
            while len(pending) < concurrency and (interaction := next(source, None)) is not None:
                pending.append(asyncio.create_task(evaluator.evaluate(interaction)))
            if not pending:
                return
            yield await pending.pop(0)
    finally:
        for task in pending:
            task.cancel()


def _print_json(record: dict[str, Any], out: TextIO | None = None) -> None:
    stream = out or sys.stdout
    stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
    stream.flush()


def _print_rich(renderable: Any) -> None:
    from rich.console import Console

    Console(highlight=False).print(renderable)
