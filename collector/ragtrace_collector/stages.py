"""What travels between the stages, and the one verb that they share.

Every arrow of the pipeline is ``await next.consume(item)``; a stage gets ``next`` in its constructor and
never names another stage. Items are frozen: the enricher alone makes changed spans, as new bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeVar

from ragtrace_collector.otlp import count_spans

if TYPE_CHECKING:
    from ragtrace.model import Evaluation, LogRecord
    from ragtrace_collector.otlp import RawSpan

T_contra = TypeVar("T_contra", contravariant=True)


class Consumer(Protocol[T_contra]):
    """Takes items.

    ``consume`` returns when the item is safe: handed on, held within bounds, or written down. It may wait
    (that is the back-pressure), and it is called by many tasks of one event loop at once.

    Raises:
        Refused: the item was not taken; the sender is told to come again.
    """

    async def consume(self, item: T_contra) -> None:
        """Take one item."""


class Refused(Exception):
    """An item was not taken: an answer to the sender, no fault of ours.

    ``reason`` is short and from a closed list, ``retry_after`` is in seconds. Receivers answer 429 with
    Retry-After, or RESOURCE_EXHAUSTED with RetryInfo.
    """

    def __init__(self, reason: str, retry_after: float = 1.0) -> None:
        super().__init__(reason)
        self.reason, self.retry_after = reason, retry_after


class Signal(StrEnum):
    """Which OTLP service a body belongs to."""

    TRACES = "traces"
    LOGS = "logs"


@dataclass(frozen=True, slots=True)
class SpanBatch:
    """One OTLP export request on its way in or out.

    ``body`` is the encoded protobuf request (ExportTraceServiceRequest, or ExportLogsServiceRequest where
    ``signal`` says so), uncompressed. ``spans`` are the spans of that same body, in its order; empty for logs
    and where nobody needs them split. ``count`` is how many spans it holds, where that is known already.
    """

    body: bytes
    spans: tuple[RawSpan, ...] = ()
    signal: Signal = Signal.TRACES
    count: int | None = None


def span_count(batch: SpanBatch) -> int:
    """How many spans a batch holds; 0 for logs.

    Raises:
        MalformedOtlp: it says nothing of that itself, and its bytes are no request.
    """
    if batch.signal is Signal.LOGS:
        return 0
    return batch.count if batch.count is not None else len(batch.spans) or count_spans(batch.body)


class ReleaseReason(StrEnum):
    """Why an interaction was held no longer."""

    ENTRY = "entry"
    """Its entry span arrived, and nothing more came for the quiet time."""
    IDLE = "idle"
    """No entry span came, nor anything else for the idle time."""
    AGE = "age"
    """It was held for the longest time allowed."""
    MEMORY = "memory"
    """Held bytes reached their bound."""
    STITCHED = "stitched"
    """Put together with other traces of its own, after nothing more came."""
    SHUTDOWN = "shutdown"
    """The collector is stopping."""


@dataclass(frozen=True, slots=True)
class HeldInteraction:
    """The spans of one interaction, complete as far as can be known.

    ``entry_span_id`` is that of the topmost RAG span seen (hex), ``first_at`` and ``released_at`` are
    seconds of the clock that the assembler is driven by.
    """

    trace_id: str
    entry_span_id: str
    spans: tuple[RawSpan, ...]
    reason: ReleaseReason
    first_at: float
    released_at: float
    left: tuple[RawSpan, ...] = ()
    """Spans of it that had to leave before its entry came: to be read, not to be exported again."""
    logs: tuple[LogRecord, ...] = ()

    @property
    def held_for(self) -> float:
        """Seconds between its first span and its release."""
        return self.released_at - self.first_at

    @property
    def trace_ids(self) -> tuple[str, ...]:
        """The traces (hex) that its spans are of: several where traces were put together."""
        return tuple(dict.fromkeys([self.trace_id, *(raw.trace_id.hex() for raw in self.spans)]))


class Verb(StrEnum):
    """What is done with an interaction. Users keep all spans either way."""

    JUDGE = "judge"
    SCREEN = "screen"
    """Judged by the screening judge alone."""
    FORWARD = "forward"


@dataclass(frozen=True, slots=True)
class Decision:
    """A sampling decision: ``probability`` (0..1) with which this verb was reached by ``rule``."""

    verb: Verb
    probability: float
    rule: str


@dataclass(frozen=True, slots=True)
class Sampled:
    """An interaction with the decision on it.

    ``patience`` is how many seconds it may wait for its turn where the judge has no room: none while its
    spans are fresh, some when they have waited on disk anyway.
    """

    held: HeldInteraction
    decision: Decision
    patience: float = 0.0


@dataclass(frozen=True, slots=True)
class JudgedInteraction:
    """An interaction that went through the scorer.

    ``evaluations`` may be several, where its spans hold several interactions; empty where they hold none. An
    evaluation that could not be made is there with outcomes that say why. ``screens`` are the screening
    judge's.
    """

    held: HeldInteraction
    decision: Decision
    evaluations: tuple[Evaluation, ...] = ()
    screens: tuple[Evaluation, ...] = ()
