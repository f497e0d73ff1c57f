"""Tells the spans that may have to be held from those that go straight on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ragtrace import semconv
from ragtrace.extract.classify import is_rag_scope
from ragtrace.model import LogRecord
from ragtrace_collector import otlp
from ragtrace_collector.grouping import SeenSpan
from ragtrace_collector.lineage import Role
from ragtrace_collector.otlp import Glance, Sifted, Survey
from ragtrace_collector.roles import Roles
from ragtrace_collector.stages import Decision
from ragtrace_collector.stories import Stories

_TRACE_ID_BYTES = 16


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
            return otlp.sift(body, survey.rag_keys, is_rag_scope, lambda trace_id, rag_spans: True)
        return otlp.sift(body, survey.rag_keys, is_rag_scope, self._is_wanted)

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

    def _is_wanted(self, trace_id: bytes, rag_spans: int) -> bool:
        if len(trace_id) != _TRACE_ID_BYTES:
            return False
        name = trace_id.hex()
        if self.knows(name):
            return True
        if not rag_spans:
            return False
        early = self.early(name)
        if early is not None:
            self.stories.seen(name, rag_spans, early)
        return early is None


def unread(one: Glance) -> SeenSpan:
    """A span as a plain one, for where its role cannot be told."""
    return _seen(one, Role.PLAIN)


def _seen(one: Glance, role: Role) -> SeenSpan:
    raw = one.raw
    trace_id, span_id, parent_id = raw.trace_id.hex(), raw.span_id.hex(), raw.parent_id.hex()
    return SeenSpan(raw, trace_id, span_id, parent_id or None, role, raw.size, one.remote_parent)
