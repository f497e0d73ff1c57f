"""A batch processor that is bounded by count and by characters, and that counts what it drops."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from ragtrace import config

_log = logging.getLogger("ragtrace")

MAX_WAITING_CHARACTERS = 64_000_000
"""Texts of spans that may wait: a dead endpoint costs no more memory than this, spans beyond are dropped."""


@dataclass(slots=True)
class Counts:
    """What became of the spans: ``ended`` = ``sent`` + ``failed`` + ``dropped`` + ``waiting``.

    ``failed`` were given to the exporter, which gave up on them; ``dropped`` never got that far, because as
    many as may wait were waiting; ``waiting`` includes those that are being sent.
    """

    ended: int = 0
    sent: int = 0
    failed: int = 0
    dropped: int = 0
    waiting: int = 0


class CountingProcessor(BatchSpanProcessor):
    """A :class:`BatchSpanProcessor` with :class:`Counts`. ``on_end`` never waits for the endpoint.

    When it is full it drops the span that comes, as cheaply as it can and without a log line for each.
    """

    def __init__(self, exporter: SpanExporter) -> None:
        self.counts = Counts()
        self.exporter = exporter
        self._lock = threading.Lock()
        self._characters = 0
        self._max_waiting = config.queue_size(os.environ)
        super().__init__(_CountingExporter(exporter, self), max_queue_size=self._max_waiting)
        if hasattr(os, "register_at_fork"):
            forget = weakref.WeakMethod(self._forget)
            os.register_at_fork(after_in_child=lambda: (method := forget()) and method())

    def on_end(self, span: ReadableSpan) -> None:
        """Queue a finished span, or drop it."""
        if not (span.context and span.context.trace_flags.sampled):
            return
        weight = weigh(span)
        with self._lock:
            counts = self.counts
            counts.ended += 1
            if counts.waiting >= self._max_waiting or self._characters + weight > MAX_WAITING_CHARACTERS:
                counts.dropped += 1
                first = counts.dropped == 1
            else:
                counts.waiting += 1
                self._characters += weight
                first = None
        if first is None:
            super().on_end(span)
        elif first:
            _log.warning("spans are dropped: %d wait for an endpoint that does not take them", counts.waiting)

    def settle(self, spans: Sequence[ReadableSpan], sent: bool) -> None:
        """The exporter is done with ``spans``."""
        weight = sum(map(weigh, spans))
        with self._lock:
            self.counts.waiting -= len(spans)
            self._characters -= weight
            if sent:
                self.counts.sent += len(spans)
            else:
                self.counts.failed += len(spans)

    def _forget(self) -> None:
        """In a forked child: what waits is the parent's to send."""
        self._lock = threading.Lock()
        self.counts = Counts()
        self._characters = 0


class _CountingExporter(SpanExporter):
    """Passes spans on and tells the processor how it went."""

    def __init__(self, inner: SpanExporter, processor: CountingProcessor) -> None:
        self._inner = inner
        self._settle = processor.settle

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.FAILURE
        try:
            result = self._inner.export(spans)
        finally:
            self._settle(spans, result is SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


def weigh(span: ReadableSpan) -> int:
    """Characters in the span's attributes, one level deep: what its size is made of."""
    return sum(len(value) for value in (span.attributes or {}).values() if isinstance(value, str))
