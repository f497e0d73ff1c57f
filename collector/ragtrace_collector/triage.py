"""Tells the spans that may have to be held from those that go straight on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field

from ragtrace import semconv
from ragtrace.extract.classify import is_rag_scope
from ragtrace.model import LogRecord
from ragtrace_collector import otlp
from ragtrace_collector.grouping import SeenSpan
from ragtrace_collector.lineage import Role
from ragtrace_collector.otlp import Glance, Sifted, Survey, Wanted
from ragtrace_collector.roles import Roles
from ragtrace_collector.stages import Decision
from ragtrace_collector.stories import Stories

_TRACE_ID_BYTES = 16
_FEW = 0.25
"""Of the traces of a request. Spans of more are read faster all in one go."""


@dataclass(frozen=True)
class Triage:
    """``early`` gives the decision that a trace id alone allows (``None`` = see the whole interaction);
    ``knows`` says whether spans of a trace are held, or were. Traces are named by their hex ids.
    """

    early: Callable[[str], Decision | None]
    knows: Callable[[str], bool]
    stories: Stories
    roles: Roles = field(default_factory=Roles)

    def survey(self, body: bytes) -> Survey:
        """What a request holds.

        Raises:
            MalformedOtlp: it is none.
        """
        return otlp.survey(body, self.roles.is_rag_key)

    def sift(self, body: bytes, survey: Survey) -> Sifted:
        """A request, the spans of those traces apart that have to be seen one by one.

        Raises:
            MalformedOtlp: it is none.
        """
        if semconv.JUDGE_SCOPE in survey.scopes:
            # Its spans are to be dropped, whatever trace they say they belong to.
            return Sifted(tuple(otlp.glance(body)), b"", 0)
        names = {trace: trace.hex() for trace in survey.traces if len(trace) == _TRACE_ID_BYTES}
        known = {trace for trace, name in names.items() if self.knows(name)}
        if not (survey.rag or any(map(is_rag_scope, survey.scopes))):
            undecided = set[bytes]()
        else:
            undecided = {trace for trace, name in names.items() if self.early(name) is None} - known
            self._pass_by(names.keys() - known - undecided)
        if not (known or undecided):
            return Sifted((), body, survey.spans)
        few = len(known) + len(undecided) < _FEW * len(names)
        return otlp.sift(body, Wanted(known, undecided, survey.rag_keys, is_rag_scope, few))

    def _pass_by(self, traces: Set[bytes]) -> None:
        """Some of ``traces`` are RAG, and none will be judged."""
        for first in traces:
            if (decision := self.early(first.hex())) is not None:
                self.stories.passed(traces, decision)
            return

    def see(self, one: Glance) -> SeenSpan:
        """A span with its role; plain where its trace was decided early."""
        raw, trace_id = one.raw, one.raw.trace_id.hex()
        role = self.roles.role_of(one) if len(raw.trace_id) == _TRACE_ID_BYTES else Role.PLAIN
        if role is not Role.PLAIN:
            early = self.early(trace_id)
            self.stories.seen(trace_id, early=early)
            role = role if early is None else Role.PLAIN
        return _seen(one, role)

    def wanted(self, records: Iterable[LogRecord]) -> list[LogRecord]:
        """The log records that may belong to an interaction."""
        return [
            record
            for record in records
            if (record.event_name or is_rag_scope(record.scope)) and self.early(record.trace_id) is None
        ]


def unread(one: Glance) -> SeenSpan:
    """A span as a plain one, for where its role cannot be told."""
    return _seen(one, Role.PLAIN)


def _seen(one: Glance, role: Role) -> SeenSpan:
    raw = one.raw
    trace_id, span_id, parent_id = raw.trace_id.hex(), raw.span_id.hex(), raw.parent_id.hex()
    return SeenSpan(raw, trace_id, span_id, parent_id or None, role, raw.size, one.remote_parent)
