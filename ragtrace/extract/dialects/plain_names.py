"""Spans under plain names that the app chose: ``question``, ``query``, ``documents``, ``answer``.

Logfire leaves names to the app; its own and Pydantic AI's spans use GenAI keys beside that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ragtrace import semconv as sc
from ragtrace.extract.dialects.otel_genai import read_genai
from ragtrace.extract.documents import DocumentList, documents_in
from ragtrace.extract.inout import Identity, field_of, step_of, text_of
from ragtrace.extract.messages import last_text, read_messages
from ragtrace.extract.step import Facts, Field, Role, Step
from ragtrace.extract.values import decode
from ragtrace.model import LogRecord, SpanRecord

_QUESTIONS = ("question", "user_question", "user_query", "user_input")
_QUERIES = ("query", "search_query", *_QUESTIONS)
_ANSWERS = ("answer", "final_answer", "response", "return")
_DOCUMENTS = (
    "documents",
    "docs",
    "contexts",
    "chunks",
    "passages",
    "retrieved_documents",
    "retrieved_contexts",
)
_RERANKING = re.compile(r"re-?rank|重排", re.IGNORECASE)
_SESSIONS = ("session_id", "session.id", "conversation_id", "thread_id", sc.GEN_AI_CONVERSATION_ID)
_AGENT_MESSAGES = ("pydantic_ai.all_messages", "all_messages_events")
_AGENT_KEYS = (*_AGENT_MESSAGES, "agent_name", "final_result")
_TOOL_ARGUMENTS = ("gen_ai.tool.call.arguments", "tool_arguments")
_TOOL_RESULTS = ("gen_ai.tool.call.result", "tool_response")


class Logfire:
    """Reads spans of Logfire and Pydantic AI."""

    name = "logfire"

    def claims(self, span: SpanRecord) -> bool:
        """Whether Logfire or Pydantic AI wrote the span."""
        return span.scope.startswith(("logfire", "pydantic-ai")) or "logfire.msg" in span.attributes

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        a = span.attributes
        if a.get("logfire.span_type") == "pending_span":
            return Step(span, self.name, Role.OTHER)
        if not any(key.startswith("gen_ai.") or key in _AGENT_KEYS for key in a):
            return read_plain(span, self.name)
        step = read_genai(span, logs, self.name)
        if step.role is Role.AGENT or (step.role is Role.OTHER and any(key in a for key in _AGENT_KEYS)):
            return _agent(step)
        if any(key in a for key in _TOOL_RESULTS):
            given, result = field_of(a, *_TOOL_ARGUMENTS), field_of(a, *_TOOL_RESULTS)
            return step_of(span, self.name, Role.TOOL, given, result, who=Identity(step.session, step.user))
        return step


class PlainNames:
    """Reads spans of any tracer that carry documents, or a question and an answer, under plain names."""

    name = "plain"

    def claims(self, span: SpanRecord) -> bool:
        """Whether the names say enough."""
        a = span.attributes
        return any(key in a for key in _DOCUMENTS) or (
            any(key in a for key in _QUESTIONS) and any(key in a for key in _ANSWERS)
        )

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        del logs
        return read_plain(span, self.name)


def read_plain(span: SpanRecord, dialect: str) -> Step:
    """A span under plain names: with documents and no answer it retrieved, else it holds other steps."""
    a = span.attributes
    answer, held = field_of(a, *_ANSWERS), field_of(a, *_DOCUMENTS)
    listed = _listed(held)
    who = Identity(text_of(a, *_SESSIONS), text_of(a, "user_id", sc.USER_ID))
    if listed is None and answer is not None and answer.key == "return":
        listed, held = _listed(answer), answer
    if listed is not None and (answer is None or answer is held):
        role = Role.RERANK if _RERANKING.search(span.name) else Role.RETRIEVAL
        return step_of(span, dialect, role, field_of(a, *_QUERIES, quoted=False), held, who=who)
    asked = field_of(a, *_QUESTIONS, quoted=False)
    if asked is None and answer is None:
        return Step(span, dialect, Role.OTHER)
    step = step_of(span, dialect, Role.CHAIN, asked, answer, who=who)
    return replace(step, used=listed, keys={**step.keys, "documents": held.key if held is not None else ""})


def _listed(held: Field | None) -> DocumentList | None:
    if held is None:
        return None
    return documents_in(held.value, cut=held.decoded.cut, strict=held.key not in _DOCUMENTS)


def _agent(step: Step) -> Step:
    """Pydantic AI's agent run: its messages begin with what the user said, its result is the answer."""
    a: Mapping[str, Any] = step.span.attributes
    messages = next((read_messages(decode(a[key]).value) for key in _AGENT_MESSAGES if key in a), ())
    asked = last_text(messages, "user")
    return replace(
        step,
        role=Role.AGENT,
        input=step.input or (Field(_AGENT_MESSAGES[0], asked, quoted=False) if asked is not None else None),
        output=field_of(a, "final_result", quoted=False) or step.output,
        facts=Facts(question=asked, keys={"question": _AGENT_MESSAGES[0]}),
    )
