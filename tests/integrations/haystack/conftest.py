"""A small Haystack app, recorded in the whole process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from haystack import Document, Pipeline, component
from haystack.components.builders import ChatPromptBuilder
from haystack.dataclasses import ChatMessage

import ragtrace_integrations.haystack as integration

TEMPLATE = "{% for d in documents %}[{{loop.index}}] {{d.content}} {% endfor %}Question: {{question}}"


@component
class KeyedRetriever:
    """Two documents about any query; none for ``nothing``, an error for ``broken``."""

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        if query == "broken":
            raise ConnectionError("the index is away")
        return {"documents": [] if query == "nothing" else documents_about(query)}


def documents_about(query: str) -> list[Document]:
    return [
        Document(id=f"{query}/{i}", content=f"Fact {i} about {query}.", score=1 - i / 10, meta={"page": i})
        for i in (1, 2)
    ]


@component
class PlayedModel:
    """A chat generator that answers with what it was asked, or with each of ``replies`` in turn."""

    def __init__(self, replies: list[ChatMessage] | None = None) -> None:
        self.replies = replies or []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, Any]:
        if self.replies:
            return {"replies": [self.replies.pop(0)]}
        asked = (messages[-1].text or "").rpartition("Question: ")[2]
        meta = {"model": "played-1", "usage": {"prompt_tokens": 11, "completion_tokens": 7}}
        return {"replies": [ChatMessage.from_assistant(f"The answer to {asked} is 42.", meta=meta)]}


@pytest.fixture(autouse=True)
def recorded(spans: Any) -> Iterator[ModuleType]:
    integration.instrument(tracer_provider=spans.provider)
    yield integration
    integration.uninstrument()


@pytest.fixture
def pipeline() -> Pipeline:
    """retriever → prompt → model."""
    made = Pipeline()
    made.add_component("search", KeyedRetriever())
    made.add_component("prompt", ChatPromptBuilder([ChatMessage.from_user(TEMPLATE)], required_variables="*"))
    made.add_component("model", PlayedModel())
    made.connect("search.documents", "prompt.documents")
    made.connect("prompt.prompt", "model.messages")
    return made


@pytest.fixture
def asked() -> Callable[[str], dict[str, Any]]:
    """The pipeline's input for a question."""
    return lambda question: {"search": {"query": question}, "prompt": {"question": question}}


@pytest.fixture
def about() -> Callable[[str], list[tuple[str, str]]]:
    """What the retriever finds, as (id, text)."""
    return lambda query: [(d.id, d.content or "") for d in documents_about(query)]


@pytest.fixture
def make_model() -> Callable[[list[ChatMessage]], PlayedModel]:
    """A model that says these."""
    return PlayedModel


@pytest.fixture
def retriever() -> KeyedRetriever:
    return KeyedRetriever()
