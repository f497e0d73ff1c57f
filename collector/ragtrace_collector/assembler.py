"""Holds the RAG spans of an interaction until it is complete; everything else goes straight on.

Completion is per interaction, not per trace: the root may be plain and gone, live in another service, or run
for minutes. The state machine takes the time as an argument; :mod:`ragtrace_collector.service` runs the loop.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ragtrace_collector.grouping import Completion, Group, Held, SeenSpan, groups
from ragtrace_collector.lineage import Link, Role, climb
from ragtrace_collector.log_shelf import LogShelf
from ragtrace_collector.stages import HeldInteraction, ReleaseReason

if TYPE_CHECKING:
    from ragtrace.model import LogRecord
    from ragtrace_collector.otlp import RawSpan


@dataclass(frozen=True, slots=True)
class AssemblerOptions(Completion):
    """When an interaction is complete, and how much is held and remembered."""

    max_bytes: int = 256 * 2**20
    """Bytes of span held in all; beyond, the oldest interactions leave as they are."""
    remembered: int = 20_000
    """Traces whose release is remembered, so that their late spans join the decision."""
    links_per_trace: int = 10_000
    """Spans of one trace whose parent is remembered."""
    max_log_bytes: int = 32 * 2**20
    """Bytes of log records kept for reading with their spans; beyond, those of the oldest traces go."""

    def __post_init__(self) -> None:
        if min(self.quiet, self.idle, self.age) < 0:
            raise ValueError("times must not be negative")
        if min(self.max_bytes, self.remembered, self.links_per_trace) < 1 or self.max_log_bytes < 0:
            raise ValueError("bounds must be at least 1")


@dataclass(frozen=True, slots=True)
class Assembled:
    """What comes out of one step: spans to ``forward`` untouched (plain and late), interactions released.

    ``failures`` are the types of what was raised over single traces, whose spans are among ``forward``.
    """

    forward: tuple[RawSpan, ...] = ()
    released: tuple[HeldInteraction, ...] = ()
    failures: tuple[str, ...] = ()


@dataclass(slots=True)
class _Trace:
    links: dict[str, Link] = field(default_factory=dict)
    held: list[Held] = field(default_factory=list)
    gone: dict[str, ReleaseReason] = field(default_factory=dict)
    left: list[SeenSpan] = field(default_factory=list)
    due: float = float("inf")


class Assembler:
    """The state machine. Not thread-safe: one loop drives it."""

    def __init__(self, options: AssemblerOptions = AssemblerOptions()) -> None:
        self._options = options
        self._traces: dict[str, _Trace] = {}
        self._waiting: dict[str, None] = {}  # traces with held spans, the oldest first
        self._resting: dict[str, None] = {}  # traces without, the oldest first
        self._deadlines: list[tuple[float, str]] = []
        self._logs = LogShelf(options.max_log_bytes)
        self._leaving: list[RawSpan] = []
        self._released: list[HeldInteraction] = []
        self._failures: list[str] = []
        self.held_bytes = 0
        self.held_spans = 0

    def add(self, spans: Sequence[SeenSpan], now: float) -> Assembled:
        """Take ``spans`` that arrived together → what may leave at once."""
        self._leaving += [span.raw for span in spans if span.role is Role.PLAIN]
        touched: dict[str, None] = {}
        for span in spans:
            if span.role is not Role.PLAIN:
                self._hold(span, now)
                touched[span.trace_id] = None
        # After the RAG spans: a plain span matters only where it may lie between two of them.
        for span in spans:
            if span.role is Role.PLAIN and span.trace_id in self._traces:
                self._learn(span)
                touched[span.trace_id] = None
        for trace_id in touched:
            if trace_id in self._traces:  # remembering one may have forgotten another
                with self._giving_up(trace_id):
                    self._sift_late(trace_id)
                    self._schedule(trace_id, now + self._options.quiet)
        self._relieve(now)
        return self._handed_out()

    def knows(self, trace_id: str) -> bool:
        """Whether spans of the trace (hex id) are held, or were: then its other spans have to be seen too."""
        return trace_id in self._traces

    def add_logs(self, records: Iterable[LogRecord], size: int) -> None:
        """Keep ``records``, each of about ``size`` bytes, for their spans, which may come before or after."""
        self._logs.put(records, size)

    def tick(self, now: float) -> Assembled:
        """Release what is due at ``now``."""
        while self._deadlines and self._deadlines[0][0] <= now:
            due, trace_id = heapq.heappop(self._deadlines)
            trace = self._traces.get(trace_id)
            if trace is not None and trace.due == due:
                with self._giving_up(trace_id):
                    self._evaluate(trace_id, trace, now)
        return self._handed_out()

    def drain(self, now: float) -> Assembled:
        """Release everything: the collector is stopping."""
        for trace_id in list(self._waiting):
            self._flush(trace_id, now, ReleaseReason.SHUTDOWN)
        return self._handed_out()

    def next_deadline(self) -> float | None:
        """When :meth:`tick` has something to do; ``None`` = not before something is added."""
        while self._deadlines:
            due, trace_id = self._deadlines[0]
            trace = self._traces.get(trace_id)
            if trace is not None and trace.due == due:
                return due
            heapq.heappop(self._deadlines)
        return None

    # --- taking in ----------------------------------------------------------------------------------------

    def _open(self, trace_id: str) -> _Trace:
        trace = self._traces[trace_id] = _Trace()
        self._rest(trace_id)
        return trace

    def _hold(self, span: SeenSpan, now: float) -> None:
        trace = self._traces.get(span.trace_id) or self._open(span.trace_id)
        self._learn(span)
        trace.held.append(Held(span, now))
        self._resting.pop(span.trace_id, None)
        self._waiting.setdefault(span.trace_id)
        self.held_bytes += span.size
        self.held_spans += 1

    def _learn(self, span: SeenSpan) -> None:
        links = self._traces[span.trace_id].links
        if len(links) < self._options.links_per_trace:
            links.setdefault(span.span_id, Link(span.parent_id, span.role, span.remote_parent))

    def _schedule(self, trace_id: str, due: float) -> None:
        trace = self._traces.get(trace_id)
        if trace is not None and trace.held and due < trace.due:
            trace.due = due
            heapq.heappush(self._deadlines, (due, trace_id))

    # --- letting go ---------------------------------------------------------------------------------------

    def _handed_out(self) -> Assembled:
        out = Assembled(tuple(self._leaving), tuple(self._released), tuple(self._failures))
        self._leaving, self._released, self._failures = [], [], []
        return out

    @contextmanager
    def _giving_up(self, trace_id: str) -> Iterator[None]:
        """Whatever is raised over a trace costs that trace its judgement, and no span."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  # hostile spans may reach any bug of ours
            self._failures.append(type(error).__name__)
            trace = self._traces[trace_id]
            self._leaving += [held.span.raw for held in trace.held]
            self._forget_left(trace)
            self._let_go(trace_id, trace, trace.held)

    def _sift_late(self, trace_id: str) -> None:
        """Spans of interactions that were released before: they join the decision and leave at once."""
        trace = self._traces[trace_id]
        if not trace.gone:
            return
        settled = {
            climb(top, trace.links).top for top, reason in trace.gone.items() if reason is ReleaseReason.ENTRY
        }
        late = [held for held in trace.held if _joins(held.span.span_id, trace.links, settled)]
        self._let_go(trace_id, trace, late)
        self._leaving += [held.span.raw for held in late]

    def _evaluate(self, trace_id: str, trace: _Trace, now: float) -> None:
        """Release the groups of a trace that are complete at ``now``, and plan the next look."""
        trace.due = float("inf")
        for group in groups(trace.held, trace.links, self._options):
            if group.due <= now:
                self._release(trace_id, trace, group, group.reason, now)
            else:
                self._schedule(trace_id, group.due)

    def _flush(self, trace_id: str, now: float, reason: ReleaseReason) -> None:
        trace = self._traces[trace_id]
        trace.due = float("inf")
        with self._giving_up(trace_id):
            for group in groups(trace.held, trace.links, self._options):
                self._release(trace_id, trace, group, reason, now)

    def _relieve(self, now: float) -> None:
        """Under memory pressure forget what only waits to be read, then let the oldest traces leave."""
        if self.held_bytes > self._options.max_bytes:
            for trace in self._traces.values():
                self._forget_left(trace)
        while self.held_bytes > self._options.max_bytes and self._waiting:
            trace_id = next(iter(self._waiting))
            trace = self._traces[trace_id]
            self._flush(trace_id, now, ReleaseReason.MEMORY)
            self._forget_left(trace)

    def _release(self, trace_id: str, trace: _Trace, group: Group, reason: ReleaseReason, now: float) -> None:
        ids = {held.span.span_id for held in group.held}
        interaction = HeldInteraction(
            trace_id=trace_id,
            entry_span_id=group.tops[-1],
            spans=tuple(held.span.raw for held in group.held),
            reason=reason,
            first_at=min(held.at for held in group.held),
            released_at=now,
            left=tuple(span.raw for span in self._reclaim(trace, group)),
            logs=self._logs.of(trace_id, ids),
        )
        trace.gone.update(dict.fromkeys(group.tops, reason))
        if reason not in (ReleaseReason.ENTRY, ReleaseReason.SHUTDOWN):
            trace.left += [held.span for held in group.held]
            self.held_bytes += sum(held.span.size for held in group.held)
        self._let_go(trace_id, trace, group.held)
        self._released.append(interaction)

    def _reclaim(self, trace: _Trace, group: Group) -> list[SeenSpan]:
        """The spans of the group's interaction that had to leave before; they wait no longer."""
        mine = [span for span in trace.left if climb(span.span_id, trace.links).top in group.tops]
        trace.left = [span for span in trace.left if span not in mine]
        self.held_bytes -= sum(span.size for span in mine)
        return mine

    def _let_go(self, trace_id: str, trace: _Trace, leaving: Sequence[Held]) -> None:
        gone = {id(held) for held in leaving}
        trace.held = [held for held in trace.held if id(held) not in gone]
        for held in leaving:
            span = held.span
            self.held_bytes -= span.size
            self.held_spans -= 1
            if span.span_id in trace.links:
                trace.links[span.span_id] = replace(trace.links[span.span_id], released=True)
        if not trace.held:
            self._logs.drop(trace_id)
            self._waiting.pop(trace_id, None)
            self._rest(trace_id)

    def _rest(self, trace_id: str) -> None:
        self._resting.pop(trace_id, None)
        self._resting[trace_id] = None
        while len(self._resting) > self._options.remembered:
            oldest = next(iter(self._resting))
            del self._resting[oldest]
            self._forget_left(self._traces.pop(oldest))

    def _forget_left(self, trace: _Trace) -> None:
        self.held_bytes -= sum(span.size for span in trace.left)
        trace.left = []


def _joins(span_id: str, links: Mapping[str, Link], settled: Container[str]) -> bool:
    """Whether a span belongs to an interaction that was released as complete, or is one that left itself."""
    way = climb(span_id, links)
    return way.late or way.top in settled or (span_id in links and links[span_id].released)
