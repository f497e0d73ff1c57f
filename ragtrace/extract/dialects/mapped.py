"""A reader of the user's own making: which span does what, and under which attributes it says so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ragtrace.errors import ConfigError
from ragtrace.extract.documents import DocumentList, documents_in
from ragtrace.extract.messages import Message
from ragtrace.extract.shapes import answer_in, question_in
from ragtrace.extract.step import Facts, Field, Role, Step
from ragtrace.extract.values import decode, text_or_none
from ragtrace.model import LogRecord, SpanRecord

_MAX_DEPTH = 20
_CONTENT = ("question", "rewritten_question", "query", "documents", "prompt", "answer")


@dataclass(frozen=True, slots=True)
class SpanMapping:
    """What one kind of span holds. Values are attribute paths: an attribute's name, then ``/``-separated keys
    and list positions inside its JSON, for example ``app.result/hits`` or ``output/0/text``.

    A span is meant where its ``name`` matches (a regular expression, the whole name) and, if given, its
    ``scope`` does and it has the attribute ``has``. In documents, ``text``, ``id``, ``score``, ``distance``
    and ``metadata`` name the keys of one item where they are not the usual ones.
    """

    name: str = ".*"
    scope: str | None = None
    has: str | None = None
    question: str | None = None
    rewritten_question: str | None = None
    query: str | None = None
    documents: str | None = None
    text: str | None = None
    id: str | None = None
    score: str | None = None
    distance: str | None = None
    metadata: str | None = None
    prompt: str | None = None
    answer: str | None = None
    reference: str | None = None
    session: str | None = None
    user: str | None = None

    def matches(self, span: SpanRecord) -> bool:
        """Whether this says how to read ``span``."""
        return (
            (self.has is None or self.has in span.attributes)
            and (self.scope is None or re.fullmatch(self.scope, span.scope) is not None)
            and re.fullmatch(self.name, span.name) is not None
        )


@dataclass(frozen=True, slots=True)
class AttributeMapping:
    """A user's own dialect, tried before all others: the first of each role that matches a span reads it.

    YAML::

        interaction: {name: "POST /ask", question: app.request/question, answer: app.response/answer}
        retrieval: {name: search, query: app.query, documents: app.hits, text: body, id: key, score: sim}
        rerank: {name: rerank, documents: app.hits}
        generation: {name: "llm.*", prompt: app.prompt, answer: app.completion}
    """

    interaction: SpanMapping | None = None
    retrieval: SpanMapping | None = None
    rerank: SpanMapping | None = None
    generation: SpanMapping | None = None
    name: str = field(default="mapping", init=False)

    @property
    def attribute_names(self) -> frozenset[str]:
        """The attributes that hold what was asked, found and said: a span without any is not meant."""
        paths = (path for how in self._spans() for path in (getattr(how, key) for key in _CONTENT) if path)
        return frozenset(name for path in paths for name in (path, path.partition("/")[0]))

    def role_of(self, span: SpanRecord) -> Role | None:
        """What the user says that ``span`` does; ``None`` where nothing is said of it."""
        chosen = self._chosen(span)
        return None if chosen is None else chosen[0]

    @classmethod
    def from_dict(cls, document: Any) -> AttributeMapping:
        """A mapping from what a YAML or JSON file holds.

        Raises:
            ConfigError: it is no mapping, or a key is unknown or of the wrong type; the path names it.
        """
        if not isinstance(document, dict):
            raise ConfigError("expected an object", "mapping")
        known = [f.name for f in fields(cls) if f.init]
        for key in document:
            if key not in known:
                raise ConfigError(f"unknown key; known are {', '.join(known)}", f"mapping.{key}")
        return cls(**{key: _span_mapping(value, f"mapping.{key}") for key, value in document.items()})

    def claims(self, span: SpanRecord) -> bool:
        """Whether the user said how to read ``span``."""
        return self._chosen(span) is not None

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        del logs
        chosen = self._chosen(span)
        if chosen is None:
            return Step(span, self.name, Role.OTHER)
        role, how = chosen
        a = span.attributes
        answer = _answer(a, how.answer)
        return Step(
            span=span,
            dialect=self.name,
            role=role,
            input=_field(a, how.question),
            output=_field(a, how.answer),
            query=_question(a, how.query or how.question),
            documents=_documents(a, how) if role in (Role.RETRIEVAL, Role.RERANK) else None,
            used=_documents(a, how) if role is Role.INTERACTION else None,
            prompt=_messages("user", _question(a, how.prompt)) if role is Role.GENERATION else (),
            reply=_messages("assistant", answer) if role is Role.GENERATION else (),
            session=_text(a, how.session),
            user=_text(a, how.user),
            keys={
                "query": how.query or how.question or "",
                "documents": how.documents or "",
                "prompt": how.prompt or "",
                "reply": how.answer or "",
            },
            facts=Facts(
                question=_question(a, how.question) if role is Role.INTERACTION else None,
                rewritten_question=_question(a, how.rewritten_question),
                answer=answer if role is Role.INTERACTION else None,
                reference=_text(a, how.reference),
                keys={"question": how.question or "", "answer": how.answer or ""},
            ),
        )

    def _spans(self) -> list[SpanMapping]:
        every = (self.interaction, self.retrieval, self.rerank, self.generation)
        return [how for how in every if how is not None]

    def _chosen(self, span: SpanRecord) -> tuple[Role, SpanMapping] | None:
        for role in (Role.INTERACTION, Role.RETRIEVAL, Role.RERANK, Role.GENERATION):
            how: SpanMapping | None = getattr(self, role.value)
            if how is not None and how.matches(span):
                return role, how
        return None


def _span_mapping(value: Any, path: str) -> SpanMapping:
    if not isinstance(value, dict):
        raise ConfigError("expected an object", path)
    known = [f.name for f in fields(SpanMapping)]
    for key, text in value.items():
        if key not in known:
            raise ConfigError(f"unknown key; known are {', '.join(known)}", f"{path}.{key}")
        if not isinstance(text, str):
            raise ConfigError("expected text", f"{path}.{key}")
        if key in ("name", "scope"):
            _check_pattern(text, f"{path}.{key}")
    return SpanMapping(**value)


def _check_pattern(pattern: str, path: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"no regular expression: {error}", path) from error


# --- reading by path --------------------------------------------------------------------------------------


def at_path(attributes: Mapping[str, Any], path: str | None) -> Any:
    """The decoded value at ``attribute/key/0/…``; ``None`` where there is none."""
    if path is None:
        return None
    if path in attributes:
        return decode(attributes[path]).value
    name, *keys = path.split("/")
    value = decode(attributes.get(name)).value
    for key in keys[:_MAX_DEPTH]:
        value = _inside(decode(value).value, key)
    return decode(value).value


def _inside(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, list) and key.lstrip("-").isdigit() and -len(value) <= int(key) < len(value):
        return value[int(key)]
    return None


def _field(attributes: Mapping[str, Any], path: str | None) -> Field | None:
    value = at_path(attributes, path)
    return None if value is None or path is None else Field(path, value)


def _text(attributes: Mapping[str, Any], path: str | None) -> str | None:
    return text_or_none(at_path(attributes, path))


def _question(attributes: Mapping[str, Any], path: str | None) -> str | None:
    return question_in(at_path(attributes, path))


def _answer(attributes: Mapping[str, Any], path: str | None) -> str | None:
    return answer_in(at_path(attributes, path))


def _messages(speaker: Any, text: str | None) -> tuple[Message, ...]:
    return () if text is None else (Message(speaker, text),)


def _documents(attributes: Mapping[str, Any], how: SpanMapping) -> DocumentList | None:
    value = at_path(attributes, how.documents)
    renamed = {mine: theirs for mine in _ITEM_KEYS if (theirs := getattr(how, mine)) is not None}
    if isinstance(value, list) and renamed:
        value = [_renamed(item, renamed) for item in value]
    return None if value is None else documents_in(value)


_ITEM_KEYS = ("text", "id", "score", "distance", "metadata")


def _renamed(item: Any, renamed: Mapping[str, str]) -> Any:
    item = decode(item).value
    if not isinstance(item, dict):
        return item
    return {mine: found for mine, theirs in renamed.items() if (found := at_path(item, theirs)) is not None}
