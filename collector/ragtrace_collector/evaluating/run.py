"""One run over a set: answer, judge, keep, in any order; then read back in the set's order."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from ragtrace.dataset import Rows, row_key, with_document_ids
from ragtrace.model import Interaction, Status
from ragtrace.records import interaction_to_dict
from ragtrace_collector.evaluating.benches import Bench
from ragtrace_collector.evaluating.journal import Journal, content_key
from ragtrace_collector.evaluating.measuring import RECORDS, Measuring

_RETRIED = (Status.JUDGE_ERROR, Status.TIMED_OUT)
"""Outcomes that the next run tries anew: the endpoint may be back."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The trace that a row came from. No part of what is judged: an app that is called again gives the same
    answer in another trace."""

    trace_id: str | None
    span_id: str | None
    hops: tuple[str | None, ...]

    def put(self, record: dict[str, Any]) -> dict[str, Any]:
        """``record`` with this place in it."""
        record |= {"trace_id": self.trace_id, "span_id": self.span_id}
        for hop, span_id in zip(record["hops"], self.hops, strict=True):
            hop["span_id"] = span_id
        return record


class Answers(Protocol):
    """Makes the answers, where a set has only questions."""

    async def answer(self, row: Interaction) -> Interaction:
        """The row with the app's documents and answer; its ``error`` says where the app raised."""


@dataclass(slots=True)
class Progress:
    """What was done so far. ``known`` rows were taken from the journal, where an earlier run had put them.

    ``first_failure`` is the first row in the set's order that the app raised on: its number, and the name of
    the exception.
    """

    total: int
    answered: int = 0
    judged: int = 0
    known: int = 0
    failed_answers: int = 0
    first_failure: tuple[int, str] | None = None
    stopped: bool = False

    @property
    def done(self) -> int:
        """Rows that have their outcomes."""
        return self.judged + self.known

    def app_failed(self, row: int, error: str) -> None:
        """Count a row that the app raised on."""
        self.failed_answers += 1
        self.first_failure = min(self.first_failure or (row, error), (row, error))


@dataclass
class Run:
    """A run. ``numbers`` are the rows' numbers in their file; ``watch`` is called after each row, and when it
    is to stop; ``fresh`` pays for all anew."""

    rows: Rows
    bench: Bench
    measuring: Measuring
    journal: Journal
    numbers: Sequence[int]
    app: Answers | None = None
    app_run: str = ""
    id_field: str | None = None
    fresh: bool = False
    watch: Callable[[Progress], None] = lambda _: None
    progress: Progress = field(init=False)
    _keys: list[str | None] = field(init=False)
    _mine: set[str] = field(default_factory=set)
    _places: dict[int, _Place] = field(default_factory=dict)
    _at_work: dict[str, asyncio.Event] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.progress = Progress(len(self.rows))
        self._keys = [None] * len(self.rows)
        judge = self.bench.judge
        self._meaning = (judge.kind, judge.revision, str(RECORDS), *self.measuring.metrics)
        self._meaning += (self.measuring.language,)

    async def work(self) -> None:
        """Do all rows. After a first interrupt the rows at work are finished and kept, and no other begun;
        ``progress.stopped`` says so."""
        queue = iter(range(len(self.rows)))

        async def worker() -> None:
            for number in queue:
                if self.progress.stopped:
                    return
                await self._row(number)
                self.watch(self.progress)

        with _interrupts(self._stop):
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.bench.width, len(self.rows))):
                    group.create_task(worker())
        if self.app is not None and not self.progress.stopped:
            self.journal.forget_answers(self.app_run)

    def records(self) -> Iterator[dict[str, Any]]:
        """The records in the set's order, each with its ``row`` number; one in memory at a time."""
        for number, key in zip(self.numbers, self._keys, strict=True):
            stored = None if key is None else self.journal.evaluation(key)
            if stored is not None:
                record = json.loads(stored)
                yield {
                    "row": number,
                    **(place.put(record) if (place := self._places.get(number)) else record),
                }

    def _stop(self) -> None:
        self.progress.stopped = True
        self.watch(self.progress)

    async def _row(self, number: int) -> None:
        row = await self._answered(number)
        place = _Place(row.trace_id, row.entry_span_id, tuple(hop.span_id for hop in row.hops))
        if row.trace_id is not None:
            self._places[self.numbers[number]] = place
        nowhere = _Place(None, None, (None,) * len(row.hops)).put(interaction_to_dict(row))
        key = content_key(nowhere, *self._meaning)
        while (other := self._at_work.get(key)) is not None:
            await other.wait()  # the same row twice in a set is paid for once
        if key in self._mine:
            self.progress.judged += 1
        elif self._is_known(key):
            self.progress.known += 1
        else:
            await self._judge(key, row)
            self.progress.judged += 1
        self._keys[number] = key

    async def _judge(self, key: str, row: Interaction) -> None:
        done = self._at_work[key] = asyncio.Event()
        try:
            record = await self.bench.evaluate(row)
            self.journal.add_evaluations([(key, record)])
            self._mine.add(key)
        finally:
            del self._at_work[key]
            done.set()

    def _is_known(self, key: str) -> bool:
        stored = None if self.fresh else self.journal.evaluation(key)
        return stored is not None and not _is_to_retry(json.loads(stored))

    async def _answered(self, number: int) -> Interaction:
        """The row with its answer: the set's, that of the run that was cut off, or the app's now."""
        row = self.rows[number]
        if self.app is None:
            return row
        key = f"{number}-{row_key(row)}"
        stored = self.journal.answer(self.app_run, key)
        if stored is not None:
            from ragtrace_collector.evaluating.app import restored

            answered = restored(row, stored)
        else:
            answered = await self.app.answer(row)
            if answered.error is None:
                self.journal.add_answer(self.app_run, key, json.dumps(interaction_to_dict(answered)))
            else:
                self.progress.app_failed(self.numbers[number], answered.error)
        self.progress.answered += 1
        return answered if self.id_field is None else with_document_ids(answered, self.id_field)


def _is_to_retry(record: dict[str, Any]) -> bool:
    return any(outcome["status"] in _RETRIED for outcome in record["outcomes"].values())


@contextmanager
def _interrupts(stop: Callable[[], None]) -> Iterator[None]:
    """``stop`` at the first Ctrl-C or SIGTERM; the second Ctrl-C interrupts as usual."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def on_signal() -> None:
        stop()
        loop.remove_signal_handler(signal.SIGINT)
        if task is not None:
            loop.add_signal_handler(signal.SIGINT, task.cancel)

    with suppress(NotImplementedError, RuntimeError, ValueError):  # no main thread, or Windows
        loop.add_signal_handler(signal.SIGINT, on_signal)
        loop.add_signal_handler(signal.SIGTERM, on_signal)
    try:
        yield
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)
            loop.remove_signal_handler(signal.SIGTERM)
