"""The closing table of the demo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragtrace_collector.views.lines import shorten

if TYPE_CHECKING:
    from ragtrace_collector.demo.run import Shown


def table(shown: Sequence[Shown]) -> RenderableType:
    """One row a question: which path it failed on, and whether it was written to fail so."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="Where each answer failed", title_justify="left")
    for head in ("path", "diagnosis", ""):
        grid.add_column(head, no_wrap=True)
    grid.add_column("question")
    for one in shown:
        diagnosis = one.evaluation.diagnosis
        grid.add_row(
            diagnosis.path or "",
            diagnosis.cause,
            Text("✓", style="green") if one.right else Text(f"✗ not {one.scene.expected}", style="bold red"),
            Text(shorten(one.scene.question, 72)),
        )
    return grid


def closing(shown: Sequence[Shown], seconds: float) -> RenderableType:
    """How many were right, what it cost, where to look next."""
    right = sum(one.right for one in shown)
    judges = [one.evaluation.judge for one in shown]
    calls = sum(judge.calls for judge in judges)
    tokens = sum(judge.input_tokens + judge.output_tokens for judge in judges)
    cost = (
        f"{calls} model calls, {tokens} tokens"
        if calls
        else "no model call, no key, no network: it cost nothing"
    )
    kind = judges[0].kind if judges else "-"
    return Group(
        Text(f"{right} of {len(shown)} diagnoses right in {seconds:.1f} s, by the {kind} judge; {cost}."),
        Text("Handbook, apps, traces and judge are real; only the chat model's replies are played."),
        Text("Next: the same traces in a tracing UI  →  ragtrace demo --ui phoenix", style="dim"),
        Text("      your own app  →  ragtrace collector --export URL, and one line of code", style="dim"),
    )
