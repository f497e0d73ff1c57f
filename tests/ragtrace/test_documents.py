"""Documents of every shape."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from haystack import Document as HaystackDocument
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.schema import NodeWithScore, TextNode
from pydantic import BaseModel

from ragtrace.documents import read_documents
from ragtrace.model import RetrievedDocument


@dataclasses.dataclass
class Row:
    id: str
    body: str
    score: float
    metadata: dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    doc_id: int
    text: str
    similarity: float


class Model(BaseModel):
    chunk_id: str
    content: str
    relevance_score: float


def shown(value: Any) -> list[tuple[str, str, str | None, float | None]]:
    return [(d.id, d.id_source, d.text, d.score) for d in read_documents(value) or ()]


GIVEN = [("d1", "given", "text", 0.5)]


@pytest.mark.parametrize(
    "value",
    [
        [{"id": "d1", "text": "text", "score": 0.5}],
        [{"doc_id": "d1", "page_content": "text", "similarity": 0.5}],
        [{"id": "d1", "content": [{"type": "text", "text": "text"}], "score": 0.5}],
        [{"document": {"id": "d1", "text": "text"}, "score": 0.5}],
        [{"id": "d1", "score": 0.5, "metadata": {"text": "text"}}],
        [({"id": "d1", "text": "text"}, 0.5)],
        ({"id": "d1", "text": "text"}, 0.5),
        ([{"id": "d1", "text": "text"}], [0.5]),
        [(LangChainDocument(page_content="text", id="d1"), np.float32(0.5))],
        ([LangChainDocument(page_content="text", id="d1")], np.array([0.5])),
        [NodeWithScore(node=TextNode(text="text", id_="d1"), score=0.5)],
        SimpleNamespace(source_nodes=[NodeWithScore(node=TextNode(text="text", id_="d1"), score=0.5)]),
        [HaystackDocument(id="d1", content="text", score=0.5)],
        {"documents": [HaystackDocument(id="d1", content="text", score=0.5)]},
        [Row("d1", "text", 0.5, {})],
        [Model(chunk_id="d1", content="text", relevance_score=0.5)],
        {"hits": {"hits": [{"_id": "d1", "_score": 0.5, "_source": {"text": "text"}}]}},
        {"matches": [{"id": "d1", "score": 0.5, "metadata": {"text": "text"}, "values": [0.1] * 8}]},
        [SimpleNamespace(id="d1", score=0.5, payload={"text": "text"})],
        SimpleNamespace(points=[SimpleNamespace(id="d1", score=0.5, payload={"page_content": "text"})]),
        [[{"id": "d1", "text": "text", "score": 0.5}]],
    ],
)
def test_one_document_is_the_same_in_every_shape(value: Any) -> None:
    """Id, text and score of frameworks, stores, tuples, objects and dicts."""
    assert shown(value) == GIVEN


def test_slotted_objects_and_numbers_as_ids_are_read() -> None:
    """An integer id is its digits."""
    assert shown([Slotted(7, "text", 0.5)]) == [("7", "given", "text", 0.5)]


def test_plain_texts_get_the_hash_of_their_text_as_id() -> None:
    """No id is invented: the source says that it is a hash."""
    digest = hashlib.sha256("退款".encode()).hexdigest()[:16]
    assert shown(["退款"]) == [(f"sha256:{digest}", "content_hash", "退款", None)]
    assert shown(np.array(["退款"])) == shown("退款") == shown(["退款"])


def test_only_true_id_keys_of_metadata_are_ids() -> None:
    """A source is a file that many documents may share."""
    document = LangChainDocument(page_content="text", metadata={"doc_id": "m-1", "source": "a.md"})
    assert shown([document]) == [("m-1", "metadata", "text", None)]
    (read,) = read_documents([LangChainDocument(page_content="text", metadata={"source": "a.md"})]) or ()
    assert (read.id_source, read.metadata) == ("content_hash", {"source": "a.md"})


def test_a_distance_is_never_a_score() -> None:
    """Chroma's parallel lists keep it apart."""
    chroma = {"ids": [["a"]], "documents": [["text"]], "distances": [[0.2]], "metadatas": [[{"page": 3}]]}
    assert read_documents(chroma) == (
        RetrievedDocument("a", 1, "text", "given", None, distance=0.2, metadata={"page": 3}),
    )


def test_a_rerankers_number_is_score_and_rerank_score() -> None:
    """Where the retriever's own score is there too, both are kept."""
    (only,) = read_documents([{"text": "t", "relevance_score": 0.9}]) or ()
    assert (only.score, only.rerank_score) == (0.9, 0.9)
    (both,) = read_documents([{"text": "t", "score": 0.4, "relevance_score": 0.9}]) or ()
    assert (both.score, both.rerank_score) == (0.4, 0.9)


def test_scores_that_are_no_numbers_are_no_scores() -> None:
    """NaN, infinity, booleans and texts."""
    values = [float("nan"), float("inf"), True, "high", None]
    assert [d.score for d in read_documents([{"text": "t", "score": v} for v in values]) or ()] == [None] * 5


def test_what_a_dict_holds_beside_the_document_is_metadata_and_vectors_are_not() -> None:
    """Source, title and what else the app put there."""
    (read,) = read_documents([{"text": "t", "title": "T", "embedding": [0.1], "metadata": {"page": 1}}]) or ()
    assert read.metadata == {"title": "T", "page": 1}


def test_an_empty_result_is_not_an_unknown_one() -> None:
    """() says that nothing was found, None that nothing was understood."""
    assert [read_documents(value) for value in ([], {"documents": []}, {"ids": [[]]}, "")] == [()] * 4
    assert [read_documents(value) for value in (None, 5, [1, 2], {"answer": "x"}, object())] == [None] * 5


def test_an_item_that_cannot_be_read_keeps_its_rank() -> None:
    """The numbers that an answer cites stay right."""
    assert [(d.rank, d.text) for d in read_documents(["a", 42, "c"]) or ()] == [(1, "a"), (2, None), (3, "c")]


def test_a_generator_is_never_consumed() -> None:
    """Not even looked into."""

    def pieces() -> Iterator[str]:
        yield "first"

    running = pieces()
    assert read_documents(running) is None
    assert next(running) == "first"


class Hostile:
    """Raises from whatever is touched."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class BadText:
    id = "x"

    @property
    def text(self) -> str:
        raise RuntimeError

    content = "still here"


def test_objects_that_raise_cost_only_themselves() -> None:
    """The documents around them are read; a property that raises is one that is not there."""
    assert [d.text for d in read_documents(["a", Hostile(), "c"]) or ()] == ["a", None, "c"]
    assert shown([BadText()]) == [("x", "given", "still here", None)]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)
keys = st.sampled_from(
    ["text", "content", "id", "score", "metadata", "documents", "hits", "ids", "node", "x"]
)


@given(
    json_values
    | st.lists(st.dictionaries(keys, json_values), max_size=4)
    | st.dictionaries(keys, json_values)
)
def test_reading_is_total(value: Any) -> None:
    """Whatever is passed: documents with ranks 1, 2, 3 …, or None."""
    read = read_documents(value)
    assert read is None or [d.rank for d in read] == list(range(1, len(read) + 1))
