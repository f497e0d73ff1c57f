"""``ragtrace demo``: the product in one command."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ragtrace.errors import ConfigError
from ragtrace.model import Language
from ragtrace.records import evaluation_to_dict
from ragtrace_collector.demo.phoenix import phoenix
from ragtrace_collector.demo.run import Shown, run
from ragtrace_collector.views.demo import closing, table
from ragtrace_collector.views.tree import render
from ragtrace_collector.words.language import language_option, spoken
from ragtrace_collector.words.progress import DEMO


@click.command(name="demo")
@click.option("--export", "exports", multiple=True, metavar="URL", help="Send the judged traces there too.")
@click.option("--ui", type=click.Choice(["phoenix"]), help="Start this tracing UI and send the traces to it.")
@click.option("--judge", default="embedded", show_default=True, help="embedded, openai, or module:Class.")
@click.option(
    "--base-url", help="OpenAI-compatible endpoint of the judge; the key comes from OPENAI_API_KEY."
)
@click.option("--model", help="Model of the judge.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object a trace, with the expected cause."
)
@language_option
def command(
    *, exports: tuple[str, ...], ui: str | None, as_json: bool, lang: str, **judge: str | None
) -> int:
    """Answer questions with a small RAG app, judge them, and show where each answer failed.

    No account, key or network is needed: the chat model's replies are played, everything else is real. Exit
    code 1 says that a diagnosis differed from the cause that its question was written to show.
    """
    if judge["judge"] == "openai" and not judge["model"]:
        raise ConfigError("--judge openai needs --model NAME")
    console, language = Console(highlight=False, stderr=as_json), spoken(lang)
    flags = [
        part for name, value in judge.items() if value for part in (f"--{name.replace('_', '-')}", value)
    ]
    flags += ["--sample", "1.0"] if judge["judge"] != "embedded" else []
    if ui is None:
        return _play(flags, exports, console, language, as_json=as_json)
    with tempfile.TemporaryDirectory(prefix="ragtrace-phoenix-") as folder, phoenix(Path(folder)) as url:
        code = _play(flags, (*exports, f"{url}/v1/traces"), console, language, as_json=as_json)
        console.print(DEMO["phoenix"][language].format(url=url))
        console.print("  attributes['ragtrace']['diagnosis'] == 'retrieval_missed'", markup=False)
        console.print(DEMO["stop"][language])
        _until_interrupted()
        return code


def _play(
    flags: Sequence[str], exports: Sequence[str], console: Console, language: Language, *, as_json: bool
) -> int:
    started = time.monotonic()
    arguments = [*flags, *(part for url in exports for part in ("--export", url))]
    with console.status("") as status:
        shown = run(arguments, lambda words: status.update(f"{words} …"), language)
    if as_json:
        for one in shown:
            click.echo(json.dumps(_record(one), ensure_ascii=False, allow_nan=False))
    else:
        for one in shown:
            console.print(render(one.evaluation, one.spans))
            console.print()
        console.print(table(shown, language))
        console.print(closing(shown, time.monotonic() - started, language))
    return 0 if all(one.right for one in shown) else 1


def _record(one: Shown) -> dict[str, Any]:
    return evaluation_to_dict(one.evaluation) | {"expected": one.scene.expected}


def _until_interrupted() -> None:
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        return
