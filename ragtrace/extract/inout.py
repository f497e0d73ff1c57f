"""Spans that say what they are and give one input and one output: most dialects differ in names only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragtrace.extract.documents import DocumentList, documents_in
from ragtrace.extract.messages import Message, Speaker, read_messages
from ragtrace.extract.shapes import question_in
from ragtrace.extract.step import Field, Role, Step
from ragtrace.extract.values import text_or_none
from ragtrace.model import SpanRecord


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose span it is, and why it failed, where its dialect has words of its own for that."""

    session: str | None = None
    user: str | None = None
    error: str | None = None


NOBODY = Identity()


def step_of(
    span: SpanRecord,
    dialect: str,
    role: Role,
    given: Field | None,
    output: Field | None,
    *,
    who: Identity = NOBODY,
) -> Step:
    """Read input and output as the role asks: a query and documents, messages, or left for later."""
    searches = role in (Role.RETRIEVAL, Role.RERANK, Role.TOOL)
    return Step(
        span=span,
        dialect=dialect,
        role=role,
        input=given,
        output=output,
        query=question_in(given.value) if searches and given is not None else None,
        documents=listed(output, strict=role is Role.TOOL) if searches else None,
        prompt=messages_of(given, "user") if role is Role.GENERATION else (),
        reply=messages_of(output, "assistant") if role is Role.GENERATION else (),
        variables=_variables(given) if role is Role.PROMPT else {},
        session=who.session,
        user=who.user,
        error=who.error,
        keys=_keys(given, output),
    )


def field_of(attributes: Mapping[str, Any], *keys: str, quoted: bool = True) -> Field | None:
    """The first of ``keys`` that is there."""
    for key in keys:
        if attributes.get(key) is not None:
            return Field(key, attributes[key], quoted)
    return None


def text_of(attributes: Mapping[str, Any], *keys: str) -> str | None:
    """The text of the first of ``keys`` that has one."""
    return next((text for key in keys if (text := text_or_none(attributes.get(key))) is not None), None)


def listed(output: Field | None, *, strict: bool = False) -> DocumentList | None:
    """The documents that an output lists."""
    return None if output is None else documents_in(output.value, cut=output.decoded.cut, strict=strict)


def messages_of(field: Field | None, speaker: Speaker) -> tuple[Message, ...]:
    """The messages in a field; bare text is one message."""
    if field is None:
        return ()
    if (messages := read_messages(field.value, speaker)) or not isinstance(field.value, str):
        return messages
    text = text_or_none(field.value)
    return () if text is None else (Message(speaker, text),)


def _variables(given: Field | None) -> Mapping[str, Any]:
    """What a prompt template was filled with is its input."""
    value = None if given is None else given.value
    for wrapper in ("inputs", "input", "kwargs"):
        if isinstance(value, dict) and isinstance(value.get(wrapper), dict):
            value = value[wrapper]
    return value if isinstance(value, dict) else {}


def _keys(given: Field | None, output: Field | None) -> Mapping[str, str]:
    first, second = (field.key if field is not None else "" for field in (given, output))
    return {"query": first, "prompt": first, "documents": second, "reply": second}
