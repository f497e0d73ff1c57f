"""What a call of the OpenAI client was given and what it gave. Pure.

Three APIs are read: chat completions, responses, and the old completions; whole, parsed, and streamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Prompt = tuple[tuple[str, str], ...]
"""One (role, text) a message."""


@dataclass(slots=True)
class Reply:
    """What came back, whole or so far. ``pieces`` is a streamed text, ``text`` one that came at once."""

    text: str | None = None
    pieces: list[str] = field(default_factory=list)
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def answer(self) -> str | None:
        """The text, if there is any; a reply that only calls tools has none."""
        return self.text or "".join(self.pieces) or None

    def read(self, given: object) -> None:
        """Take in a whole response, or one piece of a stream."""
        event = getattr(given, "type", None)
        if isinstance(event, str) and event.startswith("response."):
            self._read_event(event, given)
            return
        self._read_facts(given)
        for choice in getattr(given, "choices", None) or ():
            if getattr(choice, "index", 0) == 0:
                self._read_choice(choice)
        if isinstance(text := getattr(given, "output_text", None), str):
            self.text = text

    def _read_event(self, event: str, given: object) -> None:
        if event == "response.output_text.delta" and isinstance(delta := getattr(given, "delta", None), str):
            self.pieces.append(delta)
        elif (response := getattr(given, "response", None)) is not None:
            self._read_facts(response)
            if event in ("response.completed", "response.incomplete"):
                self.text = getattr(response, "output_text", None) or None

    def _read_choice(self, choice: object) -> None:
        message = getattr(choice, "message", None)
        if message is not None:
            self.text = getattr(message, "content", None) or getattr(message, "refusal", None)
            return
        delta = getattr(choice, "delta", None)
        piece = getattr(choice, "text", None) if delta is None else getattr(delta, "content", None)
        if isinstance(piece, str):
            self.pieces.append(piece)

    def _read_facts(self, given: object) -> None:
        if isinstance(model := getattr(given, "model", None), str) and model:
            self.model = model
        usage = getattr(given, "usage", None)
        for name, keys in (
            ("input_tokens", ("prompt_tokens", "input_tokens")),
            ("output_tokens", ("completion_tokens", "output_tokens")),
        ):
            counted = next((n for key in keys if isinstance(n := getattr(usage, key, None), int)), None)
            if counted is not None:
                setattr(self, name, counted)


def prompt_of(arguments: Mapping[str, Any]) -> Prompt:
    """The prompt in the arguments of a call: instructions first, then messages or one text."""
    told: list[tuple[str, str]] = []
    if isinstance(instructions := arguments.get("instructions"), str):
        told.append(("system", instructions))
    for name in ("messages", "input", "prompt"):
        told += _messages(arguments.get(name))
    return tuple(told)


def model_of(arguments: Mapping[str, Any]) -> str | None:
    """The model that was asked for."""
    model = arguments.get("model")
    return model if isinstance(model, str) else None


def _messages(given: object) -> Iterator[tuple[str, str]]:
    if isinstance(given, str):
        yield "user", given
    elif isinstance(given, list | tuple):
        for item in given:
            role, content = _get(item, "role"), _get(item, "content")
            if isinstance(role, str):
                yield role, _text(content)
            elif _get(item, "type") == "function_call_output":
                yield "tool", _text(_get(item, "output"))


def _text(content: object) -> str:
    """A text, or the texts of content parts; pictures and sounds are left out."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else ()
    return "".join(text for part in parts if isinstance(text := _get(part, "text"), str))


def _get(item: object, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
