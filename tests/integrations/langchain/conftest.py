"""A small LangChain RAG app on a fake OpenAI server, and the handler that records it."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnablePassthrough
from langchain_openai import ChatOpenAI

from ragtrace_integrations.langchain import RagtraceCallbackHandler


class KeyedRetriever(BaseRetriever):
    """Two documents about any query; none for ``nothing``, an error for ``broken``, no end for ``hang``."""

    hanging: Any = None

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        if query == "broken":
            raise ConnectionError("the index is away")
        if query == "nothing":
            return []
        return documents_about(query)

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        if query.startswith("hang"):
            self.hanging.set()
            await asyncio.Event().wait()
        return self._get_relevant_documents(query, run_manager=run_manager)


def documents_about(query: str) -> list[Document]:
    return [
        Document(id=f"{query}/{i}", page_content=f"Fact {i} about {query}.", metadata={"score": 1 - i / 10})
        for i in (1, 2)
    ]


def numbered(documents: list[Document]) -> str:
    return "\n".join(f"[{i}] {d.page_content}" for i, d in enumerate(documents, 1))


PROMPT = ChatPromptTemplate.from_messages([("system", "Documents:\n{context}"), ("human", "{question}")])


@pytest.fixture
def handler(spans: Any) -> RagtraceCallbackHandler:
    return RagtraceCallbackHandler(tracer_provider=spans.provider)


@pytest.fixture
def model(fake_openai: Any) -> ChatOpenAI:
    return ChatOpenAI(
        model="fake-1",
        base_url=fake_openai.base_url,
        api_key="none",
        max_retries=0,
        stream_usage=True,
        # LangChain shares one async client between models, which dies with the first test's event loop.
        http_async_client=httpx2.AsyncClient(),
    )


@pytest.fixture
def retriever() -> KeyedRetriever:
    return KeyedRetriever(hanging=asyncio.Event())


@pytest.fixture
def chain(model: ChatOpenAI, retriever: KeyedRetriever) -> Runnable[str, str]:
    """Question → {context, question} in parallel → prompt → model → text."""
    inputs = {"context": retriever | numbered, "question": RunnablePassthrough()}
    return (inputs | PROMPT | model | StrOutputParser()).with_config(run_name="rag")


@pytest.fixture
def about() -> Callable[[str], list[tuple[str, str]]]:
    """What the retriever finds, as (id, text)."""
    return lambda query: [(d.id or "", d.page_content) for d in documents_about(query)]


@pytest.fixture
def said() -> Callable[[str], str]:
    """What the fake model answers."""
    return lambda question: f"The answer to {question} is 42."


@pytest.fixture
def settled(handler: RagtraceCallbackHandler) -> Callable[[], Awaitable[None]]:
    """Wait until no run is open: an abandoned async stream is closed by a later turn of the loop."""

    async def wait() -> None:
        async with asyncio.timeout(90):
            while handler.open_runs:
                gc.collect()
                await asyncio.sleep(0)

    return wait


@pytest.fixture
def in_thread() -> Callable[[Callable[[], object]], None]:
    """Run something in a plain thread, which inherits no context."""

    def run(work: Callable[[], object]) -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(timeout=30)

    return run
