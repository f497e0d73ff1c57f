"""``ragtrace evaluate``: the scores of a whole set, before release."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import click

from ragtrace.errors import RagtraceError
from ragtrace_collector.evaluating.job import Job, prepare
from ragtrace_collector.evaluating.report import Report
from ragtrace_collector.judging import judge_options
from ragtrace_collector.trouble import JUDGE_FAILED
from ragtrace_collector.words.language import language_option
from ragtrace_collector.words.progress import PROGRESS

JOURNAL = Path(".ragtrace/evaluate.sqlite")
INTERRUPTED = 130


@click.command(name="evaluate")
@click.argument("source", metavar="SET")
@click.option("--app", metavar="MODULE:FUNCTION", help="Call this with each question first; sync or async.")
@click.option(
    "--app-concurrency", type=click.IntRange(1, 256), default=4, show_default=True, help="Calls at once."
)
@click.option(
    "--traces", type=click.Path(path_type=Path), help="Write the app's traces here, as OTLP/JSON lines."
)
@click.option(
    "--by", default="", help="Fields to break down by, comma-separated: question_type,difficulty,lang,…"
)
@click.option("--k", default="1,3,5,10", show_default=True, help="Cut-offs of the retrieval measures.")
@click.option("--id-field", help="Where a document has the id that gold ids mean, e.g. metadata.source.")
@click.option("--rows", type=click.Path(path_type=Path), help="Write one JSON object a row, in order.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.option(
    "--compare", type=click.Path(path_type=Path), help="What --rows wrote in another run of this set."
)
@click.option("--compare-anyway", is_flag=True, help="Compare although set or judge changed; says what did.")
@click.option("--fail-under", multiple=True, metavar="METRIC=X[@low]", help="Exit code 1 below; repeatable.")
@click.option("--lenient", is_flag=True, help="Leave bad rows out, and say which.")
@language_option
@click.option(
    "--row-timeout", type=click.FloatRange(min=0.1), default=120.0, show_default=True, help="Seconds."
)
@click.option(
    "--processes", type=click.IntRange(1, 256), help="Worker processes; by default what the cores bear."
)
@click.option(
    "--journal",
    type=click.Path(path_type=Path),
    default=JOURNAL,
    show_default=True,
    help="What was paid for.",
)
@click.option("--fresh", is_flag=True, help="Answer and judge everything anew.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
@judge_options
def command(**given: Any) -> int:
    """Evaluate a set: means with intervals, coverage, failure paths, what to try.

    SET is JSONL, CSV, a Hugging Face data set (its folder, or hf:owner/name@split), or recorded traces. A run
    that was cut off goes on where it was when it is called again, and pays for nothing twice. Exit code 1: a
    --fail-under was not reached; 2: bad usage or input; 3: the judge scored nothing.
    """
    judging = {name: given.pop(name) for name in _JUDGING}
    job = prepare(judging=judging, **given)
    try:
        report = asyncio.run(job.run())
    except* RagtraceError as group:
        raise _first(group) from None
    except* asyncio.CancelledError:
        raise KeyboardInterrupt from None
    return _conclude(job, report)


_JUDGING = ("kind", "base_url", "model", "prompts", "embedding_model", "judge_timeout", "concurrency")


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner


def _conclude(job: Job, report: Report) -> int:
    if report.progress.stopped:
        said = PROGRESS["interrupted"][job.language].format(
            done=report.progress.done, total=report.progress.total, journal=job.journal
        )
        click.echo(said, err=True)
        return INTERRUPTED
    if job.as_json:
        json.dump(report.as_json(), sys.stdout, ensure_ascii=False, allow_nan=False)
        sys.stdout.write("\n")
    else:
        from rich.console import Console

        from ragtrace_collector.views.evaluation import view

        Console(highlight=False).print(view(report, job.language))
    failures = report.failures(job.gates)
    for failure in failures:
        click.echo(f"ragtrace: --fail-under: {failure}", err=True)
    if line := report.trouble.line(job.judging["base_url"], job.judging["model"], job.language):
        click.echo(line, err=True)
    if report.trouble.complete:
        return JUDGE_FAILED
    return 1 if failures else 0
