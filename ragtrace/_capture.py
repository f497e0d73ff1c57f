"""What a call tells of an interaction: question and documents from its arguments, answer from its result.

Found by parameter name, then by type, or by an extractor that the user gave. Reading is by name on the app's
own objects: nothing is called on them, nothing is iterated but lists. What cannot be read is ``None``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragtrace.documents import read_documents
from ragtrace.model import RetrievedDocument, Turn

QUESTION_NAMES = (
    *("question", "query", "user_question", "user_query", "search_query", "query_text", "query_str"),
    *("user_input", "input_text", "user_message", "prompt", "message", "input", "text", "q", "messages"),
    *("request", "payload", "inputs", "data", "query_bundle"),
)
DOCUMENT_NAMES = (
    *("documents", "docs", "nodes", "chunks", "passages", "contexts", "candidates", "results", "hits"),
    *("retrieved_documents", "retrieved_docs", "context"),
)
HISTORY_NAMES = ("history", "chat_history", "conversation", "previous_messages")
ANSWER_KEYS = (
    *("answer", "output_text", "output", "result", "response", "reply", "completion", "generated_text"),
    *("content", "text", "message", "replies", "choices"),
)
CHUNK_KEYS = ("delta", "content", "text", "token", "answer", "output", "response", "message", "choices")
RESULT_DOCUMENT_KEYS = (
    *("documents", "docs", "contexts", "context", "source_documents", "source_nodes", "sources"),
    *("retrieved_documents", "retrieved_contexts", "chunks"),
)
_USER_ROLES = frozenset({"user", "human"})
_ASSISTANT_ROLES = frozenset({"assistant", "ai", "model"})
_MAX_NESTING = 4


Place = tuple[str, int]
"""A parameter's name and position; -1 where it can only come by keyword."""


