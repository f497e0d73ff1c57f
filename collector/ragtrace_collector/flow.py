"""The way of a request through the collector: receive, hold, sample, score, enrich, hand out.

A request of which nothing is held is acknowledged when the destinations have acknowledged it, within a few
seconds; everything else is in the spool before it is acknowledged. What is in memory is bounded: beyond,
requests wait on disk, and without a spool senders are told to come again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from ragtrace import semconv
from ragtrace.extract.classify import is_rag_scope
from ragtrace_collector.fenced import FencedTriage, ReadLogs
from ragtrace_collector.onward import Onward
from ragtrace_collector.otlp import Sifted, Survey
from ragtrace_collector.outgoing import Store
from ragtrace_collector.parking import Parking
from ragtrace_collector.parts import FlowOptions, Parts
from ragtrace_collector.rescue import Rescue
from ragtrace_collector.stages import (
    Consumer,
    Refused,
    Sampled,
    Signal,
    SpanBatch,
)
from ragtrace_collector.telemetry import Figure
from ragtrace_collector.triage import Triage

_log = logging.getLogger(__name__)
_AGAIN_AFTER = 1.0
"""Seconds until the clock goes on where releasing failed."""


class Flow:
    """The consumer behind the receivers. ``scorer`` is set once it stands."""

    def __init__(
        self,
        parts: Parts,
        options: FlowOptions,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._parts, self._options, self._clock = parts, options, clock
        self._out = parts.out
        self._rescue = Rescue(parts.out, parts.telemetry)
        self._onward = Onward(parts, self._rescue, options.patience, clock)
        # Traces that are to be put together draw differently: none can be passed over before that.
        early = parts.sampler.early if parts.stitcher is None else lambda trace_id: None
        triage = Triage(early, parts.assembler.knows, parts.stories, parts.roles)
        self._triage = FencedTriage(triage, self._rescue)
        self._parking = (
            None
            if parts.store is None
            else Parking(parts.store, self._take_back, self._has_plenty, parts.telemetry)
        )
        if self._parking is not None:
            self._out.on_settled = self._parking.look
        self._wake = asyncio.Event()
        self._arriving = 0
        parts.telemetry.watch(Figure.HELD, lambda: float(self._out.spans + self._arriving))
        parts.telemetry.watch(Figure.HELD_BYTES, lambda: float(self._out.bytes))

    @property
    def scorer(self) -> Consumer[Sampled] | None:
        """Judges what was drawn; ``None`` = all leaves unjudged."""
        return self._onward.scorer

    @scorer.setter
    def scorer(self, scorer: Consumer[Sampled]) -> None:
        self._onward.scorer = scorer

    # --- in -----------------------------------------------------------------------------------------------

    async def consume(self, item: SpanBatch) -> None:
        """Take one request; returns when it is safe.

        Raises:
            MalformedOtlp: it is none.
            Refused: memory is full and there is no spool, or that is full too.
        """
        if self._parts.clean is not None:
            item = await self._parts.clean(item)
        if item.signal is Signal.LOGS:
            await self._take_logs(item)
            return
        survey = self._triage.survey(item.body)
        if not survey.spans:
            return
        item = replace(item, count=survey.spans)
        try:
            # A plain span may link two held ones, so it is looked at while there are any.
            is_plain = not (survey.rag or self._parts.assembler.held_spans)
            if is_plain and not any(map(is_rag_scope, survey.scopes)):
                await self._take_plain(item, survey.spans)
            else:
                await self._take_mixed(item, survey)
        except Refused as refused:
            self._refused(survey.spans, refused.reason)
            raise

    def replay(self, requests: Iterable[tuple[int, int]]) -> None:
        """Take over what an earlier process left in the store: number and spans of each request."""
        assert self._parking is not None, "only a store can hold what is to be replayed"
        for number, spans in requests:
            self._parts.telemetry.count(Figure.REPLAYED, spans)
            self._parking.add(number, spans)

    async def _take_plain(self, item: SpanBatch, spans: int) -> None:
        self._parts.telemetry.count(Figure.RECEIVED, spans)
        exporters, store = self._parts.exporters, self._parts.store
        is_clear = exporters.healthy and exporters.fits(len(item.body))
        if store is None or self._parking is None or is_clear:
            await self._out.send_plain(item, spans, self._options.plain_ack)
        else:
            self._parking.add(await self._written(store, item, spans), spans)

    async def _take_mixed(self, item: SpanBatch, survey: Survey) -> None:
        # Before the store: a request that cannot be read must not get into it.
        sifted = self._triage.sift(item.body, survey)
        if not sifted.picked:
            await self._take_plain(item, survey.spans)
            return
        self._parts.telemetry.count(Figure.RECEIVED, survey.spans)
        has_room = self._has_room(len(item.body))
        store, parking = self._parts.store, self._parking
        if store is None or parking is None:
            if not has_room:
                raise Refused("memory", self._options.retry_after)
            self._sort(sifted, None)
            return
        number = await self._written(store, item, survey.spans)
        if parking or not has_room:
            parking.add(number, survey.spans)
        else:
            self._sort(sifted, number)

    async def _written(self, store: Store, item: SpanBatch, spans: int) -> int:
        """Write a request down → its number. Its ``spans`` count as held until then.

        Raises:
            Refused: the store has no room, or fails.
        """
        self._arriving += spans
        try:
            return await store.put(item)
        except Refused:
            raise
        except BaseException:  # the sender hung up, or worse: it was told nothing, and still has them
            self._refused(spans, "not_written")
            raise
        finally:
            self._arriving -= spans

    def _refused(self, spans: int, reason: str) -> None:
        self._parts.telemetry.count(Figure.REFUSED, spans, reason=reason)

    def _take_back(self, item: SpanBatch, number: int) -> None:
        if item.signal is Signal.LOGS:
            self._sort_logs(item, self._triage.logs(item.body), number)
        else:
            self._sort(self._triage.sift(item.body, self._triage.survey(item.body)), number)
            self._onward.taken_back()

    async def _take_logs(self, item: SpanBatch) -> None:
        self._parts.telemetry.count(Figure.LOGS)
        logs = self._triage.logs(item.body)
        has_room = self._has_room(len(item.body))
        store, parking = self._parts.store, self._parking
        if store is None or parking is None:
            if not has_room:
                raise Refused("memory", self._options.retry_after)
            self._sort_logs(item, logs, None)
            return
        number = await store.put(item)
        if parking or not has_room:
            parking.add(number, 0)
        else:
            self._sort_logs(item, logs, number)

    def _sort_logs(self, item: SpanBatch, logs: ReadLogs, number: int | None) -> None:
        """Keep what was read of it for later, send all on as it came."""
        try:
            self._parts.assembler.add_logs(logs.records, logs.size)
        except Exception as error:  # noqa: BLE001  # not to be read is no harm, not to be sent is
            self._rescue.note("logs", type(error).__name__)
        self._out.spawn(self._out.send_logs(item, number))

    def _has_room(self, size: int) -> bool:
        return self._out.bytes == 0 or self._out.bytes + size <= self._options.max_bytes

    def _has_plenty(self) -> bool:
        return self._out.bytes < self._options.max_bytes // 2

    def _sort(self, sifted: Sifted, number: int | None) -> None:
        """Hold what is RAG, send on the rest."""
        glances = sifted.picked
        rest = SpanBatch(sifted.rest, count=sifted.rest_spans) if sifted.rest_spans else None
        self._out.take((one.raw for one in glances), number, rest)
        refused = [one.raw for one in glances if one.scope == semconv.JUDGE_SCOPE]
        if refused:
            self._parts.telemetry.count(Figure.DROPPED, len(refused), reason="judge_scope")
            self._out.settle(refused)
        seen = [self._triage.see(one) for one in glances if one.scope != semconv.JUDGE_SCOPE]
        self._onward.take_in(seen)
        self._wake.set()

    # --- on -----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Release what is due and take back what is parked, until cancelled."""
        loops = [self._run_clock()] if self._parking is None else [self._run_clock(), self._parking.run()]
        await asyncio.gather(*loops)

    async def _run_clock(self) -> None:
        while True:
            self._wake.clear()
            due = self._onward.next_deadline()
            try:
                async with asyncio.timeout(None if due is None else max(due - self._clock(), 0.0)):
                    await self._wake.wait()
            except TimeoutError:
                await self._tick()

    async def _tick(self) -> None:
        try:
            self._onward.tick()
        except Exception as error:  # noqa: BLE001  # the clock must go on, or nothing would ever leave again
            _log.error("releasing failed: %s", type(error).__name__)
            await asyncio.sleep(_AGAIN_AFTER)

    async def drain(self, within: float) -> None:
        """Release what is held and wait up to ``within`` seconds until it is out."""
        self._onward.drain()
        await self._out.idle(within)

    async def close(self) -> None:
        """Let go of the rest; it stays on disk."""
        await self._out.close()
