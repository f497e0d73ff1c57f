"""Haystack pipelines and agents, run and read back."""

from __future__ import annotations

import asyncio
import gc
from contextlib import contextmanager

import pytest
from haystack import Document, Pipeline, SuperComponent, component
from haystack.components.agents import Agent
from haystack.components.builders import AnswerBuilder
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.writers import DocumentWriter
from haystack.core.errors import PipelineRuntimeError
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.tools import Tool
from haystack.tracing.tracer import NullTracer, Span, Tracer, disable_tracing, enable_tracing
from haystack.tracing.tracer import tracer as proxy
from opentelemetry import trace

import ragtrace
from ragtrace import _steps as steps


def _read(interaction):
    return [(d.id, d.text) for d in interaction.documents]


def test_a_pipeline_is_an_interaction_with_its_retrieval_and_its_generation(pipeline, asked, spans, about):
    """Content is recorded whatever Haystack's own switch says; builders have no span."""
    pipeline.run(asked("tax"))
    assert proxy.is_content_tracing_enabled is False
    root, generation = spans.one("interaction"), spans.one("generation")
    assert (root.parent, {s.name for s in spans.children(root)}) == (None, {"search", "model"})
    assert generation.attributes["llm.model_name"] == "played-1"
    assert generation.attributes["llm.token_count.prompt"] == 11
    assert generation.attributes["llm.input_messages.0.message.content"].startswith("[1] Fact 1 about tax.")
    (read,) = spans.read_back()
    assert (read.question, read.answer, _read(read)) == ("tax", "The answer to tax is 42.", about("tax"))
    assert [d.score for d in read.documents] == [0.9, 0.8]
    assert read.documents[0].metadata == {"page": 1}


async def test_an_awaited_pipeline_is_recorded_as_a_run_one(pipeline, asked, spans, about):
    """Components that run in tasks and threads find their pipeline."""
    await pipeline.run_async(asked("tax"))
    (read,) = spans.read_back()
    assert (read.question, read.answer, _read(read)) == ("tax", "The answer to tax is 42.", about("tax"))
    assert len({s.context.trace_id for s in spans.all()}) == 1


async def test_concurrent_pipelines_stay_apart(pipeline, asked, spans, about):
    """Each run has its own trace, question, documents and answer."""
    questions = [f"q{i}" for i in range(20)]
    await asyncio.gather(*(pipeline.run_async(asked(q)) for q in questions))
    found = {read.question: (read.answer, _read(read)) for read in spans.read_back()}
    assert found == {q: (f"The answer to {q} is 42.", about(q)) for q in questions}


async def test_a_generator_that_is_left_is_partial(pipeline, asked, spans, recorded):
    """The consumer goes away after the first component."""
    stream = pipeline.run_async_generator(asked("tax"))
    await anext(stream)
    await stream.aclose()
    del stream
    async with asyncio.timeout(10):
        while recorded.open_runs():
            gc.collect()
            await asyncio.sleep(0)
    root = spans.one("interaction")
    assert root.attributes["ragtrace.partial"] is True
    assert root.status.status_code is trace.StatusCode.UNSET
    assert spans.still_open == {}


async def test_between_two_results_nothing_is_current(pipeline, asked, spans):
    """A pipeline that the consumer of another's results runs is no part of that."""
    async for _ in pipeline.run_async_generator(asked("outer")):
        await pipeline.run_async(asked("inner"))
    roots = [s for s in spans.all() if s.parent is None]
    assert {s.attributes["input.value"] for s in roots} == {"outer", "inner"}
    assert len(roots) == len(spans.of_kind("interaction")) > 1


def test_nothing_found_and_nothing_recorded_read_back_differently(pipeline, asked, spans):
    """An empty retrieval is ``()``, a failed one ``None`` and an error."""
    pipeline.run(asked("nothing"))
    with pytest.raises(PipelineRuntimeError):
        pipeline.run(asked("broken"))
    found = {read.question: read for read in spans.read_back()}
    assert found["nothing"].documents == ()
    assert found["broken"].documents is None
    assert found["broken"].error is not None
    assert spans.still_open == {}


