"""What the collector and its scoring worker say to each other over a pipe: pickled, each with its length.

Both ends are this package of one installation, and the pipe has no other ends: pickle is safe here.
"""

from __future__ import annotations

import asyncio
import pickle
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ragtrace.diagnosis import DEFAULT_THRESHOLDS, Thresholds
from ragtrace.extract import AttributeMapping
from ragtrace.model import Evaluation, Interaction, JudgeInfo, Language, LogRecord
from ragtrace_collector.otlp import RawSpan

_LENGTH = struct.Struct(">Q")


class Bench(StrEnum):
    """Which of the worker's judges is meant."""

    JUDGE = "judge"
    SCREEN = "screen"


@dataclass(frozen=True, slots=True)
class JudgeSetup:
    """A judge to build, its embedder, and whether texts are redacted before it sees them."""

    use: str
    options: Mapping[str, Any] = field(default_factory=dict)
    embedder: str | None = "embedded"
    embedder_options: Mapping[str, Any] = field(default_factory=dict)
    redact: bool = False


@dataclass(frozen=True, slots=True)
class Setup:
    """The first message: what the worker shall be. ``concurrency`` judgements run at once.

    ``patterns`` are the user's own for redaction, by kind; ``local_only``: no connection but to loopback;
    ``mapping`` reads spans of the user's own naming; ``thresholds`` are those of the diagnosis.
    """

    judges: Mapping[Bench, JudgeSetup]
    metrics: tuple[str, ...] | None = None
    language: Language | None = None
    concurrency: int = 16
    patterns: Mapping[str, str] = field(default_factory=dict)
    local_only: bool = False
    mapping: AttributeMapping | None = None
    thresholds: Thresholds = DEFAULT_THRESHOLDS


@dataclass(frozen=True, slots=True)
class Ready:
    """The judges stand: who they are, and the metrics that they give."""

    judges: Mapping[Bench, JudgeInfo]
    metrics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotReady:
    """The judges cannot be built, and never will be."""

    message: str


@dataclass(frozen=True, slots=True)
class Job:
    """Spans to read and to judge within ``seconds`` of arrival; it is answered by then in any case."""

    id: int
    bench: Bench
    spans: tuple[RawSpan, ...]
    logs: tuple[LogRecord, ...]
    seconds: float
    known: Mapping[str, str] = field(default_factory=dict)
    """Entry span id → what was judged of it before, in JSON: not to be judged again."""


@dataclass(frozen=True, slots=True)
class Found:
    """The job's interactions, without their texts, before they are judged."""

    id: int
    interactions: tuple[Interaction, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """The job's evaluations."""

    id: int
    evaluations: tuple[Evaluation, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """The job failed by a fault of ours or of a user's judge; ``reason`` is the exception's type."""

    id: int
    reason: str


Message = Setup | Ready | NotReady | Job | Found | Done | Failed


def to_frame(message: Message) -> bytes:
    """A message → its bytes on the pipe."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


async def read_frame(reader: asyncio.StreamReader) -> Message | None:
    """The next message; ``None`` when the other end is gone."""
    try:
        (size,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        message: Message = pickle.loads(await reader.readexactly(size))  # noqa: S301  # see the module's words
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return message
