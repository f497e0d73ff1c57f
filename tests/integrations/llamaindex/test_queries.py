"""Query engines, chat engines, agents and their parts, called and read back."""

from __future__ import annotations

import pytest
from llama_index.core import get_response_synthesizer
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore
from llama_index.core.tools import RetrieverTool
from llama_index_instrumentation.dispatcher import instrument_tags
from opentelemetry import trace

import ragtrace
from ragtrace import _steps as steps
from ragtrace.model import Turn


def _read(interaction):
    return [(d.id, d.text) for d in interaction.documents]


def test_a_query_is_an_interaction_with_its_retrieval_and_its_generation(engine, spans, about):
    """Each is told once, though LlamaIndex has two spans a retrieval and three a generation."""
    with instrument_tags({"session_id": "s-1", "user_id": "u-1"}):
        engine().query("refunds")
    root, retrieval, generation = (spans.one(kind) for kind in ("interaction", "retrieval", "generation"))
    assert (root.name, root.parent) == ("RetrieverQueryEngine.query", None)
    assert spans.documents(retrieval) == about("refunds")
    assert "Fact 1 about refunds." in generation.attributes["llm.input_messages.0.message.content"]
    assert generation.attributes["llm.model_name"] == "played-1"
    assert len(spans.all()) == 3
    (read,) = spans.read_back()
    assert (read.question, read.answer) == ("refunds", "The answer is forty two.")
    assert [(d.id, d.score) for d in read.documents] == [("refunds/1", 0.9), ("refunds/2", 0.8)]
    assert (read.session, read.user, read.partial) == ("s-1", "u-1", False)


async def test_an_awaited_query_is_recorded_as_a_called_one(engine, spans, about):
    """The async path gives the same."""
    await engine().aquery("refunds")
    (read,) = spans.read_back()
    assert (read.question, read.answer, _read(read)) == (
        "refunds",
        "The answer is forty two.",
        about("refunds"),
    )
    assert len(spans.all()) == 3


def test_a_retrieval_that_found_nothing_says_so(engine, spans):
    """An empty list, and LlamaIndex's own words as the answer."""
    engine().query("nothing")
    (read,) = spans.read_back()
    assert read.documents == ()
    assert read.answer == "Empty Response"


def test_a_failed_retrieval_recorded_no_documents(engine, spans, recorded):
    """The error is on the retrieval and on the interaction, documents stay unknown."""
    with pytest.raises(ConnectionError):
        engine().query("broken")
    root, retrieval = spans.one("interaction"), spans.one("retrieval")
    assert [s.status.status_code for s in (root, retrieval)] == [trace.StatusCode.ERROR] * 2
    assert spans.read_back()[0].documents is None
    assert (spans.still_open, recorded.open_runs()) == ({}, 0)


class Reversing(BaseNodePostprocessor):
    """Ranks the last first, by scores of its own."""

    def _postprocess_nodes(self, nodes, query_bundle=None):
        return [NodeWithScore(node=n.node, score=0.99 - i / 10) for i, n in enumerate(nodes[::-1])]


def test_a_postprocessor_that_reorders_is_a_rerank(engine, spans, about):
    """The raw list stays the hop's; the reranker's own scores go with what reached the prompt."""
    engine(node_postprocessors=[Reversing()]).query("tax")
    rerank = spans.one("rerank")
    assert spans.documents(rerank, "reranker.input_documents") == about("tax")
    (read,) = spans.read_back()
    assert [(d.id, d.score) for d in read.documents] == [("tax/2", 0.99), ("tax/1", pytest.approx(0.89))]
    assert [d.id for d in read.hops[0].documents] == ["tax/1", "tax/2"]


def test_a_postprocessor_that_changes_nothing_is_no_step(engine, spans):
    """A cut-off that all nodes pass leaves no span."""
    engine(node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.1)]).query("tax")
    assert spans.of_kind("rerank") == []


