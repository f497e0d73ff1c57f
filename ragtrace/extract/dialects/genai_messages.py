"""Messages of the GenAI conventions, whose versions put them in attributes, span events or log records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ragtrace import semconv as sc
from ragtrace.extract.messages import Message, Speaker, read_messages
from ragtrace.extract.values import decode, text_or_none
from ragtrace.model import LogRecord, SpanRecord

_OLD_PROMPT, _OLD_COMPLETION = "gen_ai.prompt", "gen_ai.completion"
_SPEAKING_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE = "gen_ai.choice"
_CONTENT_EVENTS = {"gen_ai.content.prompt": _OLD_PROMPT, "gen_ai.content.completion": _OLD_COMPLETION}


def prompt_of(
    attributes: Mapping[str, Any], span: SpanRecord, logs: Iterable[LogRecord]
) -> tuple[Message, ...]:
    """The messages that a model was given, from wherever this version of the conventions puts them."""
    messages = _of_attribute(attributes, sc.GEN_AI_INPUT_MESSAGES, "user")
    if not messages:
        messages = numbered(attributes, _OLD_PROMPT, "user") or _of_attribute(attributes, _OLD_PROMPT, "user")
    if not messages:
        messages = _spoken(span, logs) or _of_events(span, "gen_ai.content.prompt", "user")
    return _instructions(attributes, messages) + messages


def reply_of(
    attributes: Mapping[str, Any], span: SpanRecord, logs: Iterable[LogRecord]
) -> tuple[Message, ...]:
    """The messages that a model gave."""
    return (
        _of_attribute(attributes, sc.GEN_AI_OUTPUT_MESSAGES, "assistant")
        or numbered(attributes, _OLD_COMPLETION, "assistant")
        or _of_attribute(attributes, _OLD_COMPLETION, "assistant")
        or _choices(span, logs)
        or _of_events(span, "gen_ai.content.completion", "assistant")
    )


def _of_attribute(attributes: Mapping[str, Any], key: str, speaker: Speaker) -> tuple[Message, ...]:
    raw = attributes.get(key)
    if raw is None:
        return ()
    value = decode(raw).value
    if isinstance(value, str):
        text = text_or_none(value)
        return () if text is None else (Message(speaker, text),)
    return read_messages(value, speaker)


def _instructions(attributes: Mapping[str, Any], messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """System instructions that were split out of the messages."""
    raw = attributes.get(sc.GEN_AI_SYSTEM_INSTRUCTIONS)
    if raw is None or any(message.speaker == "system" for message in messages):
        return ()
    value = decode(raw).value
    content = [{"role": "system", "content": value}]
    return read_messages(content)


def numbered(attributes: Mapping[str, Any], prefix: str, speaker: Speaker) -> tuple[Message, ...]:
    """``<prefix>.0.role``, ``<prefix>.0.content``: the form before messages were JSON."""
    start = prefix + "."
    rows: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        if key.startswith(start):
            index, _, name = key[len(start) :].partition(".")
            if index.isdigit() and name:
                row = rows.setdefault(int(index), {"role": speaker})
                row["tool_calls" if name.startswith("tool_calls") else name] = value
    return tuple(m for index in sorted(rows) for m in read_messages([rows[index]]))


def _spoken(span: SpanRecord, logs: Iterable[LogRecord]) -> tuple[Message, ...]:
    """``gen_ai.user.message`` and its like, log records or span events, one message each."""
    found: list[Message] = []
    for name, body in _bodies(span, logs):
        if name in _SPEAKING_EVENTS and isinstance(body, dict):
            found.extend(read_messages([{"role": _SPEAKING_EVENTS[name], **_parsed(body)}]))
    return tuple(found)


def _choices(span: SpanRecord, logs: Iterable[LogRecord]) -> tuple[Message, ...]:
    found: list[Message] = []
    for name, body in _bodies(span, logs):
        if name == _CHOICE and isinstance(body, dict) and not body.get("index"):
            message = _parsed(body).get("message", _parsed(body))
            if isinstance(message, dict):
                found.extend(read_messages([{"role": "assistant", **message}]))
            elif (text := text_or_none(message)) is not None:
                found.append(Message("assistant", text))
    return tuple(found)


def _bodies(span: SpanRecord, logs: Iterable[LogRecord]) -> Iterable[tuple[str, Any]]:
    for log in logs:
        name = log.event_name or str(log.attributes.get("event.name", ""))
        yield name, log.body if isinstance(log.body, dict) else decode(log.body).value
    for event in span.events:
        yield event.name, event.attributes
    for row in _listed_events(span):
        yield str(row.get("event.name", "")), row


def _listed_events(span: SpanRecord) -> list[Mapping[str, Any]]:
    """Events that a span lists in an attribute (Pydantic AI before its version 1)."""
    if "events" not in span.attributes:
        return []
    rows = decode(span.attributes["events"]).value
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _parsed(body: Mapping[str, Any]) -> dict[str, Any]:
    """Event attributes hold JSON where a log body holds structure."""
    return {key: decode(value).value for key, value in body.items() if key != "role" or value}


def _of_events(span: SpanRecord, name: str, speaker: Speaker) -> tuple[Message, ...]:
    for event in span.events:
        if event.name == name:
            return _of_attribute(event.attributes, _CONTENT_EVENTS[name], speaker)
    return ()
