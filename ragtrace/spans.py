"""The write side: what is known of one step of an interaction → attributes of an OpenTelemetry span.

:class:`Content` is filled while a span is open and written once, by :func:`write`, before it ends::

    content = Content(kind=KIND_RETRIEVAL, question="How long do refunds take?")
    content.documents = read_documents(whatever_the_retriever_returned)
    write(span, content)

What is written is OpenInference where it has a name (``input.value``, ``output.value``, ``session.id``,
``retrieval.documents.<i>.document.*`` …), ``gen_ai.*`` for a model call, and ``ragtrace.*`` for the rest.
Texts are redacted, cut and made valid UTF-8 here, in this order.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.trace.span import Span

from ragtrace import semconv as names
from ragtrace._attributes import TextWriter, document_attributes, prompt_attributes
from ragtrace.config import Settings, settings
from ragtrace.model import Feedback, GivenCitation, RetrievedDocument, Turn
from ragtrace.serialize import to_json

_log = logging.getLogger("ragtrace")


@dataclass(slots=True)
class Content:
    """What one span says. ``None`` and empty fields are not written, except ``documents=()``.

    ``kind`` is one of ``semconv.KIND_*`` or ``None`` for a step without a role; ``oi_kind`` is the
    OpenInference kind where it does not follow from that (a tool, an agent). ``input_documents`` is what a
    reranker was given. ``prompt`` is what a model was given, one ``(role, text)`` a message; ``input_tokens``
    and ``output_tokens`` are the model's own count. ``extra`` are attributes of the caller's own, written as
    they are.
    """

    kind: str | None = None
    oi_kind: str | None = None
    question: str | None = None
    rewritten_question: str | None = None
    history: Sequence[Turn] = ()
    input_documents: Sequence[RetrievedDocument] | None = None
    documents: Sequence[RetrievedDocument] | None = None
    answer: str | None = None
    partial: bool = False
    prompt: Sequence[tuple[str, str]] = ()
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    reference: str | None = None
    gold: Mapping[str, float] | None = None
    citations: Sequence[GivenCitation] = ()
    feedback: Sequence[Feedback] = ()
    session: str | None = None
    user: str | None = None
    app: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def write(span: Span, content: Content) -> None:
    """Put ``content`` on ``span``. Never raises; does nothing on a span that is not recording."""
    if not span.is_recording():
        return
    try:
        now = settings()
        listed = content.documents or content.input_documents
        span.set_attributes(attributes(content, now, room(span, now) if listed else 0))
    except Exception as error:  # noqa: BLE001  # a hook may not hurt the app; no content in the log
        _log.warning("span content was not written: %s", type(error).__name__)


def room(span: Span, now: Settings) -> int:
    """How many attributes the span can still take before the SDK drops its oldest one."""
    limits = getattr(span, "_limits", None)
    limit = getattr(limits, "max_span_attributes", None) if limits is not None else now.attribute_limit
    return 1 << 30 if limit is None else limit - len(getattr(span, "attributes", None) or ())


def attributes(content: Content, now: Settings, room: int) -> dict[str, Any]:
    """The attributes of ``content``, what matters most last: a full span loses its oldest ones.

    ``room`` is how many attributes the span can take; documents that need more are written as one.
    """
    text = TextWriter(now)
    out: dict[str, Any] = dict(content.extra)
    _write_documents(out, content, text, room - len(out) - _SCALARS)
    if now.capture_content:
        out.update(prompt_attributes(content.prompt, content.answer, text))
        _write_records(out, content, text)
    _write_identity(out, content, text)
    if now.capture_content:
        _write_texts(out, content, text)
    if text.cut:
        out[names.TRUNCATED] = to_json(text.cut)
    return out


_SCALARS = 20
"""Attributes that stand beside the documents, with some to spare for the app's own."""

_OI_KIND: Mapping[str | None, str] = {
    names.KIND_INTERACTION: names.OI_CHAIN,
    names.KIND_RETRIEVAL: names.OI_RETRIEVER,
    names.KIND_RERANK: names.OI_RERANKER,
    names.KIND_GENERATION: names.OI_LLM,
}


def _write_documents(out: dict[str, Any], content: Content, text: TextWriter, room: int) -> None:
    is_rerank = content.kind == names.KIND_RERANK
    if content.documents is not None:
        flat = names.RERANKER_OUTPUT_DOCUMENTS if is_rerank else names.RETRIEVAL_DOCUMENTS
        out.update(document_attributes(content.documents, flat, names.DOCUMENTS, text, room - len(out)))
    if content.input_documents is not None:
        flat = names.RERANKER_INPUT_DOCUMENTS
        out.update(
            document_attributes(content.input_documents, flat, names.INPUT_DOCUMENTS, text, room - len(out))
        )


def _write_records(out: dict[str, Any], content: Content, text: TextWriter) -> None:
    """The JSON attributes: lists that no convention has a name for."""
    if content.history:
        out[names.HISTORY] = text.json(
            names.HISTORY, [{"question": t.question, "answer": t.answer} for t in content.history]
        )
    if content.feedback:
        out[names.FEEDBACK] = text.json(
            names.FEEDBACK,
            [{"name": f.name, "value": f.value, "comment": f.comment} for f in content.feedback],
        )
    if content.citations:
        out[names.CITATIONS] = text.json(
            names.CITATIONS,
            [{"document": c.document, "start": c.start, "end": c.end} for c in content.citations],
        )


def _write_identity(out: dict[str, Any], content: Content, text: TextWriter) -> None:
    if content.gold is not None:
        out[names.GOLD] = text.json(names.GOLD, content.gold)
    if content.app is not None:
        out[names.APP] = text(names.APP, content.app)
    if content.user is not None:
        out[names.USER_ID] = text(names.USER_ID, content.user)
    if content.session is not None:
        out[names.SESSION_ID] = text(names.SESSION_ID, content.session)
    if content.model is not None:
        out[names.GEN_AI_OPERATION] = names.GEN_AI_CHAT
        out[names.GEN_AI_REQUEST_MODEL] = out[names.LLM_MODEL_NAME] = text(
            names.LLM_MODEL_NAME, content.model
        )
    if content.input_tokens is not None:
        out[names.GEN_AI_INPUT_TOKENS] = out[names.LLM_PROMPT_TOKENS] = content.input_tokens
    if content.output_tokens is not None:
        out[names.GEN_AI_OUTPUT_TOKENS] = out[names.LLM_COMPLETION_TOKENS] = content.output_tokens
    if content.partial:
        out[names.PARTIAL] = True
    out[names.OI_SPAN_KIND] = content.oi_kind or _OI_KIND.get(content.kind, names.OI_CHAIN)
    if content.kind == names.KIND_INTERACTION:  # the other kinds show in OpenInference's, a CHAIN may be any
        out[names.KIND] = content.kind


def _write_texts(out: dict[str, Any], content: Content, text: TextWriter) -> None:
    if content.reference is not None:
        out[names.REFERENCE] = text(names.REFERENCE, content.reference)
    if content.rewritten_question is not None:
        out[names.REWRITTEN_QUESTION] = text(names.REWRITTEN_QUESTION, content.rewritten_question)
    if content.answer is not None:
        out[names.OUTPUT_VALUE] = text(names.OUTPUT_VALUE, content.answer)
    if content.question is not None:
        out[names.INPUT_VALUE] = text(names.INPUT_VALUE, content.question)
        if content.kind == names.KIND_RERANK:
            out[names.RERANKER_QUERY] = out[names.INPUT_VALUE]
