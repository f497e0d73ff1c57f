"""The way of held spans: assembled, put together where traces belong together, sampled, judged, sent.

Whatever raises on this way, the spans leave, unjudged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from ragtrace_collector.assembler import Assembled
from ragtrace_collector.grouping import SeenSpan
from ragtrace_collector.parts import Parts
from ragtrace_collector.rescue import Rescue
from ragtrace_collector.stages import Consumer, HeldInteraction, Sampled, Verb
from ragtrace_collector.stitcher import Stitcher
from ragtrace_collector.stories import tell_forwarded
from ragtrace_collector.telemetry import Figure


class Onward:
    """Drives the stages after intake by ``clock`` (seconds). ``scorer`` is set once it stands."""

    def __init__(self, parts: Parts, rescue: Rescue, patience: float, clock: Callable[[], float]) -> None:
        self._parts, self._rescue, self._patience, self._clock = parts, rescue, patience, clock
        self._out = parts.out
        self._taken_back_at = float("-inf")
        self.scorer: Consumer[Sampled] | None = None

    def take_in(self, seen: Sequence[SeenSpan]) -> None:
        """Hold what is RAG, send on the rest of ``seen``."""
        try:
            assembled = self._parts.assembler.add(seen, self._clock())
        except Exception as error:  # noqa: BLE001  # the request is in our hands: nobody will send it again
            self._rescue.let_go("assembler", error, (span.raw for span in seen))
        else:
            self._pass(assembled)

    def taken_back(self) -> None:
        """What was taken in until now may have waited on disk."""
        self._taken_back_at = self._clock()

    def drain(self) -> None:
        """Release everything: the collector is stopping."""
        self._pass(self._parts.assembler.drain(self._clock()))
        if (stitcher := self._parts.stitcher) is not None:
            self._release_stitched(stitcher, lambda: stitcher.drain(self._clock()))

    def next_deadline(self) -> float | None:
        """When :meth:`tick` has something to do; ``None`` = not before something is taken in."""
        stitcher = self._parts.stitcher
        dues = (self._parts.assembler.next_deadline(), None if stitcher is None else stitcher.next_deadline())
        return min((due for due in dues if due is not None), default=None)

    def tick(self) -> None:
        """Release what is due."""
        self._pass(self._parts.assembler.tick(self._clock()))
        if (stitcher := self._parts.stitcher) is not None:
            self._release_stitched(stitcher, lambda: stitcher.tick(self._clock()))

    def _pass(self, assembled: Assembled) -> None:
        for failure in assembled.failures:
            self._rescue.note("assembler", failure)
        if assembled.forward:
            self._out.spawn(self._out.send(assembled.forward))
        for held in assembled.released:
            if (stitcher := self._parts.stitcher) is None:
                self._release([held])
            else:
                self._release_stitched(stitcher, partial(stitcher.add, held, self._clock()), held)

    def _release_stitched(
        self, stitcher: Stitcher, step: Callable[[], list[HeldInteraction]], *added: HeldInteraction
    ) -> None:
        try:
            released = step()
        except Exception as error:  # noqa: BLE001  # all that waits there leaves, or it might for ever
            waiting = (*added, *stitcher.abandon())
            self._rescue.let_go("stitcher", error, (raw for held in waiting for raw in held.spans))
        else:
            self._release(released)

    def _release(self, interactions: Iterable[HeldInteraction]) -> None:
        for held in interactions:
            self._out.spawn(self._judge(held))

    async def _judge(self, held: HeldInteraction) -> None:
        try:
            await self._sample(held)
        except Exception as error:  # noqa: BLE001  # whatever is wrong with a judgement, the spans must go on
            self._rescue.let_go("judging", error, held.spans)

    async def _sample(self, held: HeldInteraction) -> None:
        decision = self._parts.sampler.decide(held)
        if decision.verb is Verb.FORWARD or self.scorer is None:
            self._parts.telemetry.count(Figure.INTERACTIONS, verb=decision.verb, rule=decision.rule)
            self._parts.stories.told_of(held, [tell_forwarded(held, decision)])
            await self._out.send(held.spans)
        else:
            # While requests wait on disk all others queue up behind them: what is younger is fresh.
            patience = self._patience if held.first_at <= self._taken_back_at else 0.0
            await self.scorer.consume(Sampled(held, decision, patience))
