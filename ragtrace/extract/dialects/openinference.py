"""OpenInference: LangChain, LlamaIndex, Haystack, OpenAI, OpenAI Agents, smolagents, and apps by hand.

``openinference.span.kind`` says what a span is; inputs and outputs are in ``input.value`` and
``output.value``, plain text or JSON; documents and messages are flattened into numbered keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragtrace import semconv as sc
from ragtrace.extract.documents import DocumentList, documents_in, flattened, may_hold_documents
from ragtrace.extract.known import completed
from ragtrace.extract.messages import Message, Speaker, read_messages
from ragtrace.extract.shapes import question_in
from ragtrace.extract.step import Field, Role, Step
from ragtrace.extract.values import decode, text_or_none
from ragtrace.model import LogRecord, SpanRecord

_ROLES: Mapping[str, Role] = {
    sc.OI_CHAIN: Role.CHAIN,
    sc.OI_AGENT: Role.AGENT,
    sc.OI_RETRIEVER: Role.RETRIEVAL,
    sc.OI_RERANKER: Role.RERANK,
    sc.OI_LLM: Role.GENERATION,
    sc.OI_TOOL: Role.TOOL,
    sc.OI_PROMPT: Role.PROMPT,
    sc.OI_EMBEDDING: Role.EMBEDDING,
    sc.OI_EVALUATOR: Role.EVALUATION,
    sc.OI_GUARDRAIL: Role.OTHER,
}
_SEARCHING = (Role.RETRIEVAL, Role.RERANK, Role.TOOL)
_MESSAGE = ".message."
_EMPTY_LISTS = ("[]", '{"documents": []}')


class OpenInference:
    """Reads spans that carry ``openinference.span.kind``, or flattened documents without it."""

    name = "openinference"

    def claims(self, span: SpanRecord) -> bool:
        """Whether the span is written in OpenInference."""
        return sc.OI_SPAN_KIND in span.attributes or span.scope.startswith("openinference.")

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        del logs
        return read_openinference(span, self.name)


def read_openinference(span: SpanRecord, dialect: str) -> Step:
    """A span with OpenInference keys, in shared words."""
    a = span.attributes
    role = _role(a)
    given, output = _field(a, sc.INPUT_VALUE), _field(a, sc.OUTPUT_VALUE)
    keys = {"documents": sc.RETRIEVAL_DOCUMENTS, "query": sc.INPUT_VALUE}
    documents: DocumentList | None = None
    prompt: tuple[Message, ...] = ()
    reply: tuple[Message, ...] = ()
    if role in _SEARCHING:
        documents, keys["documents"] = _documents(a, role, output)
    elif role is Role.GENERATION:
        prompt, keys["prompt"] = _prompt(a, given)
        reply, keys["reply"] = _reply(a, output)
    return Step(
        span=span,
        dialect=dialect,
        role=role,
        input=given,
        output=output,
        query=_query(a, role, given),
        documents=documents,
        given=flattened(a, sc.RERANKER_INPUT_DOCUMENTS) if role is Role.RERANK else None,
        prompt=prompt,
        reply=reply,
        variables=_variables(a),
        session=text_or_none(a.get(sc.SESSION_ID)),
        user=text_or_none(a.get(sc.USER_ID)),
        keys=keys,
    )


def _role(attributes: Mapping[str, Any]) -> Role:
    kind = attributes.get(sc.OI_SPAN_KIND)
    if isinstance(kind, str) and kind.upper() in _ROLES:
        return _ROLES[kind.upper()]
    documents = sc.RETRIEVAL_DOCUMENTS
    return Role.RETRIEVAL if any(key.startswith(documents) for key in attributes) else Role.OTHER


def _field(attributes: Mapping[str, Any], key: str) -> Field | None:
    """Text is written bare, so a question in quotation marks keeps them."""
    raw = attributes.get(key)
    return None if raw is None else Field(key, raw, quoted=False)


def _query(attributes: Mapping[str, Any], role: Role, given: Field | None) -> str | None:
    if role is Role.RERANK and (query := text_or_none(attributes.get(sc.RERANKER_QUERY))) is not None:
        return query
    if role in _SEARCHING and given is not None:
        return question_in(given.value)
    return None


def _documents(
    attributes: Mapping[str, Any], role: Role, output: Field | None
) -> tuple[DocumentList | None, str]:
    """Flattened documents, with what only the output knows of them; else the output's own list."""
    prefix = sc.RERANKER_OUTPUT_DOCUMENTS if role is Role.RERANK else sc.RETRIEVAL_DOCUMENTS
    flat = flattened(attributes, prefix)
    if flat is not None and flat.items and all(d.id_source == "given" for d in flat.items) and not flat.cut:
        return flat, prefix
    listed = _listed(output, strict=role is Role.TOOL)
    if flat is None or not flat.items:
        return (listed, sc.OUTPUT_VALUE) if listed is not None else (flat, prefix)
    if listed is None or flat.cut:
        return flat, prefix
    # LangChain's ids are in the output only.
    return DocumentList(completed(flat.items, listed.items), flat.cut, flat.total), prefix


def _listed(output: Field | None, strict: bool) -> DocumentList | None:
    if output is None or (not may_hold_documents(output.raw) and output.raw not in _EMPTY_LISTS):
        return None
    return documents_in(output.value, cut=output.decoded.cut, strict=strict)


# --- messages ---------------------------------------------------------------------------------------------


def _prompt(attributes: Mapping[str, Any], given: Field | None) -> tuple[tuple[Message, ...], str]:
    messages = _flat_messages(attributes, sc.LLM_INPUT_MESSAGES)
    if messages or given is None:
        return messages, sc.LLM_INPUT_MESSAGES
    return read_messages(given.value) or _bare(given, "user"), given.key


def _reply(attributes: Mapping[str, Any], output: Field | None) -> tuple[tuple[Message, ...], str]:
    messages = _flat_messages(attributes, sc.LLM_OUTPUT_MESSAGES)
    if output is None or any(message.text is not None or message.calls for message in messages):
        return messages, sc.LLM_OUTPUT_MESSAGES
    return read_messages(output.value, "assistant") or _bare(output, "assistant"), output.key


def _bare(field: Field, speaker: Speaker) -> tuple[Message, ...]:
    text = text_or_none(field.value)
    return () if text is None else (Message(speaker, text),)


def _flat_messages(attributes: Mapping[str, Any], prefix: str) -> tuple[Message, ...]:
    """``<prefix>.<i>.message.role|content|contents.<j>.…|tool_calls.…`` → messages in the order of ``i``."""
    start = prefix + "."
    rows: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        if key.startswith(start):
            index, _, field = key[len(start) :].partition(_MESSAGE)
            if index.isdigit() and field:
                _put(rows.setdefault(int(index), {}), field, value)
    return tuple(m for index in sorted(rows) for m in read_messages(_row(rows[index]), "assistant"))


def _put(row: dict[str, Any], field: str, value: Any) -> None:
    if field.startswith("contents."):
        if field.endswith("message_content.text"):
            row.setdefault("parts", []).append({"type": "text", "text": value})
    elif field.startswith("tool_calls."):
        row["tool_calls"] = True
    else:
        row[field] = value


def _row(row: dict[str, Any]) -> dict[str, Any]:
    row.setdefault("role", "assistant")
    if row.get("content"):
        row.pop("parts", None)
    return row


def _variables(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    raw = attributes.get(sc.LLM_PROMPT_TEMPLATE_VARIABLES)
    if raw is None:
        return {}
    value = decode(raw).value
    return value if isinstance(value, dict) else {}
