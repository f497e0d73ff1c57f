"""Log records that wait for their spans: some instrumentations put questions and answers only there."""

from __future__ import annotations

from collections.abc import Container, Iterable

from ragtrace.model import LogRecord


class LogShelf:
    """Bounded by bytes: beyond ``max_bytes`` the records of the oldest traces are given up."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._by_trace: dict[str, list[tuple[LogRecord, int]]] = {}
        self._bytes = 0

    def put(self, records: Iterable[LogRecord], size: int) -> None:
        """Keep ``records``, each of about ``size`` bytes."""
        for record in records:
            self._by_trace.setdefault(record.trace_id, []).append((record, size))
            self._bytes += size
        while self._bytes > self._max_bytes:
            self.drop(next(iter(self._by_trace)))

    def of(self, trace_id: str, span_ids: Container[str]) -> tuple[LogRecord, ...]:
        """The records of those spans, and of the trace as a whole, in order of arrival."""
        records = (record for record, _ in self._by_trace.get(trace_id, ()))
        return tuple(record for record in records if record.span_id in span_ids or not record.span_id)

    def drop(self, trace_id: str) -> None:
        """Forget the records of a trace."""
        self._bytes -= sum(size for _, size in self._by_trace.pop(trace_id, ()))
