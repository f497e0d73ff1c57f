"""A small LlamaIndex app, recorded in the whole process."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import Field

import ragtrace_integrations.llamaindex as integration


class KeyedRetriever(BaseRetriever):
    """Two nodes about any query; none for ``nothing``, an error for ``broken``."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str
        if query == "broken":
            raise ConnectionError("the index is away")
        return [] if query == "nothing" else nodes_about(query)


def nodes_about(query: str) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=TextNode(id_=f"{query}/{i}", text=f"Fact {i} about {query}."), score=1 - i / 10)
        for i in (1, 2)
    ]


class PlayedModel(CustomLLM):
    """Says ``reply``, a word at a time where it streams; each item of ``replies`` in turn where there are some."""

    reply: str = "The answer is forty two."
    replies: list[str] = Field(default_factory=list)
    fails_at: int = -1

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="played-1")

    def _next(self) -> str:
        return self.replies.pop(0) if self.replies else self.reply

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self._next())

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        def words() -> CompletionResponseGen:
            text = ""
            for index, word in enumerate(self._next().split(" ")):
                if index == self.fails_at:
                    raise ConnectionError("the model is away")
                delta = word if index == 0 else " " + word
                text += delta
                yield CompletionResponse(text=text, delta=delta)

        return words()


@pytest.fixture(autouse=True)
def recorded(spans: Any) -> Iterator[ModuleType]:
    integration.instrument(tracer_provider=spans.provider)
    yield integration
    integration.uninstrument()


@pytest.fixture
def retriever() -> KeyedRetriever:
    return KeyedRetriever()


@pytest.fixture
def model() -> PlayedModel:
    return PlayedModel()


@pytest.fixture
def engine(retriever: KeyedRetriever, model: PlayedModel) -> Callable[..., RetrieverQueryEngine]:
    return lambda **options: RetrieverQueryEngine.from_args(retriever, llm=model, **options)


@pytest.fixture
def about() -> Callable[[str], list[tuple[str, str]]]:
    """What the retriever finds, as (id, text)."""
    return lambda query: [(n.node.node_id, n.node.get_content()) for n in nodes_about(query)]


@pytest.fixture
def settled(recorded: ModuleType) -> Callable[[], Awaitable[None]]:
    """Wait until no run is open: abandoned async streams are closed by a later turn of the loop."""

    async def wait() -> None:
        async with asyncio.timeout(10):
            while recorded.open_runs():
                gc.collect()
                await asyncio.sleep(0)

    return wait
