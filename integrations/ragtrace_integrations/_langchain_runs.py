"""LangChain runs → spans: opened when a run starts, written and ended when it, or an ancestor, ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from opentelemetry import context as otel
from opentelemetry.context import Context
from opentelemetry.trace import Span, Tracer, set_span_in_context

from ragtrace import semconv as names
from ragtrace._steps import _mark as mark_error
from ragtrace.spans import Content, write
from ragtrace_integrations._ambient import is_off, within_interaction
from ragtrace_integrations._covering import cover
from ragtrace_integrations._langchain_content import question_of
from ragtrace_integrations._langchain_documents import Documents, documents_in, step
from ragtrace_integrations._langchain_spans import (
    End,
    Role,
    Start,
    Tree,
    model_content,
    retriever_content,
    root_content,
    step_content,
    tool_content,
)
from ragtrace_integrations._peers import recording_peer
from ragtrace_integrations._runs import OpenRuns

_CUT = (GeneratorExit, asyncio.CancelledError, KeyboardInterrupt)
"""How an abandoned run ends: nobody waited for its result. That is no error of the app."""


@dataclass(slots=True, eq=False)
class Run:
    """An open run. Plumbing has no span; what runs below it has its parent in ``context`` all the same."""

    start: Start
    tree: Tree
    context: Context
    span: Span | None = None
    parent: Run | None = None
    is_open: bool = True
    started_ns: int = field(default_factory=time.time_ns)
    known: list[Documents] = field(default_factory=list)
    """What retrievals inside this run gave."""
    tokens: list[str] = field(default_factory=list)


class Recorder:
    """Turns starts and ends of runs into spans. Safe for all threads and tasks.

    ``always`` records also where another instrumentation records LangChain already.
    """

    def __init__(self, tracer: Tracer, *, always: bool = False) -> None:
        self._tracer, self._always = tracer, always
        self._runs: OpenRuns[Run] = OpenRuns()

    def __len__(self) -> int:
        return len(self._runs)

    def start(self, run_id: Hashable, parent_id: Hashable | None, start: Start) -> None:
        """A run starts. Its parent is the run ``parent_id``; a root's is what is current where it starts."""
        evicted = self._runs.open(
            run_id, parent_id, lambda parent: self._make(parent, start), time.monotonic()
        )
        for run in evicted:
            self._finish(run, End(cut=True))
        opened = self._runs.get(run_id)
        if opened is not None and start.role is Role.MODEL and not opened.tree.silent:
            cover(opened)

    def token(self, run_id: Hashable, text: str) -> None:
        """A model has said ``text``."""
        run = self._runs.get(run_id)
        if run is not None and not run.tree.silent:
            run.tokens.append(text)

    def end(
        self,
        run_id: Hashable,
        *,
        given: object = None,
        taken: object = None,
        error: BaseException | None = None,
    ) -> None:
        """A run ends, and with it what is still open below it. Ignored where it ended with an ancestor."""
        closing = self._runs.close(run_id)
        was_talking = any(run.start.role is Role.MODEL for run in closing[:-1])
        for run in closing[:-1]:
            self._finish(run, End(cut=True))
        for run in closing[-1:]:
            cut = isinstance(error, _CUT) or (was_talking and run.start.role is Role.ROOT)
            failed = None if isinstance(error, _CUT) else error
            self._finish(run, End(given, taken, error=failed, cut=cut))

    def close(self) -> None:
        """End all that is open, as cut short."""
        for run in self._runs.drain():
            self._finish(run, End(cut=True))

    def _make(self, parent: Run | None, start: Start) -> Run:
        if parent is None:
            return self._make_root(start)
        run = Run(start, parent.tree, parent.context, parent=parent)
        if start.role not in (Role.PLUMBING, Role.FORMAT) and not run.tree.silent:
            self._open_span(run)
        return run

    def _make_root(self, start: Start) -> Run:
        here = otel.get_current()
        silent = is_off(here) or (not self._always and recording_peer("langchain") is not None)
        if start.role in (Role.PLUMBING, Role.NODE):
            start = replace(start, role=Role.ROOT)
        run = Run(start, Tree(silent=silent, within=within_interaction(here)), here)
        if start.role is not Role.FORMAT and not silent:
            self._open_span(run)
        return run

    def _open_span(self, run: Run) -> None:
        run.span = self._tracer.start_span(run.start.name, run.context, start_time=run.started_ns)
        run.context = set_span_in_context(run.span, run.context)

    def _finish(self, run: Run, end: End) -> None:
        run.is_open = False
        if run.tree.silent:
            return
        given = run.start.given if end.given is None else end.given
        end = End(given, end.taken, "".join(run.tokens), end.error, end.cut)
        content = self._content(run, end)
        if run.span is None and content is not None:
            self._open_span(run)
        if run.span is not None:
            if content is not None:
                write(run.span, content)
            if end.error is not None:
                mark_error(run.span, end.error)
            run.span.end()
        _pass_up(run, content, end.taken)

    def _content(self, run: Run, end: End) -> Content | None:
        role = run.start.role
        if role is Role.MODEL:
            return model_content(run.start, end)
        if role is Role.RETRIEVER:
            return retriever_content(end, run.known)
        if role is not Role.ROOT or not run.tree.is_rag:
            finished = not end.cut and end.error is None
            made = step(run.known, end.given, end.taken) if finished else None
            if made is not None:
                return step_content(made, question_of(end.given) or _question_above(run))
        if role is Role.ROOT:
            return root_content(run.start, end, run.tree)
        if role is Role.TOOL:
            return tool_content(end)
        return Content(partial=end.cut) if role is Role.NODE else None


def _question_above(run: Run) -> str | None:
    """The question that the nearest run above was given: a step without one of its own works on that."""
    while run.parent is not None:
        run = run.parent
        if (question := question_of(run.start.given)) is not None:
            return question
    return None


def _pass_up(run: Run, content: Content | None, taken: object) -> None:
    """Tell the runs above what this one showed."""
    tree, kind = run.tree, content.kind if content is not None else None
    if kind is not None or run.start.role is Role.TOOL:
        tree.is_rag = True
    if run.start.role is Role.MODEL and content is not None and content.answer is not None:
        tree.last_reply = None if content.partial else content.answer
        tree.cut_reply = content.answer if content.partial else None
    if run.parent is not None:
        found = list(documents_in(taken)) if kind in (names.KIND_RETRIEVAL, names.KIND_RERANK) else []
        run.parent.known += [*run.known, *found]
