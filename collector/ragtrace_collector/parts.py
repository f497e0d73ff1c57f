"""What a flow is made of: the stages that it connects, and the bounds that it keeps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ragtrace_collector.assembler import Assembler
from ragtrace_collector.exporters import Exporters
from ragtrace_collector.outgoing import Outgoing, Store
from ragtrace_collector.roles import Roles
from ragtrace_collector.sampler import Sampler
from ragtrace_collector.stages import SpanBatch
from ragtrace_collector.stitcher import Stitcher
from ragtrace_collector.stories import Stories
from ragtrace_collector.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class FlowOptions:
    """Times in seconds."""

    max_bytes: int = 512 * 2**20
    """Bytes of spans in memory."""
    plain_ack: float = 3.0
    """How long a sender of plain spans waits for the destinations before the spool takes over."""
    retry_after: float = 1.0
    """What a refused sender is told."""
    patience: float = 30.0
    """How long an interaction that waited on disk may wait for a judge before it goes on without."""


@dataclass(frozen=True)
class Parts:
    """The stages that the flow connects."""

    assembler: Assembler
    sampler: Sampler
    exporters: Exporters
    out: Outgoing
    telemetry: Telemetry
    stories: Stories
    store: Store | None = None
    clean: Callable[[SpanBatch], Awaitable[SpanBatch]] | None = None
    """Redacts a request before anything else sees it."""
    roles: Roles = field(default_factory=Roles)
    stitcher: Stitcher | None = None