class Arguments:
    """Where a function's parameters hold what; worked out once, when the function is decorated."""

    def __init__(self, function: Callable[..., Any], question: str | None = None) -> None:
        parameters = _parameters(function)
        self._skip = 1 if list(parameters)[:1] in (["self"], ["cls"]) else 0
        self._question = _places(parameters, QUESTION_NAMES if question is None else (question,))
        self._documents = _places(parameters, DOCUMENT_NAMES)
        self._history = _places(parameters, HISTORY_NAMES)

    def question(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[str | None, tuple[Turn, ...]]:
        """The question of a call and, where it came as a list of messages, the turns before it."""
        for place in self._question:
            value = _value(place, args, kwargs)
            if value is not None and (found := read_question(value)) is not None:
                return found, () if isinstance(value, str) else read_history(value)
        for value in (*args[self._skip :], *kwargs.values()):
            if isinstance(value, str) or _is_messages(value):
                return read_question(value), read_history(value)
        return None, ()

    def documents(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The argument that is named as documents are, as it is; ``None`` where there is none."""
        return _first_value(self._documents, args, kwargs)

    def history(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Turn, ...]:
        """The earlier turns, where a parameter holds them."""
        return read_history(_first_value(self._history, args, kwargs)) if self._history else ()


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _places(parameters: Mapping[str, inspect.Parameter], wanted: Sequence[str]) -> tuple[Place, ...]:
    """The parameters that are ``wanted``, in that order; any of them may come where ``**kwargs`` is taken."""
    kinds = inspect.Parameter
    positions = {
        name: -1 if parameter.kind is kinds.KEYWORD_ONLY else position
        for position, (name, parameter) in enumerate(parameters.items())
        if parameter.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
    }
    takes_any = not parameters or any(one.kind is kinds.VAR_KEYWORD for one in parameters.values())
    return tuple((name, positions.get(name, -1)) for name in wanted if takes_any or name in positions)


def _first_value(places: tuple[Place, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    for place in places:
        if (value := _value(place, args, kwargs)) is not None:
            return value
    return None


def _value(place: Place, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    name, position = place
    return args[position] if 0 <= position < len(args) else kwargs.get(name)


# --- questions --------------------------------------------------------------------------------------------


def read_question(value: Any, depth: int = 0) -> str | None:
    """The question in a string, a list of messages (the user's last), a dict or an object that holds one."""
    if isinstance(value, str):
        return str.__str__(value)
    if depth > _MAX_NESTING or value is None:
        return None
    if isinstance(value, list | tuple):
        return _last_user_text(value)
    if isinstance(value, Mapping) and "role" in value:
        return _text(value)
    for key in (*QUESTION_NAMES, "content"):
        inner = _get(value, key)
        if inner is not None and (found := read_question(inner, depth + 1)) is not None:
            return found
    return None


def read_history(value: Any) -> tuple[Turn, ...]:
    """The turns of a list of messages, or of (question, answer) pairs; an open last question is no turn."""
    if not isinstance(value, list | tuple) or not value:
        return ()
    turns: list[Turn] = []
    asked: str | None = None
    for item in value:
        if isinstance(item, tuple) and len(item) == 2 and not _is_role_pair(item):
            turns.append(Turn(_text(item[0]), _text(item[1])))
            continue
        role, text = _message(item)
        if role in _USER_ROLES:
            asked = text
        elif role in _ASSISTANT_ROLES and (asked is not None or text):
            turns.append(Turn(asked, text))
            asked = None
    return tuple(turns)


def _last_user_text(messages: Sequence[Any]) -> str | None:
    for item in reversed(messages):
        role, text = _message(item)
        if role in _USER_ROLES and text:
            return text
    return None


def _is_messages(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and _message(value[-1])[0] is not None


def _is_role_pair(item: tuple[Any, ...]) -> bool:
    return isinstance(item[0], str) and item[0] in _USER_ROLES | _ASSISTANT_ROLES | {"system"}


def _message(item: Any) -> tuple[str | None, str | None]:
    """Role and text of one chat message: a dict, a (role, text) pair, a message object of a framework."""
    if isinstance(item, tuple) and len(item) == 2 and _is_role_pair(item):
        return item[0], _text(item[1])
    if isinstance(item, str):
        return None, None
    role = _get(item, "role")
    if role is None and not isinstance(item, Mapping):
        role = _get(item, "type")
    role = getattr(role, "value", role)
    return (role if isinstance(role, str) else None), _text(item)


# --- answers ----------------------------------------------------------------------------------------------


def read_answer(value: Any) -> str | None:
    """The answer in a result: a string, a reply of a model client or a framework, a dict that holds one."""
    return _find_text(value, ANSWER_KEYS, 0)


def read_chunk(value: Any) -> str | None:
    """The piece of the answer in one item of a stream; ``None`` for an item that holds none."""
    return _find_text(value, CHUNK_KEYS, 0)


def join_chunks(chunks: Sequence[str]) -> str:
    """The answer that was streamed. Server-sent events lose their framing (HTML standard, §9.2.6)."""
    text = "".join(chunks)
    if not text.startswith("data:"):
        return text
    events = []
    for event in text.replace("\r\n", "\n").split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:")]
        if lines and lines != ["[DONE]"]:
            events.append("\n".join(lines))
    return "".join(events)


def result_documents(value: Any) -> tuple[RetrievedDocument, ...] | None:
    """Documents that an interaction returned beside its answer: under a usual key, or second of a pair."""
    if (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], list)
    ):
        return read_documents(value[1])
    if value is None or isinstance(value, str | bytes | list | tuple):
        return None
    for key in RESULT_DOCUMENT_KEYS:
        if isinstance(inner := _get(value, key), list | tuple):
            return read_documents(inner)
    return None


def _find_text(value: Any, keys: Sequence[str], depth: int) -> str | None:
    if isinstance(value, str):
        return str.__str__(value)
    if value is None or depth > _MAX_NESTING or isinstance(value, bytes | bool | int | float):
        return None
    if isinstance(value, list | tuple):
        return _parts(value, keys, depth)
    for key in keys:
        inner = _get(value, key)
        if inner is not None and (found := _find_text(inner, keys, depth + 1)) is not None:
            return found
    return None


def _parts(value: Sequence[Any], keys: Sequence[str], depth: int) -> str | None:
    """The first of several replies, or the joined parts of one ([{"type": "text", "text": …}, …])."""
    if depth == 0 and value and isinstance(value, tuple):
        return _find_text(value[0], keys, 1)
    texts = [text for item in value if (text := _find_text(item, keys, depth + 1)) is not None]
    if not texts:
        return None
    is_one_message = all(_get(item, "type") is not None for item in value)
    return "".join(texts) if is_one_message else texts[0]


def _text(value: Any) -> str | None:
    return _find_text(value, ("content", "text", "parts"), 0)


def _get(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(key)
    try:
        found = getattr(value, key, None)
    except Exception:  # noqa: BLE001  # a property of the app's that raises is a property that is not there
        return None
    return None if callable(found) else found