def test_fused_retrievals_are_hops_below_one_list(retriever, model, engine, spans, about):
    """A retriever that asks another several times made its list from theirs."""
    model.replies = ["tax law\ntax form"]
    fusion = QueryFusionRetriever([retriever], llm=model, num_queries=3, similarity_top_k=4, use_async=False)
    fusion.retrieve("tax")
    hops = {s.attributes["input.value"]: spans.documents(s) for s in spans.of_kind("retrieval")}
    assert hops == {query: about(query) for query in ("tax", "tax law", "tax form")}
    fused = spans.one("rerank")
    kept = {id_ for id_, _ in spans.documents(fused, "reranker.output_documents")}
    assert kept <= {id_ for documents in hops.values() for id_, _ in documents}


def test_a_bare_retriever_has_a_root(retriever, spans, about):
    """A retriever that the app calls itself is a root with its query and documents."""
    retriever.retrieve("tax")
    span = spans.one("retrieval")
    assert (span.parent, span.attributes["input.value"], spans.documents(span)) == (None, "tax", about("tax"))


def test_a_synthesizer_that_the_app_feeds_is_an_interaction(retriever, model, spans, about):
    """Retrieval and synthesis called one by one: the nodes that were handed over are its documents."""
    nodes = retriever.retrieve("tax")
    get_response_synthesizer(llm=model).synthesize("tax", nodes)
    root = spans.one("interaction")
    assert (root.attributes["input.value"], spans.documents(root)) == ("tax", about("tax"))
    assert root.attributes["output.value"] == "The answer is forty two."


def test_splitting_texts_leaves_no_trace(spans, recorded):
    """What LlamaIndex does at index time is no interaction."""
    SentenceSplitter().split_text("One sentence. " * 20)
    assert (spans.all(), recorded.open_runs()) == ([], 0)


def test_a_follow_up_has_its_history_and_its_rewritten_query(retriever, model, spans):
    """The second turn of a chat knows the first, and what was searched for instead of its question."""
    chat = CondensePlusContextChatEngine.from_defaults(retriever=retriever, llm=model)
    model.replies = ["Ada founded it.", "When did Ada found it?", "In 1843."]
    chat.chat("Who founded it?")
    chat.chat("When?")
    first, second = spans.read_back()
    assert (first.question, first.answer, first.history) == ("Who founded it?", "Ada founded it.", ())
    assert (second.question, second.answer) == ("When?", "In 1843.")
    assert second.history == (Turn("Who founded it?", "Ada founded it."),)
    assert [hop.query for hop in second.hops] == ["When did Ada found it?"]


async def test_an_agents_tools_are_its_retrievals(retriever, model, spans):
    """The agent's question and answer are the interaction's; its tool's retrieval is a hop."""
    model.replies = [
        'Thought: I need a tool.\nAction: handbook\nAction Input: {"input": "tax"}',
        "Thought: I can answer without using any more tools.\nAnswer: It is forty two.",
    ]
    tool = RetrieverTool.from_defaults(retriever, name="handbook", description="Search.")
    await ReActAgent(tools=[tool], llm=model).run(user_msg="What is tax?")
    (read,) = spans.read_back()
    assert (read.question, read.answer) == ("What is tax?", "It is forty two.")
    assert len(read.documents) == 2
    assert len(spans.of_kind("generation")) == 2


def test_a_query_is_a_child_of_the_request_it_runs_in(engine, spans):
    """Where a server span is current, the interaction belongs to its trace."""
    with spans.provider.get_tracer("server").start_as_current_span("GET /ask") as request:
        engine().query("tax")
    assert spans.one("interaction").parent.span_id == request.get_span_context().span_id


def test_a_query_inside_a_traced_function_is_no_second_interaction(engine, spans):
    """The function is the interaction; the engine and its parts are steps."""
    steps.use_provider(spans.provider)

    @ragtrace.trace
    def ask(question: str) -> str:
        return str(engine().query(question))

    try:
        ask("tax")
    finally:
        steps.use_provider(None)
    assert spans.one("interaction").name.endswith("ask")
    (read,) = spans.read_back()
    assert (read.question, len(read.documents)) == ("tax", 2)


def test_nothing_is_recorded_once_switched_off(engine, spans, recorded):
    """After ``uninstrument`` queries leave no span, and LlamaIndex works on."""
    recorded.uninstrument()
    assert str(engine().query("tax")) == "The answer is forty two."
    assert spans.all() == []
