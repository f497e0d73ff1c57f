"""What is done with an interaction once it is judged: told, shown, written on, sent."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ragtrace_collector.enricher import Carriers, Enriched, enrich, late_carriers
from ragtrace_collector.outgoing import Outgoing
from ragtrace_collector.stages import JudgedInteraction, Signal, SpanBatch
from ragtrace_collector.stories import Stories, tell_judged
from ragtrace_collector.telemetry import Figure, Telemetry

_log = logging.getLogger(__name__)
_SHED = frozenset({"overload", "deadline"})
"""Reasons of the collector's own for letting an interaction go without scores."""


@dataclass(frozen=True)
class Departure:
    """The scorer's results end here. ``show`` is told of each judged interaction."""

    out: Outgoing
    telemetry: Telemetry
    stories: Stories
    carriers: Carriers = field(default_factory=Carriers)
    show: Callable[[JudgedInteraction], None] = lambda item: None

    async def judged(self, item: JudgedInteraction) -> None:
        """Write on an interaction's spans, send them out."""
        self._count(item)
        self.stories.told_of(item.held, tell_judged(item))
        self.show(item)
        self._send_logs(enriched := self._enriched(item))
        await self.out.send(enriched.spans)

    async def judged_late(self, item: JudgedInteraction) -> None:
        """Send scores whose spans have left, as spans and log records of their own."""
        late = late_carriers(item, time.time_ns())
        self.telemetry.count(Figure.MADE, len(late.spans))
        self._send_logs(late)
        self.out.take(late.spans, None)
        await self.out.send(late.spans)

    def _enriched(self, item: JudgedInteraction) -> Enriched:
        try:
            return enrich(item, self.carriers)
        except Exception as error:  # noqa: BLE001  # whatever is wrong with a score, the spans must go on
            _log.error("cannot write scores: %s", type(error).__name__)
            return Enriched(item.held.spans)

    def _send_logs(self, enriched: Enriched) -> None:
        for body in enriched.logs:
            self.out.spawn(self.out.send_logs(SpanBatch(body, signal=Signal.LOGS)))

    def _count(self, item: JudgedInteraction) -> None:
        count, decision = self.telemetry.count, item.decision
        count(Figure.INTERACTIONS, verb=decision.verb, rule=decision.rule)
        for evaluation in (*item.evaluations, *item.screens):
            judge = evaluation.judge
            count(Figure.JUDGE_CALLS, judge.calls, judge=judge.kind)
            count(Figure.JUDGE_TOKENS, judge.input_tokens, judge=judge.kind, direction="input")
            count(Figure.JUDGE_TOKENS, judge.output_tokens, judge=judge.kind, direction="output")
        for evaluation in item.evaluations:
            reasons = {outcome.reason for outcome in evaluation.outcomes.values()}
            for reason in reasons & _SHED:
                count(Figure.SHED, reason=str(reason))
            for outcome in evaluation.outcomes.values():
                count(Figure.OUTCOMES, metric=outcome.metric, status=outcome.status)
