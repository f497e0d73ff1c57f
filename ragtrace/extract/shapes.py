"""Where questions and answers sit in the inputs and outputs of functions, chains and pipelines.

Names decide, never guesses: a value under an unknown name is no question and no answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ragtrace.extract.messages import final_reply, last_text, read_messages, strip_role
from ragtrace.extract.values import text_or_none, unwrap

QUESTION_KEYS = (
    *("question", "user_question", "original_question", "query", "user_query", "query_str", "query_text"),
    *("user_input", "q", "input_text", "human_input", "user_message", "utterance", "message", "prompt"),
    *("input", "inputs", "task", "text"),
)
"""Names of a question, most telling first."""
REWRITTEN_KEYS = (
    *("standalone_question", "rewritten_question", "condensed_question", "rephrased_question", "standalone"),
    *("rewritten_query", "standalone_query", "search_query"),
)
HISTORY_KEYS = (
    "history",
    "chat_history",
    "hist",
    "conversation",
    "conversation_history",
    "previous_messages",
)
ANSWER_KEYS = (
    *("answer", "final_answer", "response", "result", "output_text", "generated_text", "completion", "reply"),
    *("output", "outputs", "generation", "final_result", "text", "content", "answers"),
)
_INPUT_WRAPPERS = (
    *("kwargs", "data", "body", "payload", "request", "state", "params", "arguments", "input_str"),
    *("query_bundle", "str_or_query_bundle", "qb"),
)
_OUTPUT_WRAPPERS = ("update", "data", "value", "return_value", "state")
_COMPONENT_ANSWERS = ("replies", "answers", "answer", "response")
_MAX_NESTING = 5
_REPR = re.compile(r"[A-Z]\w{1,60}\([a-z_]\w{0,60}=")
"""The repr of an object with named fields: ``StopEvent(result=…``."""


def question_in(value: Any, depth: int = 0) -> str | None:
    """The question in a decoded input; ``None`` where no name tells it."""
    value = unwrap(value) if depth else value
    if isinstance(value, str):
        return text_or_none(value)
    if depth > _MAX_NESTING:
        return None
    if isinstance(value, list):
        return _asked_in(value, depth) or _only_text(value)
    return _question_of_object(value, depth) if isinstance(value, dict) else None


def _question_of_object(value: Mapping[str, Any], depth: int) -> str | None:
    if (asked := _first(value, QUESTION_KEYS, depth, question_in)) is not None:
        return asked
    if isinstance(args := value.get("args"), list):
        return _question_of_arguments(args, value.get("kwargs"), depth)
    if (asked := _asked_in(value, depth)) is not None:
        return asked
    if (asked := _first(value, _INPUT_WRAPPERS, depth, question_in)) is not None:
        return asked
    return _of_components(value, QUESTION_KEYS[:9])


def _asked_in(value: Any, depth: int) -> str | None:
    """The last user message, or the question in it where it is the JSON of a chain's input."""
    said = last_text(read_messages(value), "user")
    inner = unwrap(said, 1)
    return question_in(inner, depth + 1) if isinstance(inner, dict) else said


def _question_of_arguments(args: list[Any], kwargs: Any, depth: int) -> str | None:
    """A call whose positional arguments lost their names: the first text among them."""
    if isinstance(kwargs, dict) and (named := _first(kwargs, QUESTION_KEYS, depth, question_in)) is not None:
        return named
    for argument in args:
        if isinstance(argument, str | dict) or _are_messages(argument):
            asked = question_in(argument, depth + 1)
            if asked is not None:
                return asked
    return None


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and bool(read_messages(value))


def _first(value: Mapping[str, Any], keys: tuple[str, ...], depth: int, read: Any) -> str | None:
    for key in keys:
        if key in value and (found := read(value[key], depth + 1)) is not None:
            return str(found)
    return None


def _of_components(value: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    """``{"retriever": {"query": …}, "prompt": {"question": …}}``: a pipeline's input by component."""
    components = [inner for inner in value.values() if isinstance(inner, dict)]
    for key in keys:
        for component in components:
            if (text := _plain_text(component.get(key))) is not None:
                return text
    return None


def _plain_text(value: Any) -> str | None:
    if isinstance(value, list):
        return final_reply(read_messages(value, "assistant")) or _only_text(value)
    return text_or_none(value)


def _only_text(value: list[Any]) -> str | None:
    """The one text of a list that holds one: ``["…"]``, or a returned tuple ``[documents, "…"]``."""
    texts = [item for item in value if isinstance(item, str)]
    return text_or_none(texts[0]) if len(texts) == 1 and not _is_repr(texts[0]) else None


def _is_repr(text: str) -> bool:
    return text.startswith(("<", "Document(", "ChatMessage(", "NodeWithScore(")) or bool(_REPR.match(text))


def answer_in(value: Any, depth: int = 0) -> str | None:
    """The answer in a decoded output; ``None`` where no name tells it."""
    if isinstance(value, str):
        inner = unwrap(value)
        if isinstance(inner, dict | list):
            return answer_in(inner, depth + 1) if depth <= _MAX_NESTING else None
        text = text_or_none(inner)
        return None if text is None or _is_repr(text) else strip_role(text)
    if depth > _MAX_NESTING:
        return None
    if isinstance(value, list):
        return final_reply(read_messages(value, "assistant")) or _answer_of_list(value, depth)
    return _answer_of_object(value, depth) if isinstance(value, dict) else None


def _answer_of_list(value: list[Any], depth: int) -> str | None:
    only = _only_text(value)
    if only is not None or len(value) != 1:
        return None if only is None else answer_in(only, depth + 1)
    return answer_in(value[0], depth + 1)


def _answer_of_object(value: Mapping[str, Any], depth: int) -> str | None:
    messages = read_messages(value, "assistant")
    if messages:
        return final_reply(messages)
    if (said := _first(value, ANSWER_KEYS, depth, answer_in)) is not None:
        return said
    if (said := _first(value, _OUTPUT_WRAPPERS, depth, answer_in)) is not None:
        return said
    return _of_components(value, _COMPONENT_ANSWERS)
