"""What stands on the other side of the wire in tests: spans from the real SDK, consumers that record."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ragtrace_collector.stages import SpanBatch


def sdk_spans(count: int = 3, text: str = "退款 refund", scope: str = "app") -> tuple[ReadableSpan, ...]:
    """``count`` finished spans of the real SDK."""
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer(scope)
    for number in range(count):
        with tracer.start_as_current_span(f"span {number}") as span:
            span.set_attribute("text", text)
    return memory.get_finished_spans()


def encoded_request(count: int = 1, text: str = "x", service: str = "shop", first_id: int = 1) -> bytes:
    """An encoded trace request of ``count`` spans with ids from ``first_id`` on."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = service
    scope = resource.scope_spans.add()
    scope.scope.name = "app"
    for number in range(first_id, first_id + count):
        span = scope.spans.add(
            trace_id=number.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"), name="n"
        )
        span.attributes.add(key="text").value.string_value = text
    return request.SerializeToString()


@dataclass
class Recorder:
    """A consumer that keeps what it gets, or raises ``error``, or waits for ``gate`` first."""

    batches: list[SpanBatch] = field(default_factory=list)
    error: Exception | None = None
    gate: asyncio.Event | None = None
    entered: asyncio.Event = field(default_factory=asyncio.Event)

    async def consume(self, batch: SpanBatch) -> None:
        self.entered.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        self.batches.append(batch)

    def span_ids(self) -> list[str]:
        from ragtrace_collector import otlp

        return [span.span_id for batch in self.batches for span in otlp.read_spans(batch.body)]
