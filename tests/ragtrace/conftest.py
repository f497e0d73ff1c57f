"""Real SDK spans for the tests of the hooks: one provider for the process, its memory emptied for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ragtrace import _steps, config

Spans = Callable[[], dict[str, ReadableSpan]]


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    """The hooks' spans go into memory; the settings are the defaults, whatever the environment holds."""
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    _steps.use_provider(provider)
    config.use(config.resolve({}))
    yield memory
    _steps.use_provider(None)
    config.use(config.resolve({}))


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Spans:
    """The finished spans so far, by name."""
    return lambda: {span.name: span for span in exporter.get_finished_spans()}
