"""``ragtrace doctor``: why was this trace scored, or not?"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import click

from ragtrace.errors import InputError
from ragtrace_collector.inputs import Inputs
from ragtrace_collector.views.doctor import from_spans, from_story

_TRACE_ID = re.compile(r"(?:0x)?([0-9a-fA-F]{32})")
_WITHIN = 5.0


@click.command(name="doctor")
@click.argument("subject", metavar="FILE|TRACE_ID")
@click.option(
    "--admin", default="127.0.0.1:13133", show_default=True, help="Admin endpoint of the collector."
)
@click.option("--json", "as_json", is_flag=True, help="Print what the collector knows of the trace as JSON.")
def command(*, subject: str, admin: str, as_json: bool) -> int:
    """Say why a trace was or was not scored.

    With a TRACE_ID a running collector is asked; a FILE of spans is read as `ragtrace score` reads it. Exit
    code 1 says that the collector has not seen the trace.
    """
    if (match := _TRACE_ID.fullmatch(subject)) is not None and not Path(subject).exists():
        story = _ask(admin, match[1].lower())
        click.echo(json.dumps(story, ensure_ascii=False) if as_json else "\n".join(from_story(story)))
        return 0 if story.get("seen") else 1
    return _read(Path(subject))


def _ask(admin: str, trace_id: str) -> dict[str, Any]:
    url = f"http://{admin}/traces/{trace_id}"
    try:
        with urllib.request.urlopen(url, timeout=_WITHIN) as response:  # the scheme is ours
            story: dict[str, Any] = json.load(response)
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise InputError(f"the collector answers {error.code}", url) from error
        return {"trace_id": trace_id, "seen": False}
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise InputError(f"no collector answers there ({reason}); is --admin right?", url) from error
    return story


def _read(file: Path) -> int:
    inputs = Inputs()
    inputs.read(file)
    for problem in inputs.problems:
        click.echo(f"ragtrace: {problem}", err=True)
    lines = from_spans(inputs.spans, inputs.interactions())
    click.echo("\n".join(lines) if lines else "no spans in this file")
    return 2 if inputs.problems else 0
