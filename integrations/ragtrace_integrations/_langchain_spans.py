"""What the span of a LangChain run says, from what went in and what came out. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from ragtrace import _steps as steps
from ragtrace import semconv as names
from ragtrace.documents import read_documents
from ragtrace.serialize import to_json
from ragtrace.spans import Content
from ragtrace_integrations._flow import Documents, Found, content_of, found, read_lists
from ragtrace_integrations._langchain_content import (
    HISTORY_KEYS,
    answer_of,
    fields_of,
    history_of,
    question_of,
)
from ragtrace_integrations._langchain_documents import documents_in
from ragtrace_integrations._langchain_model import Reply, model_of, prompt_of, reply_of
from ragtrace_integrations._nouns import End, Role, Run, Start, Tree


class LangChainTranslator:
    """Reads LangChain's and LangGraph's runs."""

    framework = "langchain"

    def content(self, run: Run, end: End) -> Content | None:
        """What the span of ``run`` says."""
        role = run.start.role
        _note(run, end)
        if role is Role.MODEL:
            return model_content(run.start, end)
        if role is Role.RETRIEVER:
            return retriever_content(end, run.known)
        is_step = role is not Role.ROOT or (isinstance(end.taken, list) and not run.tree.is_rag)
        if is_step and (step := _step(run, end)) is not None:
            return content_of(step, question_of(end.given) or _question_above(run))
        if role is Role.ROOT:
            return replace(root_content(end, run.tree), documents=_handed_over(run, end))
        if role is Role.TOOL:
            return tool_content(end)
        return Content(partial=end.cut) if role is Role.NODE else None

    def documents(self, value: object) -> Iterable[object]:
        """The document lists in an output."""
        return documents_in(value)


def _note(run: Run, end: End) -> None:
    """Keep what a run was given for the root, which may not know it: LangChain looks both up inside."""
    tree, metadata = run.tree, run.start.metadata
    tree.session = tree.session or _metadata_text(metadata, "session_id", "thread_id", "conversation_id")
    tree.user = tree.user or _metadata_text(metadata, "user_id")
    named = fields_of(end.given) or {}
    if any(named.get(key) for key in HISTORY_KEYS) and (question := question_of(named)) is not None:
        tree.histories.setdefault(question, history_of(named))


def _step(run: Run, end: End) -> Found | None:
    """What a run that is no retriever did with documents."""
    after = [] if end.cut or end.error is not None else read_lists(documents_in(end.taken, empty=True))
    if not after:
        return None
    interaction = steps.interaction_in(run.context)
    told = [] if interaction is None else read_lists(documents_in(interaction.retrieved))
    return found([*run.known, *read_lists(documents_in(end.given))], after, told)


def _handed_over(run: Run, end: End) -> Documents | None:
    """The documents of a root in which nothing was retrieved: the app's, or those of a graph's state."""
    if run.known or (run.step is not None and run.step.retrieved is not None):
        return None
    lists = read_lists([*documents_in(end.given, empty=True), *documents_in(end.taken)])
    return lists[0] if lists else None


def _question_above(run: Run) -> str | None:
    """The question that the nearest run above was given: a step without one of its own works on that."""
    while run.parent is not None:
        run = run.parent
        if (question := question_of(run.start.given)) is not None:
            return question
    return None


def retriever_content(end: End, known: list[Documents]) -> Content:
    """A retriever; one that made its documents from those of retrievers inside it is a rerank."""
    question = question_of(end.given)
    documents = None if end.error is not None or end.cut else read_documents(end.taken)
    step = found(known, [documents]) if documents is not None else None
    if step is not None and step.given is not None:
        return content_of(step, question)
    return Content(kind=names.KIND_RETRIEVAL, question=question, documents=documents, partial=end.cut)


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


def root_content(end: End, tree: Tree) -> Content:
    """What the app called: an interaction, if there was a retrieval, model or tool in it."""
    broken = end.cut or end.error is not None
    answer = answer_of(end.taken)
    if answer is None:
        answer = tree.cut_reply if broken else _odd_answer(end.taken, tree.last_reply)
    question = question_of(end.given) or _question_in_state(end.taken)
    return Content(
        kind=names.KIND_INTERACTION if tree.is_rag and not tree.within else None,
        question=question,
        history=history_of(end.given, end.taken) or tree.histories.get(question or "", ()),
        answer=answer,
        partial=end.cut,
        session=tree.session,
        user=tree.user,
    )


def _question_in_state(taken: object) -> str | None:
    """The question that a graph's state still holds, where the graph was resumed and not asked anew."""
    named = fields_of(taken) or {}
    return question_of({key: named[key] for key in ("question", "query", "messages") if key in named})


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
