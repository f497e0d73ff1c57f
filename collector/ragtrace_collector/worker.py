"""The scoring worker: a process of its own, so that the intake loop never waits for a judge.

It is spawned (never forked), loads the heavy libraries, and runs one event loop in which judgements proceed
side by side. It ends when its pipe does, so that it never outlives a killed collector.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, BinaryIO

from ragtrace.errors import RagtraceError
from ragtrace.model import Evaluation, Interaction
from ragtrace_collector import otlp
from ragtrace_collector.garbage import collect_seldom
from ragtrace_collector.privacy import stay_local
from ragtrace_collector.redaction import redacted
from ragtrace_collector.worker_messages import (
    Bench,
    Done,
    Failed,
    Found,
    Job,
    JudgeSetup,
    NotReady,
    Ready,
    Setup,
    read_frame,
    to_frame,
)

if TYPE_CHECKING:
    from ragtrace.embedders.base import Embedder
    from ragtrace.evaluation import Evaluator
    from ragtrace.extract import AttributeMapping
    from ragtrace.judges.base import Judge
    from ragtrace.redact import Redactor


@dataclass(frozen=True)
class _Seat:
    """A judge in place."""

    judge: Judge
    embedder: Embedder | None
    evaluator: Evaluator
    redactor: Redactor | None


def main() -> None:
    """Run until the pipe on standard input ends."""
    # Whatever a library prints must not get between the messages.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    asyncio.run(_serve(out))


async def _serve(out: BinaryIO) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer
    )
    setup = await read_frame(reader)
    if not isinstance(setup, Setup):
        return
    if setup.local_only:
        stay_local()
    try:
        seats = {bench: _seat(judge, setup) for bench, judge in setup.judges.items()}
    except (RagtraceError, ImportError, TypeError, ValueError) as error:
        _send(out, NotReady(str(error)))
        return
    collect_seldom()
    infos = {bench: seat.evaluator.judge_info for bench, seat in seats.items()}
    _send(out, Ready(infos, seats[Bench.JUDGE].evaluator.metric_names))
    desk = _Desk(out, seats, setup.mapping)
    try:
        while (message := await read_frame(reader)) is not None:
            if isinstance(message, Job):
                desk.take(message)
    finally:
        await desk.close()


@dataclass
class _Desk:
    """The jobs in work."""

    out: BinaryIO
    seats: Mapping[Bench, _Seat]
    mapping: AttributeMapping | None = None
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def take(self, job: Job) -> None:
        """Begin a job."""
        task = asyncio.create_task(self._work(job))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _work(self, job: Job) -> None:
        deadline = time.monotonic() + job.seconds
        try:
            interactions = _read(job, self.mapping)
            _send(self.out, Found(job.id, tuple(map(_without_texts, interactions))))
            seat = self.seats[job.bench]
            judgements = (_evaluate(seat, one, job.known, deadline) for one in interactions)
            _send(self.out, Done(job.id, tuple(await asyncio.gather(*judgements))))
        except Exception as error:  # noqa: BLE001  # a user's judge may raise anything; the spans must go on
            _send(self.out, Failed(job.id, type(error).__name__))

    async def close(self) -> None:
        """Drop what is in work and free the judges."""
        for task in list(self.tasks):
            task.cancel()
        for seat in self.seats.values():
            await seat.judge.aclose()
            if (close := getattr(seat.embedder, "aclose", None)) is not None:
                await close()


def _read(job: Job, mapping: AttributeMapping | None) -> list[Interaction]:
    from ragtrace import extract

    spans = [otlp.read_span(span) for span in job.spans]
    # Several traces in one job were put together on the way here.
    stitched = len({span.trace_id for span in spans}) > 1
    return extract.interactions(spans, job.logs, mapping=mapping, stitch=stitched)


async def _evaluate(
    seat: _Seat, interaction: Interaction, known: Mapping[str, str], deadline: float
) -> Evaluation:
    if (record := known.get(interaction.entry_span_id or "")) is not None:
        from ragtrace.records import evaluation_from_dict

        return evaluation_from_dict(interaction, json.loads(record))
    if seat.redactor is not None:
        interaction = redacted(interaction, seat.redactor)
    return await seat.evaluator.evaluate(interaction, deadline)


def _without_texts(interaction: Interaction) -> Interaction:
    return replace(
        interaction,
        question=None,
        rewritten_question=None,
        history=(),
        documents=None,
        hops=(),
        answer=None,
        reference=None,
        other_references=(),
        feedback=(),
        metadata={},
    )


def _seat(judge: JudgeSetup, setup: Setup) -> _Seat:
    from ragtrace.evaluation import Evaluator
    from ragtrace.judges import create

    made, embedder = create(judge.use, dict(judge.options)), _embedder(judge)
    evaluator = Evaluator(
        made,
        embedder=embedder,
        metrics=setup.metrics,
        thresholds=setup.thresholds,
        language=setup.language or "auto",
        concurrency=setup.concurrency,
    )
    return _Seat(made, embedder, evaluator, _redactor(setup.patterns) if judge.redact else None)


def _embedder(judge: JudgeSetup) -> Embedder | None:
    if judge.embedder is None:
        return None
    if judge.embedder == "openai":
        from ragtrace.embedders.openai import OpenAIEmbedder

        return OpenAIEmbedder(**judge.embedder_options)
    from ragtrace.embedders.embedded import EmbeddedEmbedder

    return EmbeddedEmbedder()


def _redactor(patterns: Mapping[str, str]) -> Redactor:
    from ragtrace.redact import Redactor, named

    return Redactor(key=secrets.token_hex(), more=named(patterns))


def _send(out: BinaryIO, message: Ready | NotReady | Found | Done | Failed) -> None:
    # A killed collector reads no more; the end of the other pipe ends this process.
    with contextlib.suppress(BrokenPipeError):
        out.write(to_frame(message))
        out.flush()


if __name__ == "__main__":
    main()
