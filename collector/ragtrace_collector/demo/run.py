"""Ask the questions, wait for the judged traces, read them back."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import ragtrace
from ragtrace.errors import RagtraceError
from ragtrace.model import Evaluation, Language, SpanRecord
from ragtrace_collector.demo.functions_app import FunctionsApp
from ragtrace_collector.demo.handbook import Handbook
from ragtrace_collector.demo.langchain_app import LangChainApp
from ragtrace_collector.demo.process import collector
from ragtrace_collector.demo.script import Scene, scenes
from ragtrace_collector.readback import Judged, read_judged
from ragtrace_collector.words.progress import DEMO

JUDGED_WITHIN = 120.0
"""Seconds until the last judged trace must be there; a remote judge takes its time."""
_POLL = 0.05


@dataclass(frozen=True, slots=True)
class Shown:
    """A scene, what the judge made of it, and its spans."""

    scene: Scene
    evaluation: Evaluation
    spans: tuple[SpanRecord, ...]

    @property
    def right(self) -> bool:
        """The judge named the cause that the scene was written to show."""
        return self.evaluation.diagnosis.cause is self.scene.expected


def run(arguments: Sequence[str], say: Callable[[str], None], language: Language = "en") -> list[Shown]:
    """Play every scene through the hooks and a collector process.

    Args:
        arguments: further flags for the collector (judge, export).
        say: told what is going on, a line at a time, in ``language``.
        language: that of the user.

    Raises:
        RagtraceError: the collector did not start, or the judged traces did not come.
    """
    script = scenes()
    with tempfile.TemporaryDirectory(prefix="ragtrace-demo-") as name:
        say(DEMO["starting"][language])
        with collector(Path(name), arguments) as running:
            say(DEMO["asking"][language].format(n=len(script), endpoint=running.endpoint))
            _ask(script, running.endpoint)
            say(DEMO["waiting"][language])
            return _matched(script, running.out)


def _ask(script: Sequence[Scene], endpoint: str) -> None:
    handbook = Handbook()
    replies = {scene.question: scene.reply for scene in script}
    functions, langchain = FunctionsApp(handbook, replies), LangChainApp(handbook, replies)
    handle = ragtrace.configure(endpoint=endpoint, service_name="ragtrace-demo")
    try:
        for scene in script:
            if scene.app == "functions":
                "".join(functions.ask(scene.question))
            else:
                langchain.ask(scene.question)
    finally:
        handle.shutdown()


def _matched(script: Sequence[Scene], out: Path) -> list[Shown]:
    until = time.monotonic() + JUDGED_WITHIN
    while True:
        judged = {one.evaluation.interaction.question: one for one in _judged(out)}
        if all(scene.question in judged for scene in script):
            return [Shown(s, judged[s.question].evaluation, judged[s.question].spans) for s in script]
        if time.monotonic() > until:
            raise RagtraceError(f"only {len(judged)} of {len(script)} traces came back judged")
        time.sleep(_POLL)


def _judged(out: Path) -> list[Judged]:
    """What the file holds so far; a line still being written is left for the next look."""
    if not out.exists():
        return []
    body = out.read_bytes()
    return read_judged(body[: body.rfind(b"\n") + 1])
