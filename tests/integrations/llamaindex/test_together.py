"""LlamaIndex with what else is in the process: threads, hooks, the OpenAI client."""

from __future__ import annotations

import threading
from typing import Any

import openai
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

import ragtrace
import ragtrace_integrations.openai as client_integration
from ragtrace import _steps as steps

ANSWER = "The answer is forty two."


def test_fifty_streams_in_threads_never_mix(engine, spans, recorded):
    """Every other one is left after a piece; each keeps its question, documents and what was read of it."""
    start = threading.Barrier(50)

    def ask(number: int) -> None:
        start.wait(timeout=30)
        stream = engine(streaming=True).query(f"q{number}").response_gen
        for _ in stream:
            if number % 2:
                stream.close()
                break

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    found = {read.question: read for read in spans.read_back()}
    assert sorted(found) == sorted(f"q{n}" for n in range(50))
    for number in range(50):
        read = found[f"q{number}"]
        assert [d.id for d in read.documents] == [f"q{number}/1", f"q{number}/2"]
        assert (read.answer, read.partial) == (("The", True) if number % 2 else (ANSWER, False))
    assert (spans.still_open, recorded.open_runs()) == ({}, 0)


class ClientModel(CustomLLM):
    """A model that calls the OpenAI client."""

    client: Any

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="fake-1")

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        messages = [{"role": "user", "content": "tax"}]
        reply = self.client.chat.completions.create(model="fake-1", messages=messages)
        return CompletionResponse(text=reply.choices[0].message.content)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


def test_a_model_that_calls_the_openai_client_is_told_once(retriever, spans, fake_openai):
    """The client's own integration stands back inside a model's run, and for that alone."""
    client_integration.instrument(tracer_provider=spans.provider)
    try:
        with openai.OpenAI(base_url=fake_openai.base_url, api_key="none", max_retries=0) as client:
            RetrieverQueryEngine.from_args(retriever, llm=ClientModel(client=client)).query("tax")
            assert len(spans.of_kind("generation")) == 1
            client.chat.completions.create(model="fake-1", messages=[{"role": "user", "content": "law"}])
            assert len(spans.of_kind("generation")) == 2
    finally:
        client_integration.uninstrument()


def test_a_hooked_function_inside_a_retriever_is_one_of_its_steps(model, spans):
    """A retriever that calls a hooked function: the function's span stands under it."""
    steps.use_provider(spans.provider)

    @ragtrace.retriever
    def search(query: str) -> list[dict[str, str]]:
        return [{"id": "d1", "text": "Law of " + query}]

    class Calling(BaseRetriever):
        def _retrieve(self, query_bundle):
            hits = search(query_bundle.query_str)
            return [NodeWithScore(node=TextNode(id_=h["id"], text=h["text"]), score=0.5) for h in hits]

    try:
        RetrieverQueryEngine.from_args(Calling(), llm=model).query("tax")
    finally:
        steps.use_provider(None)
    inner, outer = sorted(spans.of_kind("retrieval"), key=lambda s: s.name.endswith("retrieve"))
    assert inner.parent.span_id == outer.context.span_id
    (read,) = spans.read_back()
    assert [(d.id, d.text) for d in read.documents] == [("d1", "Law of tax")]
