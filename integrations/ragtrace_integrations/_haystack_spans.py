"""What Haystack's operations are, and what their spans say.

Components have any name and any class, so what one is shows in its sockets: what gives ``replies`` is a
model, what takes a query and gives documents a retriever. What takes documents and gives some of them in
another order is a rerank; what makes new ones of them (a splitter, a cleaner) belongs to indexing and is
nothing to us.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from haystack import Document
from haystack.dataclasses import ChatMessage, ChatRole

from ragtrace import semconv as names
from ragtrace.documents import read_documents
from ragtrace.spans import Content
from ragtrace_integrations._flow import content_of, found, read_lists
from ragtrace_integrations._nouns import End, Role, Run

PIPELINE, COMPONENT, AGENT = "haystack.pipeline.run", "haystack.component.run", "haystack.agent.run"
_ROLES = {
    PIPELINE: Role.NODE,
    AGENT: Role.NODE,
    "haystack.chat_generator.run": Role.MODEL,
    "haystack.agent.step.llm": Role.MODEL,
    "haystack.agent.step.tool": Role.TOOL,
}
_QUERIES = frozenset({"query", "query_embedding", "query_sparse_embedding", "queries"})
_QUESTION_NAMES = ("question", "query", "user_query", "user_question", "messages", "text", "prompt", "input")


def role_of(operation: str, tags: Mapping[str, Any]) -> Role:
    """What an operation is to us."""
    if operation != COMPONENT:
        return _ROLES.get(operation, Role.FORMAT)
    takes, gives = (tags.get(f"haystack.component.{side}_spec") or {} for side in ("input", "output"))
    if "replies" in gives:
        return Role.MODEL
    if "documents" in gives and "documents" not in takes and not _QUERIES.isdisjoint(takes):
        return Role.RETRIEVER
    return Role.PLUMBING


def name_of(operation: str, tags: Mapping[str, Any]) -> str:
    """What a span is called: the component's or tool's own name, else the operation."""
    return str(tags.get("haystack.component.name") or tags.get("haystack.tool.name") or operation)


class HaystackTranslator:
    """Reads Haystack's operations."""

    framework = "haystack"

    def content(self, run: Run, end: End) -> Content | None:
        """What the span of ``run`` says."""
        role = run.start.role
        given = end.given if isinstance(end.given, Mapping) else {}
        taken = end.taken if isinstance(end.taken, Mapping) else {}
        if role is Role.MODEL:
            return _model(given, taken, end)
        if role is Role.RETRIEVER:
            documents = read_documents(taken["documents"]) if "documents" in taken else None
            question = question_of(given) or _question_above(run)
            return Content(kind=names.KIND_RETRIEVAL, question=question, documents=documents, partial=end.cut)
        if role is Role.TOOL:
            return _tool(given, end)
        if role in (Role.ROOT, Role.NODE):
            return _root(run, given, taken, end)
        return _rerank(run, given, taken) if role is Role.PLUMBING and run.tree.is_rag else None

    def documents(self, value: object) -> Iterable[object]:
        """The documents in a component's output."""
        return [value["documents"]] if isinstance(value, Mapping) and "documents" in value else []


def question_of(given: Mapping[str, Any]) -> str | None:
    """The question in the input of a component, or of a pipeline (component → its input)."""
    parts = [given, *(value for value in given.values() if isinstance(value, Mapping))]
    parts += [p["template_variables"] for p in parts if isinstance(p.get("template_variables"), Mapping)]
    asked = (_asked(part.get(name)) for name in _QUESTION_NAMES for part in parts)
    return next((question for question in asked if question is not None), None)


def answer_of(taken: Mapping[str, Any]) -> str | None:
    """The answer in the output of a pipeline (component → its output), a component or an agent."""
    parts = [taken, *(value for value in taken.values() if isinstance(value, Mapping))]
    for name in ("answers", "last_message", "replies", "answer"):
        for part in parts:
            if (said := _said(part.get(name))) is not None:
                return said
    texts = [value for part in parts for value in part.values() if isinstance(value, str) and value]
    return texts[0] if len(texts) == 1 else None


