"""``ragtrace.evaluate(rows)``: evaluate a set of interactions from Python.

Rows may be lists of dicts, a dict of columns, a pandas or Hugging Face data set, or interactions; the
names of other tools' fields are read (``user_input``, ``retrieved_contexts``, ``ground_truth``, …).
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from ragtrace.dataset import read_row
from ragtrace.diagnosis import DEFAULT_THRESHOLDS, Thresholds
from ragtrace.embedders.base import Embedder
from ragtrace.errors import ConfigError, InputError
from ragtrace.evaluation import Evaluator
from ragtrace.judges import create
from ragtrace.judges.base import Judge
from ragtrace.metrics import Metric
from ragtrace.model import Evaluation, Interaction, Language
from ragtrace.results import Results
from ragtrace.rows import FIELDS

_T = TypeVar("_T")
_LISTS = frozenset(name for field in ("documents", "ids", "history") for name in FIELDS[field])
"""Columns whose cells are lists themselves."""


def evaluate(
    rows: Any,
    metrics: Sequence[str | Metric] | None = None,
    *,
    judge: str | Judge = "embedded",
    embedder: Embedder | Literal["embedded"] | None = "embedded",
    language: Language | Literal["auto"] = "auto",
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    concurrency: int = 8,
    row_timeout: float | None = 120.0,
    progress: bool | None = None,
    **judge_options: Any,
) -> Results:
    """Evaluate ``rows`` → means, coverage, and every single outcome.

    Works inside a running event loop too, whichever its kind: the work is done on a loop of its own, in a
    thread of its own, which lives on, so that a judge of yours may be used for several calls.

    Args:
        rows: the interactions, in any shape that the module names.
        metrics: metrics or their names; ``None`` = all that apply.
        judge: ``embedded``, ``openai``, ``my_pkg.mod:Class``, or a judge.
        embedder: for the metrics that compare texts.
        language: of prompts and advice; ``auto`` = that of each row.
        thresholds: where the diagnosis sees a failure.
        concurrency: rows at work at a time.
        row_timeout: seconds for one row, ``None`` = no limit.
        progress: a bar on stderr; ``None`` = if stderr is a terminal.
        judge_options: for a judge by name: ``model``, ``base_url``, …

    Raises:
        InputError: there is no row, or one cannot be read; its number is named.
        ConfigError: no such judge, option or metric, or no metric at all.
        MissingExtra: the judge needs a library that is not installed.
    """
    return _background().run(
        aevaluate(
            rows,
            metrics,
            judge=judge,
            embedder=embedder,
            language=language,
            thresholds=thresholds,
            concurrency=concurrency,
            row_timeout=row_timeout,
            progress=progress,
            **judge_options,
        )
    )


async def aevaluate(
    rows: Any,
    metrics: Sequence[str | Metric] | None = None,
    *,
    judge: str | Judge = "embedded",
    embedder: Embedder | Literal["embedded"] | None = "embedded",
    language: Language | Literal["auto"] = "auto",
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    concurrency: int = 8,
    row_timeout: float | None = 120.0,
    progress: bool | None = None,
    **judge_options: Any,
) -> Results:
    """As :func:`evaluate`, on the caller's event loop."""
    interactions = list(read_rows(rows))
    if not interactions:
        raise InputError("there is no row to evaluate: give rows with a question, documents and an answer")
    if metrics is not None and not metrics:
        raise ConfigError("names no metric; None takes all that apply", "metrics")
    made = create(judge, judge_options) if isinstance(judge, str) else judge
    try:
        evaluator = Evaluator(
            made,
            _embedder(embedder),
            metrics,
            thresholds=thresholds,
            language=language,
            concurrency=max(1, concurrency),
        )
        with _progress(len(interactions), progress) as advance:
            done = await _evaluate_all(evaluator, interactions, max(1, concurrency), row_timeout, advance)
    finally:
        if made is not judge:
            await made.aclose()
    return Results(tuple(done))


def read_rows(rows: Any) -> Iterator[Interaction]:
    """The interactions of ``rows``, in order.

    Raises:
        InputError: a row cannot be read.
    """
    for number, row in enumerate(_records(rows), start=1):
        if isinstance(row, Interaction):
            yield row
        elif isinstance(row, Mapping):
            yield read_row(row, "row", number)
        elif callable(dump := getattr(row, "model_dump", None)):
            yield read_row(dump(exclude_none=True), "row", number)
        else:
            raise InputError(f"{type(row).__name__} is no row: give a dict or an Interaction", "row", number)


def _records(rows: Any) -> Iterable[Any]:
    if isinstance(rows, Interaction):
        return [rows]
    if isinstance(rows, Mapping):
        return _from_mapping(rows)
    if hasattr(rows, "columns") and callable(getattr(rows, "to_dict", None)):
        records: list[Any] = rows.to_dict("records")
        return records
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise InputError(f"cannot read rows from a {type(rows).__name__}")
    return rows


def _from_mapping(columns: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """One row, or as many as the columns are long."""
    plain = [name for name in columns if name not in _LISTS]
    if any(isinstance(columns[name], str) for name in plain):
        return [columns]
    if odd := [name for name, column in columns.items() if not isinstance(column, Sized | None)]:
        raise InputError(f"the column {odd[0]!r} is no list")
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        raise InputError(f"the columns differ in length: {lengths}")
    filled = [name for name in columns if name in lengths]
    return [
        dict(zip(filled, cells, strict=True))
        for cells in zip(*(columns[name] for name in filled), strict=True)
    ]


async def _evaluate_all(
    evaluator: Evaluator,
    interactions: Sequence[Interaction],
    concurrency: int,
    row_timeout: float | None,
    advance: Callable[[], None],
) -> list[Evaluation]:
    """All evaluations in order. A row's time runs from its turn, not from the beginning."""
    done: dict[int, Evaluation] = {}
    queue = iter(enumerate(interactions))

    async def work() -> None:
        for number, interaction in queue:
            deadline = None if row_timeout is None else time.monotonic() + row_timeout
            done[number] = await evaluator.evaluate(interaction, deadline)
            advance()

    async with asyncio.TaskGroup() as group:
        for _ in range(min(concurrency, len(interactions))):
            group.create_task(work())
    return [done[number] for number in range(len(interactions))]


def _embedder(embedder: Embedder | Literal["embedded"] | None) -> Embedder | None:
    if embedder != "embedded":
        return embedder
    from ragtrace.embedders.embedded import EmbeddedEmbedder

    return EmbeddedEmbedder()


@contextmanager
def _progress(total: int, show: bool | None) -> Iterator[Callable[[], None]]:
    """A bar on stderr that the yielded function moves on by one."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("evaluating", total=total)
        yield lambda: bar.advance(task)


class _Background:
    """An event loop in a daemon thread. One long-lived loop: clients pool their connections on it."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="ragtrace-evaluate", daemon=True).start()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run ``work`` to its end; an interrupt of the caller cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


_backgrounds: list[_Background] = []
_starting = threading.Lock()


def _background() -> _Background:
    """The process's loop; a forked child starts its own."""
    with _starting:
        if not _backgrounds or _backgrounds[-1].process != os.getpid():
            _backgrounds[:] = [_Background()]
        return _backgrounds[-1]
