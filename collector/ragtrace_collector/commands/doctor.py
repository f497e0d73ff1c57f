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
from ragtrace.model import Language
from ragtrace_collector.inputs import Inputs
from ragtrace_collector.mapping import read_mapping
from ragtrace_collector.views.doctor import from_spans, from_story, say
from ragtrace_collector.words.language import language_option, spoken

_TRACE_ID = re.compile(r"(?:0x)?([0-9a-fA-F]{32})")
_SPAN_ID = re.compile(r"(?:0x)?[0-9a-fA-F]{16}")
_WITHIN = 5.0


@click.command(name="doctor")
@click.argument("subject", metavar="FILE|TRACE_ID")
@click.option(
    "--admin", default="127.0.0.1:13133", show_default=True, help="Admin endpoint of the collector."
)
@click.option(
    "--mapping", type=click.Path(path_type=Path), help="YAML with attribute paths of your own spans."
)
@language_option
@click.option("--json", "as_json", is_flag=True, help="Print what the collector knows of the trace as JSON.")
def command(*, subject: str, admin: str, mapping: Path | None, lang: str, as_json: bool) -> int:
    """Say why a trace was or was not scored.

    With a TRACE_ID a running collector is asked; a FILE of spans is read as `ragtrace score` reads it. Exit
    code 1 says that the collector has not seen the trace.
    """
    language = spoken(lang)
    path = Path(subject)
    if path.is_file():
        return _read(path, mapping, language)
    trace_id = _trace_id(subject, language)
    story = _ask(admin, trace_id, language)
    lines = [json.dumps(story, ensure_ascii=False)] if as_json else from_story(story, language)
    click.echo("\n".join(lines))
    return 0 if story.get("seen") else 1


def _trace_id(subject: str, language: Language) -> str:
    """The trace id that ``subject`` is.

    Raises:
        InputError: it is none, and no file either; the message says what it looks like.
    """
    plain = subject.strip().replace("-", "")
    if (match := _TRACE_ID.fullmatch(plain)) is not None:
        return match[1].lower()
    if Path(subject).is_dir():
        raise InputError(say("folder", language, subject=subject))
    if _SPAN_ID.fullmatch(plain):
        raise InputError(say("span_id", language, subject=subject))
    if "/" in subject or "\\" in subject or "." in subject:
        raise InputError(say("no_file", language, subject=subject))
    raise InputError(say("no_id", language, subject=subject, length=len(subject)))


def _ask(admin: str, trace_id: str, language: Language) -> dict[str, Any]:
    url = f"http://{admin}/traces/{trace_id}"
    try:
        with urllib.request.urlopen(url, timeout=_WITHIN) as response:  # the scheme is ours
            story = json.load(response)
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise InputError(say("bad_answer", language, url=url, reason=error.code)) from error
        return {"trace_id": trace_id, "seen": False}
    except OSError as error:
        cause = getattr(error, "reason", error)
        refused = isinstance(cause, ConnectionRefusedError)
        reason = say("refused", language) if refused else getattr(cause, "strerror", None) or cause
        raise InputError(say("no_collector", language, url=f"http://{admin}", reason=reason)) from error
    except ValueError as error:
        raise InputError(say("bad_answer", language, url=url, reason=error)) from error
    if not isinstance(story, dict) or "seen" not in story:
        raise InputError(say("bad_answer", language, url=url, reason="no story"))
    return story


def _read(file: Path, mapping: Path | None, language: Language) -> int:
    inputs = Inputs()
    inputs.read(file)
    for problem in inputs.problems:
        click.echo(f"ragtrace: {problem}", err=True)
    found = inputs.interactions(mapping=read_mapping(mapping) if mapping else None)
    lines = from_spans(inputs.spans, found, language)
    click.echo("\n".join(lines) if lines else say("empty_file", language))
    return 2 if inputs.problems else 0