@component
class Reversing:
    """A ranker with scores of its own."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document]):
        ranked = [
            Document(id=d.id, content=d.content, score=0.99 - i / 10) for i, d in enumerate(documents[::-1])
        ]
        return {"documents": ranked}


def test_a_ranker_is_a_rerank(retriever, make_model, spans, about):
    """What reached the prompt is in the ranker's order with its scores; the raw list is the hop's."""
    made = Pipeline()
    made.add_component("search", retriever)
    made.add_component("rank", Reversing())
    made.add_component("answer", AnswerBuilder())
    made.connect("search.documents", "rank.documents")
    made.connect("rank.documents", "answer.documents")
    made.run(
        {"search": {"query": "tax"}, "rank": {"query": "tax"}, "answer": {"query": "tax", "replies": ["42"]}}
    )
    (read,) = spans.read_back()
    assert read.answer == "42"
    assert _read(read) == about("tax")[::-1]
    assert [(d.score, d.rerank_score) for d in read.documents] == [(0.99, 0.99), (0.89, 0.89)]
    assert [(d.id, d.text) for d in read.hops[0].documents] == about("tax")


def test_a_pipeline_inside_a_component_is_a_part(pipeline, spans, about):
    """A super component runs a pipeline of its own: one interaction, one trace."""
    inner = SuperComponent(
        pipeline,
        input_mapping={"question": ["search.query", "prompt.question"]},
        output_mapping={"model.replies": "replies"},
    )
    outer = Pipeline()
    outer.add_component("rag", inner)
    outer.run({"rag": {"question": "tax"}})
    (read,) = spans.read_back()
    assert (read.question, read.answer, _read(read)) == ("tax", "The answer to tax is 42.", about("tax"))
    assert len(spans.of_kind("interaction")) == 1


def test_indexing_is_no_interaction(spans):
    """A pipeline that splits and writes documents asks nothing."""
    made = Pipeline()
    made.add_component("split", DocumentSplitter(split_by="word", split_length=2))
    made.add_component("write", DocumentWriter(InMemoryDocumentStore()))
    made.connect("split.documents", "write.documents")
    made.run({"split": {"documents": [Document(content="one two three four")]}})
    assert [s.name for s in spans.all()] == ["haystack.pipeline.run"]
    assert spans.read_back() == []


def test_an_agents_tools_are_told_with_its_question_and_answer(make_model, retriever, spans, about):
    """A tool that gives documents is a retrieval; the last message is the answer."""
    search = Tool(
        name="handbook",
        description="Search.",
        parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
        function=retriever.run,
    )
    call = ChatMessage.from_assistant(tool_calls=[ToolCall("handbook", {"query": "tax"}, id="c1")])
    agent = Agent(chat_generator=make_model([call, ChatMessage.from_assistant("It is 42.")]), tools=[search])
    agent.run(messages=[ChatMessage.from_user("What is tax?")])
    (read,) = spans.read_back()
    assert (read.question, read.answer, _read(read)) == ("What is tax?", "It is 42.", about("tax"))
    assert [hop.query for hop in read.hops] == ["tax"]
    assert len(spans.of_kind("generation")) == 2


class _Recorded(Span):
    def __init__(self, seen, name):
        self.seen, self.name = seen, name

    def set_tag(self, key, value):
        self.seen.append((self.name, key))

    def raw_span(self):
        return self.name


class _Other(Tracer):
    """A tracer of the user's."""

    def __init__(self):
        self.seen, self.parents = [], {}

    @contextmanager
    def trace(self, operation_name, tags=None, parent_span=None):
        self.parents[operation_name] = parent_span and parent_span.name
        yield _Recorded(self.seen, operation_name)

    def current_span(self):
        return None


def test_a_tracer_that_was_there_goes_on_as_before(pipeline, asked, spans, recorded):
    """It is told the same operations, parents and tags, and is enabled again when ours is switched off."""
    recorded.uninstrument()
    other = _Other()
    enable_tracing(other)
    try:
        pipeline.run(asked("tax"))
        before, parents = list(other.seen), dict(other.parents)
        other.seen.clear()
        recorded.instrument(tracer_provider=spans.provider)
        pipeline.run(asked("tax"))
        assert (other.seen, other.parents) == (before, parents)
        assert len(spans.of_kind("interaction")) == 1
        recorded.uninstrument()
        assert proxy.actual_tracer is other
    finally:
        disable_tracing()


def test_a_hooked_function_inside_a_component_is_one_of_its_steps(spans):
    """A component that calls a hooked retriever: its span stands under the pipeline's."""
    steps.use_provider(spans.provider)

    @ragtrace.retriever
    def search(query: str) -> list[Document]:
        return [Document(id="d1", content="Law of " + query)]

    @component
    class Calling:
        @component.output_types(found=str)
        def run(self, query: str):
            return {"found": search(query)[0].content}

    made = Pipeline()
    made.add_component("call", Calling())
    try:
        made.run({"call": {"query": "tax"}})
    finally:
        steps.use_provider(None)
    root, retrieval = spans.one("interaction"), spans.one("retrieval")
    assert retrieval.parent.span_id == root.context.span_id
    assert root.attributes["output.value"] == "Law of tax"


def test_nothing_is_recorded_once_switched_off(pipeline, asked, spans, recorded):
    """After ``uninstrument`` runs leave no span, and Haystack has no tracer, as before."""
    recorded.uninstrument()
    pipeline.run(asked("tax"))
    assert spans.all() == []
    assert isinstance(proxy.actual_tracer, NullTracer)
