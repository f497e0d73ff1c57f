"""LangChain runs → spans: opened when a run starts, written and ended when it, or an ancestor, ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from opentelemetry.context import Context
from opentelemetry.trace import get_current_span

from ragtrace import _steps as steps
from ragtrace import semconv as names
from ragtrace._steps import Step
from ragtrace.spans import Content
from ragtrace_integrations._ambient import StartSpan
from ragtrace_integrations._covering import cover
from ragtrace_integrations._langchain_content import question_of
from ragtrace_integrations._langchain_documents import Documents, documents_in, step
from ragtrace_integrations._langchain_spans import (
    End,
    Role,
    Start,
    Tree,
    completed,
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
    """An open run. Plumbing has no step; what runs below it has its parent in ``context`` all the same."""

    start: Start
    tree: Tree
    context: Context
    step: Step | None = None
    parent: Run | None = None
    is_open: bool = True
    started_ns: int = field(default_factory=time.time_ns)
    known: list[Documents] = field(default_factory=list)
    """What retrievals inside this run gave."""
    tokens: list[str] = field(default_factory=list)


class Recorder:
    """Turns starts and ends of runs into spans. Safe for all threads and tasks.

    ``start_span`` starts a span of a name in a context at a time. ``always`` records also where another
    instrumentation records LangChain already.
    """

    def __init__(self, start_span: StartSpan, *, always: bool = False) -> None:
        self._start_span, self._always = start_span, always
        self._runs: OpenRuns[Run] = OpenRuns()

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, run_id: Hashable) -> Run | None:
        """An open run."""
        return self._runs.get(run_id)

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
            self._open(run)
        return run

    def _make_root(self, start: Start) -> Run:
        here = steps.here()
        silent = steps.is_off(here) or (not self._always and recording_peer("langchain") is not None)
        if start.role in (Role.PLUMBING, Role.NODE):
            start = replace(start, role=Role.ROOT)
        outer = steps.interaction_in(here)
        run = Run(start, Tree(silent, get_current_span(here), within=outer is not None), here)
        if start.role is not Role.FORMAT and not silent:
            self._open(run)
        return run

    def _open(self, run: Run) -> None:
        span = self._start_span(run.start.name, run.context, run.started_ns)
        run.step = Step(span, None, steps.interaction_in(run.context), run.context)
        run.context = run.step.context
        if run.start.role is not Role.ROOT:
            run.tree.parts += 1

    def _finish(self, run: Run, end: End) -> None:
        run.is_open = False
        if run.tree.silent:
            return
        given = run.start.given if end.given is None else end.given
        end = End(given, end.taken, "".join(run.tokens), end.error, end.cut)
        if run.step is not None and run.start.role is Role.ROOT and run.step.parts > run.tree.parts:
            run.tree.is_rag = True  # hooks or other integrations have recorded steps of their own inside
        content = self._content(run, end)
        if run.step is None and content is not None:
            self._open(run)
        if run.step is not None and content is not None:
            run.step.content = completed(content, run.step.content)
        _pass_up(run, content, end.taken)
        if run.step is not None:
            run.step.end(end.error)

    def _content(self, run: Run, end: End) -> Content | None:
        role = run.start.role
        if role is Role.MODEL:
            return model_content(run.start, end)
        if role is Role.RETRIEVER:
            return retriever_content(end, run.known)
        if role is not Role.ROOT or not run.tree.is_rag:
            finished = not end.cut and end.error is None
            made = step(run.known, end.given, end.taken, _told(run)) if finished else None
            if made is not None:
                return step_content(made, question_of(end.given) or _question_above(run))
        if role is Role.ROOT:
            return root_content(run.start, end, run.tree)
        if role is Role.TOOL:
            return tool_content(end)
        return Content(partial=end.cut) if role is Role.NODE else None


def _told(run: Run) -> object:
    interaction = steps.interaction_in(run.context)
    return interaction.retrieved if interaction is not None else None


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
    if kind not in (names.KIND_RETRIEVAL, names.KIND_RERANK):
        found = []
    else:
        found = list(documents_in(taken))
        if run.step is not None:
            run.step.interaction.retrieved = found[-1] if found else []
    if run.parent is not None:
        run.parent.known += [*run.known, *found]
