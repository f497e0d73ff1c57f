"""Our own hooks: OpenInference keys, and ``ragtrace.*`` for what no convention has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ragtrace import semconv as sc
from ragtrace.extract.dialects.genai_messages import prompt_of
from ragtrace.extract.dialects.openinference import read_openinference
from ragtrace.extract.documents import DocumentList, documents_in, flattened
from ragtrace.extract.step import NO_FACTS, Facts, Role, Step
from ragtrace.extract.values import decode, text_or_none
from ragtrace.model import Feedback, GivenCitation, Language, LogRecord, SpanRecord, Turn

_ROLES: Mapping[str, Role] = {
    sc.KIND_INTERACTION: Role.INTERACTION,
    sc.KIND_RETRIEVAL: Role.RETRIEVAL,
    sc.KIND_RERANK: Role.RERANK,
    sc.KIND_GENERATION: Role.GENERATION,
}
_FACT_KEYS = {
    "question": sc.QUESTION,
    "rewritten_question": sc.REWRITTEN_QUESTION,
    "answer": sc.ANSWER,
    "history": sc.HISTORY,
    "reference": sc.REFERENCE,
    "gold": sc.GOLD,
    "citations": sc.CITATIONS,
    "feedback": sc.FEEDBACK,
}


class Native:
    """Reads spans of our hooks."""

    name = "ragtrace"

    def claims(self, span: SpanRecord) -> bool:
        """Whether our hooks wrote the span."""
        return sc.KIND in span.attributes or span.scope == sc.SCOPE

    def read(self, span: SpanRecord, logs: tuple[LogRecord, ...]) -> Step:
        """The span in shared words."""
        del logs
        a = span.attributes
        step = read_openinference(span, self.name)
        role = _ROLES.get(str(a.get(sc.KIND)), step.role)
        listed = _packed(a, sc.DOCUMENTS)
        documents = step.documents if listed is None else listed
        if documents is None and role is Role.INTERACTION:
            documents = flattened(a, sc.RETRIEVAL_DOCUMENTS)
        documents = _with_metadata(documents, a.get(sc.DOCUMENTS_METADATA))
        return replace(
            step,
            role=role,
            documents=documents if role in (Role.RETRIEVAL, Role.RERANK) else None,
            given=_packed(a, sc.INPUT_DOCUMENTS)
            or _with_metadata(step.given, a.get(sc.INPUT_DOCUMENTS_METADATA)),
            prompt=step.prompt if sc.GEN_AI_INPUT_MESSAGES not in a else prompt_of(a, span, ()),
            used=documents if role is Role.INTERACTION else None,
            keys={**step.keys, "documents": sc.DOCUMENTS} if listed is not None else step.keys,
            facts=_facts(a),
        )


def _packed(attributes: Mapping[str, Any], key: str) -> DocumentList | None:
    raw = attributes.get(key)
    if raw is None:
        return None
    decoded = decode(raw)
    return documents_in(decoded.value, cut=decoded.cut)


_FACTS = frozenset({*_FACT_KEYS.values(), sc.PARTIAL, sc.LANGUAGE, sc.APP, sc.TRUNCATED})


def _with_metadata(documents: DocumentList | None, raw: Any) -> DocumentList | None:
    """``documents`` with the metadata that our hooks list beside them."""
    listed = decode(raw).value if raw is not None else None
    if documents is None or not isinstance(listed, list) or len(listed) != len(documents.items):
        return documents
    pairs = zip(documents.items, listed, strict=True)
    items = (replace(item, metadata=one) if isinstance(one, Mapping) and one else item for item, one in pairs)
    return replace(documents, items=tuple(items))


def _facts(a: Mapping[str, Any]) -> Facts:
    if _FACTS.isdisjoint(a):
        return NO_FACTS
    return Facts(
        question=text_or_none(a.get(sc.QUESTION)),
        rewritten_question=text_or_none(a.get(sc.REWRITTEN_QUESTION)),
        answer=text_or_none(a.get(sc.ANSWER)),
        history=tuple(Turn(_text(row, "question"), _text(row, "answer")) for row in _rows(a, sc.HISTORY)),
        partial=a.get(sc.PARTIAL) is True,
        reference=text_or_none(a.get(sc.REFERENCE)),
        gold=_gold(a),
        citations=tuple(c for row in _rows(a, sc.CITATIONS) if (c := _citation(row)) is not None),
        feedback=tuple(f for row in _rows(a, sc.FEEDBACK) if (f := _feedback(row)) is not None),
        language=_language(a.get(sc.LANGUAGE)),
        app=text_or_none(a.get(sc.APP)),
        kept_ratio=_kept_ratio(a),
        keys={fact: key for fact, key in _FACT_KEYS.items() if key in a},
    )


def _rows(attributes: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    if key not in attributes:
        return []
    value = decode(attributes[key]).value
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _text(row: Mapping[str, Any], key: str) -> str | None:
    return text_or_none(row.get(key))


def _gold(attributes: Mapping[str, Any]) -> Mapping[str, float] | None:
    value = decode(attributes.get(sc.GOLD)).value
    if not isinstance(value, dict):
        return None
    return {str(k): float(v) for k, v in value.items() if isinstance(v, int | float)}


def _citation(row: Mapping[str, Any]) -> GivenCitation | None:
    document, start, end = row.get("document"), row.get("start"), row.get("end")
    if not isinstance(document, str | int):
        return None
    return GivenCitation(
        document, start if isinstance(start, int) else None, end if isinstance(end, int) else None
    )


def _feedback(row: Mapping[str, Any]) -> Feedback | None:
    name, value = row.get("name"), row.get("value")
    if not isinstance(name, str) or not isinstance(value, float | int | str | bool):
        return None
    return Feedback(name, value, _text(row, "comment"))


def _language(value: Any) -> Language | None:
    return value if value in ("en", "zh") else None


def _kept_ratio(attributes: Mapping[str, Any]) -> float:
    """From the list of attributes that our hooks cut, with their full lengths."""
    kept = full = 0
    for key, length in _cuts(attributes):
        value = attributes.get(key)
        if isinstance(length, int) and length > 0:
            kept += min(len(value), length) if isinstance(value, str) else 0
            full += length
    return kept / full if full else 1.0


def _cuts(attributes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    value = decode(attributes.get(sc.TRUNCATED)).value
    if isinstance(value, dict):
        return [(str(key), length) for key, length in value.items()]
    if not isinstance(value, list):
        return []
    pairs = [
        (r.get("key") or r.get("attribute"), r.get("length")) if isinstance(r, dict) else r for r in value
    ]
    return [(str(p[0]), p[1]) for p in pairs if isinstance(p, list | tuple) and len(p) == 2]
