"""Chat messages in the shapes that instrumentations write."""

from __future__ import annotations

from typing import Any

import pytest

from ragtrace.extract.messages import Message, final_reply, last_text, read_messages

_ASKED = Message("user", "How long?")
_SHAPES: dict[str, Any] = {
    "openai": [{"role": "user", "content": "How long?"}],
    "openai parts": [{"role": "user", "content": [{"type": "text", "text": "How long?"}]}],
    "otel parts": [{"role": "user", "parts": [{"type": "text", "content": "How long?"}]}],
    "langchain pair": [["human", "How long?"]],
    "langchain dump": [{"type": "human", "data": {"content": "How long?", "type": "human"}}],
    "langchain serialised": [
        [
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "HumanMessage"],
                "kwargs": {"content": "How long?"},
            }
        ]
    ],
    "llama-index": [{"role": "user", "blocks": [{"block_type": "text", "text": "How long?"}]}],
    "haystack": [{"role": "user", "meta": {}, "name": None, "content": [{"text": "How long?"}]}],
    "gemini": [{"role": "user", "parts": [{"text": "How long?"}]}],
    "wrapped": {"model": "m", "messages": [{"role": "user", "content": "How long?"}]},
    "in a string": '[{"role": "user", "content": "How long?"}]',
}


@pytest.mark.parametrize("shape", _SHAPES)
def test_every_shape_is_the_same_message(shape: str) -> None:
    """A user's message reads the same in every form."""
    assert read_messages(_SHAPES[shape]) == (_ASKED,)


_REPLIES: dict[str, Any] = {
    "completion": {"choices": [{"index": 0, "message": {"role": "assistant", "content": "3 days."}}]},
    "responses": {"object": "response", "output": [
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "3 days."}]},
    ]},
    "langchain result": {"generations": [[{"text": "3 days.", "message": {
        "lc": 1, "id": ["langchain", "AIMessage"], "kwargs": {"content": "3 days."}}}]]},
    "haystack": {"replies": [{"role": "assistant", "content": [{"text": "3 days."}]}]},
    "anthropic": {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "3 days."}]},
    "role prefix": {"message": {"role": "assistant", "content": "assistant: 3 days."}},
}  # fmt: skip


@pytest.mark.parametrize("shape", _REPLIES)
def test_every_reply_is_the_same_text(shape: str) -> None:
    """What a model said reads the same in every form, without its reasoning and without a role in front."""
    assert final_reply(read_messages(_REPLIES[shape], "assistant")) == "3 days."


@pytest.mark.parametrize(
    "call",
    [
        {"role": "assistant", "content": "Let me look.", "tool_calls": [{"id": "1"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "name": "search"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "name": "search"}]},
    ],
)
def test_a_tool_call_is_no_reply(call: dict[str, Any]) -> None:
    """A message that calls a tool is not the answer, even with text beside the call."""
    assert final_reply(read_messages([call])) is None


def test_the_last_user_message_is_found() -> None:
    """Of a conversation the last thing that the user said."""
    messages = read_messages([["human", "first"], ["ai", "yes"], ["human", "second"]])
    assert last_text(messages, "user") == "second"
