"""Spans made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ragtrace.model import SpanRecord


class Spans:
    """Makes the spans of one trace: each begins a millisecond after the one before; a root ends last."""

    def __init__(self, trace_id: str = "0af7651916cd43dd8448eb211c80319c") -> None:
        self.trace_id = trace_id
        self._count = 0

    def __call__(
        self, name: str, attributes: Mapping[str, Any], parent: SpanRecord | None = None, **fields: Any
    ) -> SpanRecord:
        self._count += 1
        began = 1_700_000_000_000_000_000 + self._count * 1_000_000
        given: dict[str, Any] = {
            "trace_id": self.trace_id,
            "span_id": f"{self._count:016x}",
            "parent_id": parent.span_id if parent is not None else None,
            "start_ns": began,
            "end_ns": began + (500_000 if parent is not None else 900_000_000),
        }
        return SpanRecord(name=name, attributes=attributes, **(given | fields))


@pytest.fixture
def spans() -> Spans:
    """A maker of spans."""
    return Spans()
