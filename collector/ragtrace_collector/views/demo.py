"""The closing table of the demo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragtrace.model import Cause, Language
from ragtrace_collector.views.lines import shorten
from ragtrace_collector.words.progress import DEMO
from ragtrace_collector.words.terms import CAUSES, HEADS

if TYPE_CHECKING:
    from ragtrace_collector.demo.run import Shown


def table(shown: Sequence[Shown], language: Language = "en") -> RenderableType:
    """One row a question: which path it failed on, and whether it was written to fail so."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=DEMO["title"][language], title_justify="left")
    for head in (HEADS["path"][language], HEADS["diagnosis"][language], ""):
        grid.add_column(head, no_wrap=True)
    grid.add_column(HEADS["question"][language])
    for one in shown:
        diagnosis = one.evaluation.diagnosis
        wrong = DEMO["wrong"][language].format(expected=_cause(one.scene.expected, language))
        grid.add_row(
            diagnosis.path or "",
            _cause(diagnosis.cause, language),
            Text("✓", style="green") if one.right else Text(wrong, style="bold red"),
            Text(shorten(one.scene.question, 72)),
        )
    return grid


def closing(shown: Sequence[Shown], seconds: float, language: Language = "en") -> RenderableType:
    """How many were right, what it cost, where to look next."""
    judges = [one.evaluation.judge for one in shown]
    calls = sum(judge.calls for judge in judges)
    tokens = sum(judge.input_tokens + judge.output_tokens for judge in judges)
    cost = DEMO["cost" if calls else "free"][language].format(calls=calls, tokens=tokens)
    right = DEMO["right"][language].format(
        right=sum(one.right for one in shown),
        total=len(shown),
        seconds=seconds,
        kind=judges[0].kind if judges else "-",
        cost=cost,
    )
    return Group(
        Text(right),
        Text(DEMO["played"][language]),
        *(Text(DEMO[line][language], style="dim") for line in ("next_ui", "next_app")),
    )


def _cause(cause: Cause, language: Language) -> str:
    return CAUSES[cause]["zh"] if language == "zh" else cause.value
