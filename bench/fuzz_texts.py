"""Fuzzed: spans as the dialects' readers get them, answers with citations, and judges' replies."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from captures import OWN, load
from fuzz_requests import captured_bodies

from ragtrace.errors import MalformedOtlp
from ragtrace.extract import explain, interactions
from ragtrace.judges._chat.completion import read_completion
from ragtrace.judges._chat.confidence import claim_confidences
from ragtrace.judges._chat.entries import Item, Shown, Task
from ragtrace.judges._chat.reading import read_findings, read_questions
from ragtrace.model import GivenCitation, RetrievedDocument, SpanRecord
from ragtrace.text import abstain, citations, segment
from ragtrace_collector import otlp

_CAPTURES = [
    load(path)[0]
    for path in sorted(OWN.glob("*__*.json"))
    if path.name.count(".") < 4 and ".exp" not in path.name
]
KEYS = sorted({key for spans in _CAPTURES for span in spans for key in span.attributes})
_SCOPES = sorted({span.scope for spans in _CAPTURES for span in spans})
_SPAN, _PAIR = b"\xfe", b"\xff"
"""Neither comes up in UTF-8, so they may stand between spans and between attributes."""


def extractors(data: bytes) -> None:
    """Half of the inputs are encoded requests, half a list of spans that is easily changed."""
    if data[:1] == b"\0":
        try:
            spans = otlp.read_spans(data[1:])
        except MalformedOtlp:
            return
    else:
        spans = [_span(number, part) for number, part in enumerate(data[1:].split(_SPAN)[:16])]
    for stitch in (False, True):
        for one in interactions(spans, stitch=stitch):
            explain(one)


def _span(number: int, part: bytes) -> SpanRecord:
    """Its first byte is the scope, the second the parent; then attributes: two bytes of key, a text."""
    head, *pairs = part.split(_PAIR)
    scope, parent = (head + b"\0\0")[:2]
    attributes: dict[str, Any] = {}
    for pair in pairs:
        key = KEYS[int.from_bytes(pair[:2], "big") % len(KEYS)]
        text = pair[2:].decode("utf-8", "replace")
        attributes[key] = text
        if text[:1] in "{[-0123456789tfn":
            with contextlib.suppress(ValueError, RecursionError):
                attributes[key] = json.loads(text) if pair[:1] >= b"\x80" else text
    return SpanRecord(
        trace_id="ab" * 16,
        span_id=f"{number + 1:016x}",
        parent_id=f"{parent:016x}" if parent else None,
        name="span",
        scope=_SCOPES[scope % len(_SCOPES)],
        attributes=attributes,
        start_ns=number,
        end_ns=number + 1,
    )


def extractor_seeds() -> Iterator[bytes]:
    for spans in _CAPTURES:
        ids = [span.span_id for span in spans]
        parts = []
        for span in spans[:16]:
            parent = ids.index(span.parent_id) + 1 if span.parent_id in ids else 0
            part = bytes([_SCOPES.index(span.scope), parent])
            for key, value in span.attributes.items():
                text = value if isinstance(value, str) else json.dumps(value, default=str)
                part += _PAIR + KEYS.index(key).to_bytes(2, "big") + text.encode("utf-8", "replace")
            parts.append(part)
        yield b"\1" + _SPAN.join(parts)
    for body in captured_bodies():
        if otlp.kind_of_protobuf(body) == "spans":
            yield b"\0" + body


# --- answers and replies ----------------------------------------------------------------------------------

_DOCUMENTS = tuple(
    RetrievedDocument(id_, rank, text, metadata={"title": title, "url": url})
    for rank, (id_, text, title, url) in enumerate(
        [
            ("kb-refunds", "Refunds take 3–5 business days.", "Refunds", "https://kb.example/refunds"),
            ("doc_2", "退款需要三到五个工作日。", "退款说明", "https://kb.example/zh?id=2"),
            ("7", "", "", ""),
        ],
        start=1,
    )
)
_GIVEN = (GivenCitation(1, 0, 9), GivenCitation("doc_2", 3, 2), GivenCitation(9))


def citation_parser(data: bytes) -> None:
    """The first byte chooses documents, given citations and the first number; the rest is the answer."""
    choice, answer = (data[0] if data else 0), data[1:].decode("utf-8", "replace")
    documents = (None, (), _DOCUMENTS[:1], _DOCUMENTS)[choice % 4]
    given = _GIVEN if choice & 4 else ()
    found = citations.parse(answer, documents, given, first=choice >> 3 & 1)
    citations.strip(answer, found)
    for unit in segment.units(answer, found):
        if not unit.text.strip() or not 0 <= unit.start < unit.end <= len(answer):
            raise AssertionError("a unit that is none")
    abstain.is_abstention(answer)


def citation_seeds() -> Iterator[bytes]:
    for text in (
        "Refunds take 3–5 days [1][2]. See [kb-refunds] and (Source: Refunds).",
        "退款需要三到五个工作日【1】，见（来源：退款说明）。详情①②³。",
        "A [1-3], b [1, 2], c [^1], d [[1]], e [citation:1], f <cite>1</cite>, g <ref>1</ref>【1†source】",
        "1. first (1)\n2. second (2)\n\n```py\nx[1]\n```\n[Refunds](https://kb.example/refunds)\n\n[1]: note",
        "Sources:\n[1] Refunds https://kb.example/refunds\n| a | b |\n|---|---|\n| 1 | 2 [1] |",
        "I could not find that in the documents. 抱歉，文档中没有相关信息。",
    ):
        for choice in (0, 3, 7, 11):
            yield bytes([choice]) + text.encode()


_TASKS = tuple(
    Task(
        call,
        "en",
        "How long do refunds take?",
        tuple(Shown(document.rank, document.text or "") for document in _DOCUMENTS),
        (Item(1, "Refunds take 3–5 days.", 1, (1, 2)), Item(2, "退款需要三到五个工作日", 2)),
        relevance_of=(1, 2, 3),
        extra=True,
    )
    for call in ("grounding", "reference")
)


def reply_parser(data: bytes) -> None:
    """The first byte chooses what was asked; the rest is what came back, from HTTP body to claims."""
    choice, text = (data[0] if data else 0), data[1:].decode("utf-8", "replace")
    if choice & 1:
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(body, dict):
            completion = read_completion(body)
            claim_confidences(completion.text, completion.tokens)
            text = completion.text
    read_findings(text, _TASKS[choice >> 1 & 1])
    read_questions(text, 3)


def reply_seeds() -> Iterator[bytes]:
    claims = {
        "claims": [
            {
                "unit": 1,
                "claim": "Refunds take 3–5 days",
                "verdict": "SUPPORTED",
                "documents": [1],
                "quote": "3–5",
            },
            {
                "unit": "2",
                "claim": "x",
                "verdict": "not found",
                "pairs": [{"document": 1, "verdict": "SUPPORTED"}],
            },
        ],
        "relevance": [{"document": 1, "helps": True}, {"document": 2, "helps": "no"}],
        "needs": [{"need": "how long", "covered": True, "answered": False}],
        "extra": ["x"],
    }
    keyed = {
        "claims": {"1": {"verdict": "SUPPORTED"}, "2": [{"verdict": "NO_CLAIM"}]},
        "relevance": {"1": True},
    }
    texts = [json.dumps(claims), json.dumps(keyed), json.dumps({"questions": ["a?", "b?"], "evasive": False})]
    texts += [f"<think>{{}}</think>```json\n{text}\n```" for text in texts] + [text[:-20] for text in texts]
    for text in texts:
        yield b"\0" + text.encode()
        yield b"\2" + text.encode()
        token = {"token": text, "logprob": -0.1, "top_logprobs": [{"token": "S", "logprob": -1}]}
        choice = {"message": {"content": text}, "logprobs": {"content": [token]}}
        yield b"\1" + json.dumps({"choices": [choice], "usage": {"prompt_tokens": 3}}).encode()
