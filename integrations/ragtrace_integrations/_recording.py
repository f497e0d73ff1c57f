"""Runs of a framework → spans: opened when a run starts, written and ended when it, or an ancestor, ends.

What its runs are and what their spans say is each framework's own file's to know, as a
:class:`~ragtrace_integrations._nouns.Translator`. Everything that must be right under threads, tasks,
abandoned streams and late events is here, once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable
from dataclasses import fields, replace

from opentelemetry.context import Context
from opentelemetry.trace import Tracer, TracerProvider, get_current_span, get_tracer

from ragtrace import _steps as steps
from ragtrace import semconv as names
from ragtrace._steps import Step
from ragtrace.spans import Content
from ragtrace_integrations._covering import cover
from ragtrace_integrations._faults import tell
from ragtrace_integrations._flow import read_lists
from ragtrace_integrations._nouns import End, Role, Run, Start, Translator, Tree
from ragtrace_integrations._peers import recording_peer
from ragtrace_integrations._runs import OpenRuns

_CUT = (GeneratorExit, asyncio.CancelledError, KeyboardInterrupt)
"""How an abandoned run ends: nobody waited for its result. That is no error of the app."""
_NOTHING = Content()


class Recorder:
    """Turns starts and ends of runs into spans. Safe for all threads and tasks.

    Spans go to ``tracer_provider``; where it is ``None``, wherever the hooks' spans go. ``always`` records
    also where another instrumentation records the framework already.
    """

    def __init__(
        self, translator: Translator, tracer_provider: TracerProvider | None = None, *, always: bool = False
    ) -> None:
        self._translator, self._always = translator, always
        self._runs: OpenRuns[Run] = OpenRuns()
        self._tracer: Tracer | None = None
        if tracer_provider is not None:
            self._tracer = get_tracer(names.SCOPE, tracer_provider=tracer_provider)

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, run_id: Hashable) -> Run | None:
        """An open run."""
        return self._runs.get(run_id)

    def start(self, run_id: Hashable, parent_id: Hashable | None, start: Start) -> None:
        """A run starts. Its parent is the run ``parent_id``; a root's is what is current where it starts."""
        now = time.monotonic()
        try:
            evicted = self._runs.open(
                run_id, parent_id, lambda parent: self._make(run_id, parent, start), now
            )
        except Exception as error:  # noqa: BLE001  # a sampler or span processor of the user's may raise
            tell(f"a {self._translator.framework} {start.role.value}", error)
            return
        for run in evicted:
            self._finish(run, End(cut=True))
        opened = self._runs.get(run_id)
        if opened is not None and start.role is Role.MODEL and not opened.tree.silent:
            cover(opened)

    def inside(self, run_id: Hashable | None, context: Context) -> Context:
        """Where code is that a run calls: the run's own context, if ``context`` is not deeper still.

        It is deeper where a span was made current inside the run: then the current span is not the one that
        was current where the run's tree began.
        """
        run = self._runs.get(run_id) if run_id is not None else None
        if run is None or run.tree.silent or get_current_span(context) is not run.tree.outside:
            return context
        return run.context

    def below(self, run_id: Hashable | None) -> list[Run]:
        """The open runs right below a run."""
        return self._runs.below(run_id)

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
        """A run ends, and with it what is still open below it. Ignored where it ended with an ancestor.

        A root that ends while a model below it is talking is cut short: its stream was abandoned.
        """
        closing = self._runs.close(run_id)
        talking = any(run.start.role is Role.MODEL for run in closing[:-1])
        for run in closing[:-1]:
            self._finish(run, End(cut=True))
        for run in closing[-1:]:
            cut = isinstance(error, _CUT) or (talking and run.start.role is Role.ROOT)
            failed = None if isinstance(error, _CUT) else error
            self._finish(run, End(given, taken, error=failed, cut=cut))

    def leave(self, run_id: Hashable, *, taken: object = None) -> None:
        """A run ends alone: what is open below it, such as an unread stream, goes on below its parent."""
        run = self._runs.detach(run_id)
        if run is not None:
            self._finish(run, End(taken=taken))

    def close(self) -> None:
        """End all that is open, as cut short."""
        for run in self._runs.drain():
            self._finish(run, End(cut=True))

    def _make(self, run_id: Hashable, parent: Run | None, start: Start) -> Run:
        if parent is None:
            return self._make_root(run_id, start)
        run = Run(run_id, start, parent.tree, parent.context, parent=parent)
        if start.role not in (Role.PLUMBING, Role.FORMAT) and not run.tree.silent:
            self._open(run)
        return run

    def _make_root(self, run_id: Hashable, start: Start) -> Run:
        here = steps.here()
        peer = None if self._always else recording_peer(self._translator.framework)
        silent = steps.is_off(here) or peer is not None
        if start.role in (Role.PLUMBING, Role.NODE):
            start = replace(start, role=Role.ROOT)
        within = steps.interaction_in(here) is not None
        run = Run(run_id, start, Tree(silent, get_current_span(here), within), here)
        if start.role is not Role.FORMAT and not silent:
            self._open(run)
        return run

    def _open(self, run: Run) -> None:
        name, began = run.start.name, run.started_ns
        if self._tracer is None:
            span = steps.start_span(name, run.context, began)
        else:
            span = self._tracer.start_span(name, run.context, start_time=began)
        run.step = Step(span, None, steps.interaction_in(run.context), run.context)
        run.context = run.step.context
        if run.start.role is not Role.ROOT:
            run.tree.parts += 1

    def _finish(self, run: Run, end: End) -> None:
        """Write and end the span of a run that has left the table, whatever goes wrong with the writing."""
        run.is_open = False
        try:
            if not run.tree.silent:
                self._write(run, end)
        except Exception as error:  # noqa: BLE001  # the app's objects may raise from anything that is read
            tell(f"a {self._translator.framework} {run.start.role.value}", error)
        finally:
            if run.step is not None:
                run.step.end(end.error)
            run.forget()

    def _write(self, run: Run, end: End) -> None:
        given = run.start.given if end.given is None else end.given
        end = replace(end, given=given, streamed="".join(run.tokens))
        if run.step is not None and run.start.role is Role.ROOT and run.step.parts > run.tree.parts:
            run.tree.is_rag = True  # hooks or other integrations have recorded steps of their own inside
        content = self._translator.content(run, end)
        if content is None:
            _pass_up(run, None, [])
            return
        if run.step is None:
            self._open(run)
        assert run.step is not None
        run.step.content = _completed(content, run.step.content)
        finds = content.kind in (names.KIND_RETRIEVAL, names.KIND_RERANK)
        _pass_up(run, content, list(self._translator.documents(end.taken)) if finds else [])


def _completed(content: Content, recorded: Content) -> Content:
    """``content`` with what the app's own ``record_*`` calls said of the same step, which outranks it."""
    if recorded == _NOTHING:
        return content
    said = {f.name: getattr(recorded, f.name) for f in fields(Content)}
    if recorded.documents is None:
        del said["documents"]
    return replace(content, **{name: value for name, value in said.items() if value or name == "documents"})


def _pass_up(run: Run, content: Content | None, lists: list[object]) -> None:
    """Tell the runs above, and hooks that run beside, what this one showed."""
    tree = run.tree
    kind = content.kind if content is not None else None
    if run.start.role is Role.TOOL or kind in (names.KIND_RETRIEVAL, names.KIND_GENERATION):
        tree.is_rag = True
    if run.start.role is Role.MODEL and content is not None and content.answer is not None:
        tree.last_reply = None if content.partial else content.answer
        tree.cut_reply = content.answer if content.partial else None
    if run.step is not None and lists:
        run.step.interaction.retrieved = lists[-1]
    if run.parent is not None:
        run.parent.known += [*run.known, *read_lists(lists)]
