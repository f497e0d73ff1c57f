"""Texts and documents → attribute values: redacted, cut, valid UTF-8, within the span's limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ragtrace import semconv as names
from ragtrace.config import Settings
from ragtrace.documents import content_id
from ragtrace.model import IdSource, RetrievedDocument
from ragtrace.serialize import Json, clean, plain, to_json

MARGIN = 4_096
"""Characters behind the cut that redaction still sees, so that a secret on the edge is found whole."""
NESTED_TEXT_LIMIT = 1_000
"""Characters of one string in metadata that is too long as a whole."""
HASH_PREFIX = "sha256:"


class TextWriter:
    """Makes texts fit for one span, and remembers in ``cut`` which it had to cut."""

    def __init__(self, settings: Settings) -> None:
        self._redactor = settings.redactor
        self._limit = settings.text_limit
        self.value_limit = settings.value_limit
        self.captures = settings.capture_content
        self.cut: dict[str, int] = {}

    def __call__(self, key: str, text: str, limit: int | None = None) -> str:
        """``text`` as it is written under ``key``, at most ``limit`` characters of it."""
        if limit is None and self._redactor is None and (self._limit is None or len(text) <= self._limit):
            return text if text.isascii() else clean(text)
        fit = self._fit(text, self._limit if limit is None else limit)
        if fit is None:
            return self._safe(text)
        self.cut[key] = len(text)
        return fit

    def json(self, key: str, value: object) -> str:
        """JSON of ``value`` as it stands under ``key``; strings in it are cut if the whole is too long."""
        redact = self._redactor
        out = to_json(value) if redact is None else to_json(plain(value, self._safe))
        if self._limit is None or len(out) <= self._limit:
            return out
        self.cut[key] = len(out)
        short = to_json(plain(value, self.nested))
        return short if len(short) <= self._limit else to_json(f"<{len(out)} characters>")

    def nested(self, text: str) -> str:
        """A string inside a JSON value that is too long as a whole."""
        return self._fit(text, NESTED_TEXT_LIMIT) or self._safe(text)

    def _fit(self, text: str, limit: int | None) -> str | None:
        """``text`` cut to ``limit`` with the marker at its end; ``None`` where it need not be cut."""
        if limit is None or (self._redactor is None and len(text) <= limit):
            return None
        safe = self._safe(text[: limit + MARGIN])
        if len(safe) <= limit and len(text) <= limit + MARGIN:
            return None
        return safe[: max(0, limit - len(names.TRUNCATION_MARKER))] + names.TRUNCATION_MARKER

    def _safe(self, text: str) -> str:
        return clean(text) if self._redactor is None else self._redactor(clean(text))

    def content_id(self, document: RetrievedDocument) -> str:
        """The document's id; one that is a hash of its text follows what is written of the text."""
        if document.id_source != "content_hash":
            return document.id
        if not self.captures:
            return ""
        if self._redactor is None or document.text is None:
            return document.id
        return content_id(self._redactor(document.text))


def document_attributes(
    documents: Sequence[RetrievedDocument], flat: str, packed: str, text: TextWriter, room: int
) -> dict[str, Any]:
    """Documents as flat OpenInference keys under ``flat`` where ``room`` attributes hold them, else as JSON.

    The JSON form goes to ``packed``, also for a document that has no key at all and for an empty list: the
    flat form could not tell them from nothing recorded. Metadata are a key each where there is room for that,
    else one JSON list for all documents.
    """
    out: dict[str, Any] = {}
    each = len(documents) * len(_DOCUMENT_NAMES) <= room or _width(documents) <= room
    for index, document in enumerate(documents):
        before = len(out)
        _add_fields(out, document, _keys(flat, index), text, each)
        if len(out) == before or len(out) > room:
            return {packed: _packed(documents, flat, text)}
    if not out:
        return {packed: "[]"}
    if not each and text.captures and any(document.metadata for document in documents):
        key = _METADATA_KEY[packed]
        out[key] = text.json(key, [document.metadata for document in documents])
    return out


def _width(documents: Sequence[RetrievedDocument]) -> int:
    """How many flat keys the documents take, metadata included."""
    return sum(
        (document.id != "")
        + (document.text is not None)
        + (document.score is not None)
        + (document.distance is not None)
        + (document.rerank_score is not None)
        + bool(document.metadata)
        + (document.id_source != shown_source(document.id))
        for document in documents
    )


_METADATA_KEY = {
    names.DOCUMENTS: names.DOCUMENTS_METADATA,
    names.INPUT_DOCUMENTS: names.INPUT_DOCUMENTS_METADATA,
}


