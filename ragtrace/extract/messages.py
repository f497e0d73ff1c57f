"""Chat messages in every shape that instrumentations write, read by one function."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragtrace.extract.values import text_or_none, unwrap

Speaker = Literal["system", "user", "assistant", "tool"]

_SPEAKERS: Mapping[str, Speaker] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "humanmessage": "user",
    "humanmessagechunk": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "chatbot": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "tool": "tool",
    "function": "tool",
    "toolmessage": "tool",
    "tool_response": "tool",
    "tool-response": "tool",
    "function_call_output": "tool",
    "systemmessage": "system",
}
_WRAPPERS = ("messages", "message", "choices", "generations", "replies", "candidates", "response_messages")
"""Where an object keeps the messages that it is about."""
_SILENT_PARTS = frozenset(
    {"reasoning", "thinking", "redacted_thinking", "image", "image_url", "blob", "file"}
)
_CALL_PARTS = frozenset({"tool_call", "tool_use", "function_call", "tool-call", "server_tool_call"})
_RESULT_PARTS = frozenset(
    {"tool_call_response", "tool_result", "tool-return", "tool_response", "function_response"}
)
_CONTENT_KEYS = ("content", "contents", "parts", "blocks", "text", "response", "result", "output", "_content")
_ROLE_PREFIX = re.compile(r"^\s*(?:assistant|ai)\s*:\s+", re.IGNORECASE)
_MAX_NESTING = 8


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. ``text`` is ``None`` where it has none; ``calls`` says that it calls a tool.

    ``data`` is a tool's result as it was written, before its texts were joined.
    """

    speaker: Speaker
    text: str | None
    calls: bool = False
    data: Any = None


def read_messages(value: Any, default: Speaker = "user") -> tuple[Message, ...]:
    """The messages in a decoded value, in order; ``()`` where it holds none.

    Read are OpenAI, Anthropic, Gemini, LangChain (serialised or dumped), LlamaIndex and Haystack forms,
    OTel's parts, ``[role, text]`` pairs, and the objects around them. ``default`` speaks where no role is
    given.
    """
    return tuple(_messages(value, default, 0))


def _messages(value: Any, default: Speaker, depth: int) -> Iterable[Message]:
    value = unwrap(value, 1)
    if depth > _MAX_NESTING:
        return
    if isinstance(value, dict):
        yield from _of_object(value, default, depth)
    elif isinstance(value, list | tuple):
        if (pair := _pair(value)) is not None:
            yield pair
            return
        for item in value:
            if isinstance(item, dict | list | tuple):
                yield from _messages(item, default, depth + 1)


def _of_object(value: Mapping[str, Any], default: Speaker, depth: int) -> Iterable[Message]:
    message = _message(value)
    if message is not None:
        yield message
        return
    for key in _WRAPPERS:
        if isinstance(inner := unwrap(value.get(key), 1), dict | list):
            speaker: Speaker = "user" if key == "messages" else "assistant"
            yield from _messages(inner, speaker, depth + 1)
            return
    if isinstance(output := value.get("output"), list) and str(value.get("object")) == "response":
        yield from _messages(output, "assistant", depth + 1)
    elif isinstance(content := value.get("content"), dict):
        yield from _messages(content, default, depth + 1)


def _pair(value: Sequence[Any]) -> Message | None:
    """``["user", "text"]``."""
    if len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], str):
        speaker = _SPEAKERS.get(value[0].lower())
        return None if speaker is None else Message(speaker, text_or_none(value[1]))
    return None


def _message(value: Mapping[str, Any]) -> Message | None:
    """One message, where ``value`` is one."""
    inner = value.get("kwargs") if "lc" in value else value.get("data")
    if isinstance(inner, dict) and (speaker := _speaker(value, inner)) is not None:
        return _spoken(speaker, inner)
    if value.get("type") in _CALL_PARTS:
        return Message("assistant", None, calls=True)
    speaker = _speaker(value, {})
    return None if speaker is None else _spoken(speaker, value)


def _speaker(value: Mapping[str, Any], inner: Mapping[str, Any]) -> Speaker | None:
    names = [inner.get("type"), inner.get("role"), value.get("role"), value.get("type"), value.get("_role")]
    path = value.get("id")
    if "lc" in value and isinstance(path, list) and path:
        names.insert(0, path[-1])
    for name in names:
        if isinstance(name, str) and (speaker := _SPEAKERS.get(name.lower())) is not None:
            return speaker
    return None


def _spoken(speaker: Speaker, fields: Mapping[str, Any]) -> Message:
    calls = bool(fields.get("tool_calls") or fields.get("function_call"))
    text: str | None = None
    for key in _CONTENT_KEYS:
        content = fields.get(key)
        if content is None or (text is not None and not isinstance(content, list)):
            continue
        calls = calls or _has_call(content)
        text = text or content_text(content)
    if speaker == "tool" or (speaker == "user" and _is_result(fields)):
        return Message("tool", text, data=_result(fields))
    return Message(speaker, text, calls)


def _result(fields: Mapping[str, Any]) -> Any:
    """A tool's result: the message's content, or that of its one part."""
    content = next((fields[key] for key in _CONTENT_KEYS if fields.get(key) is not None), None)
    if isinstance(content, list) and len(content) == 1 and _is_result(fields):
        part = content[0]
        return next((part[key] for key in ("response", "result", "content", "output") if key in part), None)
    return content


def _is_result(fields: Mapping[str, Any]) -> bool:
    """Whether what is said in the user's name is what a tool returned."""
    parts = fields.get("parts") or fields.get("content")
    return (
        isinstance(parts, list)
        and bool(parts)
        and all(isinstance(part, dict) and part.get("type") in _RESULT_PARTS for part in parts)
    )


def _has_call(content: Any) -> bool:
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") in _CALL_PARTS for part in content
    )


def content_text(content: Any, depth: int = 0) -> str | None:
    """The text of a message's content: a string, or its parts' texts, a line each, without reasoning."""
    if isinstance(content, str):
        return text_or_none(content)
    if depth > _MAX_NESTING:
        return None
    if isinstance(content, dict):
        return _part_text(content, depth)
    if isinstance(content, list | tuple):
        texts = [text for part in content if (text := content_text(part, depth + 1)) is not None]
        return "\n".join(texts) or None
    return None


def _part_text(part: Mapping[str, Any], depth: int) -> str | None:
    kind = part.get("type")
    if kind in _SILENT_PARTS or kind in _CALL_PARTS or part.get("thought") is True:
        return None
    for key in ("text", "content", "response", "result", "output", "message_content", "parts"):
        if (text := content_text(part.get(key), depth + 1)) is not None:
            return text
    return None


def last_text(messages: Sequence[Message], speaker: Speaker) -> str | None:
    """The text of the last message of ``speaker`` that has one."""
    return next((m.text for m in reversed(messages) if m.speaker == speaker and m.text is not None), None)


def final_reply(messages: Sequence[Message]) -> str | None:
    """What the model finally said: its last message's text, ``None`` where that calls a tool."""
    for message in reversed(messages):
        if message.speaker == "assistant":
            return None if message.calls or message.text is None else strip_role(message.text)
    return None


def strip_role(text: str) -> str:
    """``text`` without the ``assistant: `` that some clients print in front of an answer."""
    return _ROLE_PREFIX.sub("", text, count=1)
