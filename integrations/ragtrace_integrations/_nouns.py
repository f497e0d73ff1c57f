"""What the integrations speak of: runs, how they start and end, and who says what their spans hold."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from opentelemetry.context import Context
from opentelemetry.trace import Span

from ragtrace._steps import Step
from ragtrace.model import Turn
from ragtrace.spans import Content
from ragtrace_integrations._flow import Documents


class Role(Enum):
    """What a run is to us."""

    ROOT = "root"
    """A chain, graph, engine or agent that no known run called."""
    NODE = "node"
    """A part of it that is worth a span."""
    RETRIEVER = "retriever"
    MODEL = "model"
    TOOL = "tool"
    PLUMBING = "plumbing"
    """No span, unless it is a root, or its documents show that it was a step of its own."""
    FORMAT = "format"
    """A prompt or an output parser: never a span, not even as a root."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a framework says of a run when it starts; ``given`` is its input, a model's are its prompts."""

    role: Role
    name: str
    given: object = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended; ``given`` is its input as known now, ``taken`` its output.

    ``streamed`` is what a model had said so far. ``cut`` says that the run was not left to finish: its stream
    was abandoned, its task cancelled, or an ancestor ended first.
    """

    given: object = None
    taken: object = None
    streamed: str = ""
    error: BaseException | None = None
    cut: bool = False


@dataclass(slots=True)
class Tree:
    """What the runs below one root have shown so far.

    ``silent``: nothing of it is recorded. ``outside`` is the span that was current where it began, ``within``
    says that an interaction was. ``parts`` counts the steps that runs below the root became. ``session`` and
    ``user`` are those of any run, ``histories`` the turns before a question that runs were given with it.
    ``last_reply`` is what a model said last, ``cut_reply`` instead what it was saying when it was cut short.
    """

    silent: bool
    outside: Span
    within: bool = False
    parts: int = 0
    is_rag: bool = False
    session: str | None = None
    user: str | None = None
    histories: dict[str, tuple[Turn, ...]] = field(default_factory=dict)
    last_reply: str | None = None
    cut_reply: str | None = None


@dataclass(slots=True, eq=False)
class Run:
    """An open run. Plumbing has no step; what runs below it has its parent in ``context`` all the same."""

    id: Hashable
    start: Start
    tree: Tree
    context: Context
    step: Step | None = None
    parent: Run | None = None
    is_open: bool = True
    awaits_stream: bool = False
    """Its call has returned a stream that is yet to be read."""
    started_ns: int = field(default_factory=time.time_ns)
    known: list[Documents] = field(default_factory=list)
    """What retrievals inside this run gave."""
    tokens: list[str] = field(default_factory=list)

    def forget(self) -> None:
        """Let go of what the app passed around: a closed run is remembered for its late children only."""
        self.start = Start(self.start.role, self.start.name)
        self.known, self.tokens = [], []
        if self.step is not None:
            self.step.content, self.step.retrieved = Content(), None


class Translator(Protocol):
    """What one framework's runs say."""

    @property
    def framework(self) -> str:
        """The framework's name in :data:`ragtrace_integrations._peers.PEERS`."""

    def content(self, run: Run, end: End) -> Content | None:
        """What the span of a run says, now that it has ended; ``None`` where plumbing stays plumbing."""

    def documents(self, value: object) -> Iterable[object]:
        """The lists of documents that a retrieval's or a rerank's output holds, as they are."""