def _asked(value: object) -> str | None:
    if isinstance(value, list) and value and all(isinstance(item, ChatMessage) for item in value):
        return next((m.text for m in reversed(value) if m.is_from(ChatRole.USER) and m.text), None)
    return value if isinstance(value, str) and value else None


def _said(value: object) -> str | None:
    """The text of a reply: a string, a message, a generated answer, or the first of a list of them."""
    if isinstance(value, list):
        return _said(value[0]) if value else None
    if isinstance(value, ChatMessage):
        return value.text or None
    value = getattr(value, "data", value)
    return value if isinstance(value, str) and value else None


def _model(given: Mapping[str, Any], taken: Mapping[str, Any], end: End) -> Content:
    about = _about(taken)
    usage = about.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    model = about.get("model")
    return Content(
        kind=names.KIND_GENERATION,
        prompt=tuple(_prompt(given)),
        answer=_said(taken.get("replies")),
        partial=end.cut,
        model=model if isinstance(model, str) else None,
        input_tokens=_count(usage, "prompt_tokens", "input_tokens"),
        output_tokens=_count(usage, "completion_tokens", "output_tokens"),
    )


def _prompt(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    messages = given.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, ChatMessage):
            results: Sequence[Any] = message.tool_call_results
            yield message.role.value, message.text or "".join(str(r.result) for r in results)
    if isinstance(prompt := given.get("prompt"), str):
        yield "user", prompt


def _about(taken: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a model says of its reply: with the message, or in a list beside it."""
    replies, beside = taken.get("replies"), taken.get("meta")
    if isinstance(replies, list) and replies and isinstance(replies[0], ChatMessage):
        return replies[0].meta
    return beside[0] if isinstance(beside, list) and beside and isinstance(beside[0], Mapping) else {}


def _count(usage: Mapping[str, Any], *keys: str) -> int | None:
    return next((usage[key] for key in keys if isinstance(usage.get(key), int)), None)


def _tool(given: Mapping[str, Any], end: End) -> Content:
    """A tool of an agent; one that gives documents is a retrieval."""
    texts = [value for value in given.values() if isinstance(value, str)]
    question = question_of(given) or (texts[0] if len(texts) == 1 else None)
    listed = end.taken.get("documents") if isinstance(end.taken, Mapping) else end.taken
    if isinstance(listed, list) and listed and all(isinstance(item, Document) for item in listed):
        return Content(kind=names.KIND_RETRIEVAL, question=question, documents=read_documents(listed))
    return Content(oi_kind=names.OI_TOOL, question=question, answer=_said(end.taken), partial=end.cut)


def _root(run: Run, given: Mapping[str, Any], taken: Mapping[str, Any], end: End) -> Content:
    """A pipeline or agent: an interaction where it is a root and was asked something."""
    question = question_of(given)
    answers = run.start.role is Role.ROOT and run.tree.is_rag and not run.tree.within
    return Content(
        kind=names.KIND_INTERACTION if answers and question is not None else None,
        question=question,
        answer=answer_of(taken) or (run.tree.last_reply if taken else None),
        partial=end.cut,
    )


def _rerank(run: Run, given: Mapping[str, Any], taken: Mapping[str, Any]) -> Content | None:
    step = found(read_lists(_lists(given.get("documents"))), read_lists(_lists(taken.get("documents"))))
    if step is None or step.given is None:
        return None
    return content_of(step, question_of(given) or _question_above(run))


def _lists(value: object) -> list[object]:
    """The lists of documents in a socket's value: one list, or one from each sender."""
    if not isinstance(value, list):
        return []
    return value if value and all(isinstance(item, list) for item in value) else [value]


def _question_above(run: Run) -> str | None:
    """The question of the nearest pipeline above: an embedding retriever is given no text."""
    while run.parent is not None:
        run = run.parent
        if isinstance(run.start.given, Mapping) and (question := question_of(run.start.given)) is not None:
            return question
    return None