@lru_cache(maxsize=1_024)
def _keys(flat: str, index: int) -> tuple[str, ...]:
    return tuple(f"{flat}.{index}.{name}" for name in _DOCUMENT_NAMES)


_DOCUMENT_NAMES = (
    names.DOCUMENT_ID,
    names.DOCUMENT_CONTENT,
    names.DOCUMENT_SCORE,
    names.DOCUMENT_DISTANCE,
    names.DOCUMENT_RERANK_SCORE,
    names.DOCUMENT_ID_SOURCE,
    names.DOCUMENT_METADATA,
)


def _add_fields(
    out: dict[str, Any], document: RetrievedDocument, keys: tuple[str, ...], text: TextWriter, metadata: bool
) -> None:
    """Add the flat keys of one document, its ``metadata`` among them or not."""
    id_key, content_key, score_key, distance_key, rerank_key, source_key, metadata_key = keys
    is_given = document.id_source == "given"
    identity = document.id if is_given else text.content_id(document)
    if identity:
        out[id_key] = text(id_key, identity)
    if text.captures and document.text is not None:
        out[content_key] = text(content_key, document.text)
    if document.score is not None:
        out[score_key] = document.score
    if document.distance is not None:
        out[distance_key] = document.distance
    if document.rerank_score is not None:
        out[rerank_key] = document.rerank_score
    if identity and document.id_source != shown_source(identity):
        out[source_key] = document.id_source
    if metadata and document.metadata and text.captures:
        out[metadata_key] = text.json(metadata_key, document.metadata)


def shown_source(identity: str) -> IdSource:
    """What an id shows of where it comes from."""
    if not identity:
        return "none"
    return "content_hash" if identity.startswith(HASH_PREFIX) else "given"


def _packed(documents: Sequence[RetrievedDocument], flat: str, text: TextWriter) -> str:
    """The JSON form. Where the SDK limits values it gives way step by step and stays whole JSON."""
    limit = text.value_limit
    out = to_json([_packed_one(document, flat, i, text) for i, document in enumerate(documents)])
    if limit is None or len(out) <= limit:
        return out
    share = max(0, limit // len(documents) - 200)
    for length in (share, share // 4, 0):
        rows = [
            _packed_one(replace(document, metadata={}), flat, i, text, length)
            for i, document in enumerate(documents)
        ]
        if len(out := to_json(rows)) <= limit:
            break
    return out


def _packed_one(
    document: RetrievedDocument, flat: str, index: int, text: TextWriter, share: int | None = None
) -> Mapping[str, Json]:
    identity = text.content_id(document)
    out: dict[str, Json] = {"id": identity, "id_source": document.id_source if identity else "none"}
    if text.captures and document.text is not None:
        out["content"] = text(_keys(flat, index)[1], document.text, share)
    for name, number in (
        ("score", document.score),
        ("distance", document.distance),
        ("rerank_score", document.rerank_score),
    ):
        if number is not None:
            out[name] = number
    if text.captures and document.metadata:
        out["metadata"] = plain(document.metadata, text.nested)
    return out


MAX_MESSAGES = 12
"""Messages of a prompt that are written one by one; a longer prompt becomes one JSON attribute."""


def prompt_attributes(
    prompt: Sequence[tuple[str, str]], answer: str | None, text: TextWriter
) -> dict[str, Any]:
    """What a model was given and said, as OpenInference messages; nothing where the prompt is not known.

    A prompt of more than ``MAX_MESSAGES`` messages goes to ``gen_ai.input.messages`` as JSON, in the schema
    of the OpenTelemetry GenAI convention: flat keys would push the span's other attributes out.
    """
    if not prompt:
        return {}
    out: dict[str, Any] = {}
    if len(prompt) > MAX_MESSAGES:
        messages = [{"role": role, "parts": [{"type": "text", "content": said}]} for role, said in prompt]
        out[names.GEN_AI_INPUT_MESSAGES] = text.json(names.GEN_AI_INPUT_MESSAGES, messages)
    else:
        for index, (role, said) in enumerate(prompt):
            out |= _message(f"{names.LLM_INPUT_MESSAGES}.{index}", role, said, text)
    if answer is not None:
        out |= _message(f"{names.LLM_OUTPUT_MESSAGES}.0", "assistant", answer, text)
    return out


def _message(prefix: str, role: str, said: str, text: TextWriter) -> dict[str, Any]:
    key = f"{prefix}.{names.MESSAGE_CONTENT}"
    return {f"{prefix}.{names.MESSAGE_ROLE}": role, key: text(key, said)}
