"""What is written on a span, and that it reads back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from opentelemetry.sdk.trace import SpanLimits, TracerProvider

from ragtrace import config
from ragtrace import semconv as names
from ragtrace._attributes import TextWriter, document_attributes
from ragtrace.extract import interactions
from ragtrace.model import GivenCitation, RetrievedDocument, SpanRecord, Turn
from ragtrace.redact import Redactor
from ragtrace.spans import Content, attributes, write

DEFAULTS = config.resolve({})
DOCUMENTS = (
    RetrievedDocument("a", 1, "甲 text", "given", 0.75, metadata={"source": "a.md", "页": 1}),
    RetrievedDocument("sha256:0123456789abcdef", 2, "乙", "content_hash", distance=0.25),
    RetrievedDocument("m", 3, "丙", "metadata", 0.5, rerank_score=0.5),
    RetrievedDocument("only-an-id", 4),
)


def record(content: Content, settings: config.Settings = DEFAULTS, room: int = 128) -> SpanRecord:
    return SpanRecord(
        "t" * 32, "s" * 16, None, "x", scope=names.SCOPE, attributes=attributes(content, settings, room)
    )


def retrieval(documents: Any, **changes: Any) -> SpanRecord:
    room = changes.pop("room", 128)
    settings = config.resolve({}, **changes)
    return record(Content(kind=names.KIND_RETRIEVAL, question="q", documents=documents), settings, room)


@pytest.mark.parametrize("room", [128, 0])
def test_documents_read_back_as_they_were_in_both_forms(room: int) -> None:
    """Flat keys where they fit, one JSON attribute where not: the same documents."""
    (read,) = interactions((retrieval(DOCUMENTS, room=room),))
    assert read.documents == DOCUMENTS


def test_an_empty_result_reads_back_as_empty() -> None:
    """Not as nothing recorded."""
    (read,) = interactions((retrieval(()),))
    assert read.documents == ()


def test_an_interaction_reads_back_as_it_was() -> None:
    """Every field that a hook can record."""
    content = Content(
        kind=names.KIND_INTERACTION,
        question="那他呢？",
        rewritten_question="马斯克何时离开？",
        history=(Turn("谁创办了 OpenAI？", "马斯克等人。"),),
        documents=DOCUMENTS[:1],
        answer="2018 年[1]。",
        reference="2018 年 2 月",
        gold={"a": 2.0},
        citations=(GivenCitation("a", 0, 6),),
        session="s",
        user="u",
        partial=True,
    )
    (read,) = interactions((record(content),))
    for field in ("question", "rewritten_question", "history", "documents", "answer", "reference", "gold"):
        assert getattr(read, field) == getattr(content, field)
    assert (read.citations, read.session, read.user, read.partial) == (content.citations, "s", "u", True)


def test_many_documents_fit_the_sdks_attribute_limit() -> None:
    """The SDK drops the oldest attribute past 128: nothing of ours is dropped."""
    span = TracerProvider().get_tracer("x").start_span("x")
    span.set_attributes({f"app.{i}": i for i in range(90)})
    many = [RetrievedDocument(str(i), i, "text", score=0.5) for i in range(1, 41)]
    write(span, Content(kind=names.KIND_RETRIEVAL, question="q", documents=many))
    assert span.dropped_attributes == 0
    assert len(json.loads(span.attributes[names.DOCUMENTS])) == 40


def test_the_spans_own_limits_are_read() -> None:
    """A provider with a small limit gets the packed form."""
    provider = TracerProvider(span_limits=SpanLimits(max_span_attributes=30))
    span = provider.get_tracer("x").start_span("x")
    write(span, Content(kind=names.KIND_RETRIEVAL, question="q", documents=DOCUMENTS * 3))
    assert span.dropped_attributes == 0
    assert names.DOCUMENTS in span.attributes


def test_long_texts_are_cut_on_a_character_and_listed() -> None:
    """The list says how long they were."""
    a = attributes(Content(question="问" * 500, answer="短"), config.resolve({}, max_text_length=100), 128)
    assert a[names.INPUT_VALUE] == "问" * (100 - len(names.TRUNCATION_MARKER)) + names.TRUNCATION_MARKER
    assert a[names.OUTPUT_VALUE] == "短"
    assert json.loads(a[names.TRUNCATED]) == {names.INPUT_VALUE: 500}


def test_the_sdks_length_limit_never_breaks_json() -> None:
    """Where the SDK would cut a value in the middle, texts are cut before."""
    settings = config.resolve({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "4000"})
    many = [RetrievedDocument(str(i), i, "x" * 900, metadata={"m": "y" * 900}) for i in range(1, 11)]
    a = attributes(Content(kind=names.KIND_RETRIEVAL, documents=many), settings, 0)
    assert len(a[names.DOCUMENTS]) <= 4000
    assert [row["id"] for row in json.loads(a[names.DOCUMENTS])] == [str(i) for i in range(1, 11)]


def test_metadata_are_a_key_each_while_there_is_room() -> None:
    """As OpenInference has it; then one list for all, then documents and all in one attribute."""
    settings = config.resolve({})
    documents = [
        RetrievedDocument(f"d{i}", i, "text", score=0.5, metadata={"page": i} if i > 1 else {})
        for i in (1, 2, 3)
    ]

    def written(room: int) -> dict[str, Any]:
        out: dict[str, Any] = document_attributes(
            documents, names.RETRIEVAL_DOCUMENTS, names.DOCUMENTS, TextWriter(settings), room
        )
        return out

    wide = written(11)
    assert json.loads(wide["retrieval.documents.1.document.metadata"]) == {"page": 2}
    assert "retrieval.documents.0.document.metadata" not in wide
    assert names.DOCUMENTS_METADATA not in wide
    listed = written(10)
    assert json.loads(listed[names.DOCUMENTS_METADATA]) == [{}, {"page": 2}, {"page": 3}]
    assert not any(key.endswith("document.metadata") for key in listed)
    assert list(written(8)) == [names.DOCUMENTS]


def test_redaction_runs_before_cutting_and_reaches_metadata() -> None:
    """A secret on the edge of the cut does not survive in half; numbers in metadata are looked at too."""
    settings = config.resolve({}, redact=Redactor(key="k"), max_text_length=60)
    question = "x" * 45 + " jane.doe@example.com is mine, thank you very much indeed"
    document = RetrievedDocument("d", 1, "call 13812345678", metadata={"phone": 13812345678})
    a = attributes(Content(kind=names.KIND_RETRIEVAL, question=question, documents=[document]), settings, 128)
    everything = " ".join(map(str, a.values()))
    assert "jane" not in everything
    assert "13812345678" not in everything
    placeholder = a["retrieval.documents.0.document.content"].removeprefix("call ")
    assert placeholder.startswith("<PHONE_")
    assert json.loads(a["retrieval.documents.0.document.metadata"]) == {"phone": placeholder}


def test_a_content_hash_follows_what_is_written() -> None:
    """The hash of an unredacted text would let the text be guessed."""
    document = RetrievedDocument("sha256:of-the-raw-text", 1, "a@b.example", "content_hash")
    settings = config.resolve({}, redact=Redactor(key="k"))
    a = attributes(Content(kind=names.KIND_RETRIEVAL, documents=[document]), settings, 128)
    assert a["retrieval.documents.0.document.id"] != document.id
    assert a["retrieval.documents.0.document.id"].startswith("sha256:")


def test_without_content_no_text_leaves() -> None:
    """Ids and scores stay, texts, metadata and hashes of texts do not."""
    settings = config.resolve({}, capture_content=False)
    a = attributes(
        Content(kind=names.KIND_RETRIEVAL, question="q", answer="secret", documents=DOCUMENTS), settings, 128
    )
    everything = json.dumps(a, ensure_ascii=False)
    assert not any(word in everything for word in ("secret", "甲", "a.md", "0123456789abcdef"))
    assert '"a"' in everything


def test_lone_surrogates_do_not_cost_the_batch() -> None:
    """Every value encodes as UTF-8."""
    bad = RetrievedDocument("d\ud800", 1, "t\ud800", metadata={"k\ud800": "v\ud800"})
    a = attributes(Content(kind=names.KIND_RETRIEVAL, question="q\ud800", documents=[bad]), DEFAULTS, 128)
    for value in a.values():
        str(value).encode()
    assert a[names.INPUT_VALUE] == "q\ufffd"


def test_openinference_names_are_openinferences() -> None:
    """The strings that other readers look for."""
    a = attributes(Content(kind=names.KIND_RETRIEVAL, question="q", documents=DOCUMENTS[:1]), DEFAULTS, 128)
    assert a["openinference.span.kind"] == "RETRIEVER"
    assert a["input.value"] == "q"
    assert a["retrieval.documents.0.document.content"] == "甲 text"
    assert a["retrieval.documents.0.document.score"] == 0.75
