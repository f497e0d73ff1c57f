"""When a stage raises, the spans in its hands go on without it: a bug of ours costs a score and no span."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ragtrace_collector.outgoing import Outgoing
from ragtrace_collector.telemetry import Figure, Telemetry

if TYPE_CHECKING:
    from ragtrace_collector.otlp import RawSpan

_log = logging.getLogger(__name__)

Stage = Literal["triage", "logs", "assembler", "stitcher", "judging"]
"""Where it happened: the label of the counter."""


@dataclass(frozen=True)
class Rescue:
    """Tells of failures by their type alone, since a message may quote what a span holds."""

    out: Outgoing
    telemetry: Telemetry

    def note(self, stage: Stage, failure: str) -> None:
        """Log and count that ``stage`` raised something of the type ``failure``."""
        _log.error("%s failed, its spans go on without it: %s", stage, failure)
        self.telemetry.count(Figure.FAILURES, stage=stage)

    def let_go(self, stage: Stage, error: Exception, spans: Iterable[RawSpan]) -> None:
        """Send on what ``stage`` had of ``spans`` when it raised ``error``, and has not sent itself."""
        self.note(stage, type(error).__name__)
        self.out.spawn(self.out.send_left(spans))
