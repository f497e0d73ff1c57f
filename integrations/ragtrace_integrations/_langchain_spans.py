"""What the span of a LangChain run says, from what went in and what came out. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any

from opentelemetry.trace import Span
from pydantic import BaseModel

from ragtrace import semconv as names
from ragtrace.documents import read_documents
from ragtrace.serialize import to_json
from ragtrace.spans import Content
from ragtrace_integrations._langchain_content import answer_of, fields_of, history_of, question_of
from ragtrace_integrations._langchain_documents import Documents, Step, documents_in, step
from ragtrace_integrations._langchain_model import Reply, model_of, prompt_of, reply_of


class Role(Enum):
    """What a run is to us."""

    ROOT = "root"
    """A chain, graph or agent that no known run called."""
    NODE = "node"
    RETRIEVER = "retriever"
    MODEL = "model"
    TOOL = "tool"
    PLUMBING = "plumbing"
    """A lambda, sequence, parallel: no span, unless its documents show that it was a step of its own."""
    FORMAT = "format"
    """A prompt or an output parser: never a span, not even alone."""


@dataclass(frozen=True, slots=True)
class Start:
    """What LangChain says of a run when it starts; ``given`` is its input, a model's are its prompts."""

    role: Role
    name: str
    given: object = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended; ``given`` is its input as known now, ``taken`` its output.

    ``streamed`` is what a model had said so far. ``cut`` says that the run was not left to finish: its stream
    was abandoned, its task cancelled, or an ancestor ended first.
    """

    given: object = None
    taken: object = None
    streamed: str = ""
    error: BaseException | None = None
    cut: bool = False


@dataclass(slots=True)
class Tree:
    """What the runs below one root have shown so far.

    ``silent``: nothing of it is recorded. ``outside`` is the span that was current where it began, ``within``
    says that an interaction was. ``parts`` counts the steps that runs below the root became.
    """

    silent: bool
    outside: Span
    within: bool = False
    parts: int = 0
    is_rag: bool = False
    last_reply: str | None = None
    cut_reply: str | None = None


def completed(content: Content, recorded: Content) -> Content:
    """``content`` with what the app's own ``record_*`` calls said of the same step, which outranks it."""
    said = {f.name: getattr(recorded, f.name) for f in fields(Content)}
    if recorded.documents is None:
        del said["documents"]
    return replace(content, **{name: value for name, value in said.items() if value or name == "documents"})


def retriever_content(end: End, known: list[Documents]) -> Content:
    """A retriever; one that made its documents from those of retrievers inside it is a rerank."""
    made = step(known, None, end.taken)
    if made is not None and made.given is not None:
        return step_content(made, question_of(end.given))
    documents = None if end.error is not None or end.cut else read_documents(end.taken)
    return Content(
        kind=names.KIND_RETRIEVAL, question=question_of(end.given), documents=documents, partial=end.cut
    )


def step_content(made: Step, question: str | None) -> Content:
    """A step that found documents, or made them from others, by the reranker's scores where it gave some."""
    documents = read_documents(made.documents)
    if made.given is None:
        return Content(kind=names.KIND_RETRIEVAL, question=question, documents=documents)
    ranked = [d if d.rerank_score is None else replace(d, score=d.rerank_score) for d in documents or ()]
    given = read_documents(made.given)
    return Content(kind=names.KIND_RERANK, question=question, documents=ranked, input_documents=given)


def tool_content(end: End) -> Content:
    """A tool that gave no documents."""
    return Content(
        oi_kind=names.OI_TOOL,
        question=question_of(end.given),
        answer=answer_of(getattr(end.taken, "content", end.taken)),
        partial=end.cut,
    )


def model_content(start: Start, end: End) -> Content:
    """A call of a chat or completion model. What had come of a reply that broke off is its answer."""
    reply = reply_of(end.taken)
    broken = end.cut or end.error is not None
    text = (end.streamed or reply.text) if broken else (reply.text or end.streamed)
    return Content(
        kind=names.KIND_GENERATION,
        prompt=prompt_of(end.given),
        answer=text or None,
        partial=end.cut,
        model=model_of(start.metadata, start.parameters) or reply.model,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        extra=_model_extra(start.metadata, reply),
    )


def root_content(start: Start, end: End, tree: Tree) -> Content:
    """What the app called: an interaction, if there was a retrieval, model or tool in it."""
    broken = end.cut or end.error is not None
    answer = answer_of(end.taken)
    if answer is None:
        answer = tree.cut_reply if broken else _odd_answer(end.taken, tree.last_reply)
    return Content(
        kind=names.KIND_INTERACTION if tree.is_rag and not tree.within else None,
        question=question_of(end.given),
        history=history_of(end.given, end.taken),
        answer=answer,
        partial=end.cut,
        session=_metadata_text(start.metadata, "session_id", "thread_id", "conversation_id"),
        user=_metadata_text(start.metadata, "user_id"),
    )


def _odd_answer(taken: object, last_reply: str | None) -> str | None:
    """The answer under a name of the app's own: what the model said last, or a structured answer as JSON."""
    if isinstance(taken, BaseModel) and not any(True for _ in documents_in(taken, empty=True)):
        return to_json(taken)
    named = fields_of(taken)
    if named is None or last_reply is None:
        return None
    return last_reply if last_reply in named.values() or _as_json(last_reply) == named else None


def _as_json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _metadata_text(metadata: Mapping[str, Any], *keys: str) -> str | None:
    return next((str(metadata[key]) for key in keys if metadata.get(key) not in (None, "")), None)


def _model_extra(metadata: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    extra = {names.GEN_AI_PROVIDER: metadata.get("ls_provider"), names.GEN_AI_RESPONSE_MODEL: reply.model}
    return {key: value for key, value in extra.items() if isinstance(value, str)}
