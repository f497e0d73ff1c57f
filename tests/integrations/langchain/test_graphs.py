"""LangGraph: state graphs, agents, tools."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, TypedDict

import pytest
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import create_retriever_tool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt
from opentelemetry.trace import StatusCode


class State(TypedDict, total=False):
    question: str
    documents: list[Document]
    generation: str


@pytest.fixture
def graph(model, retriever):
    """retrieve → generate, with a state in the names of the tutorials."""

    def retrieve(state: State) -> State:
        return {"documents": retriever.invoke(state["question"])}

    def generate(state: State) -> State:
        return {"generation": model.invoke(state["question"]).content}

    return _sequence(State, retrieve=retrieve, generate=generate)


def _sequence(state, checkpointer=None, **nodes):
    builder = StateGraph(state)
    names = [START, *nodes, END]
    for name, node in nodes.items():
        builder.add_node(name, node)
    for before, after in pairwise(names):
        builder.add_edge(before, after)
    return builder.compile(checkpointer=checkpointer)


def test_a_graph_is_an_interaction_with_its_nodes(graph, handler, spans, about, said):
    """Nodes stand under the graph, the retriever and the model under their nodes."""
    graph.invoke({"question": "refunds"}, config={"callbacks": [handler]})
    root = spans.one("interaction")
    assert (root.attributes["input.value"], root.attributes["output.value"]) == ("refunds", said("refunds"))
    assert spans.documents(spans.one("retrieval")) == about("refunds")
    nodes = {s.name: [c.name for c in spans.children(s)] for s in spans.children(root)}
    assert nodes == {"retrieve": ["KeyedRetriever"], "generate": ["ChatOpenAI"]}


async def test_an_awaited_graph_is_one_trace(graph, handler, spans, said):
    """Sync nodes of an async graph run on pool threads and still find their parents."""
    await graph.ainvoke({"question": "refunds"}, config={"callbacks": [handler]})
    assert spans.one("interaction").attributes["output.value"] == said("refunds")
    assert len({s.context.trace_id for s in spans.all()}) == 1


@pytest.mark.parametrize("mode", ["values", "updates", "messages"])
def test_a_streamed_graph_is_recorded_as_a_called_one(mode, graph, handler, spans, said):
    """Each stream mode gives the same question and answer."""
    list(graph.stream({"question": "refunds"}, config={"callbacks": [handler]}, stream_mode=mode))
    root = spans.one("interaction")
    assert (root.attributes["input.value"], root.attributes["output.value"]) == ("refunds", said("refunds"))
    assert "ragtrace.partial" not in root.attributes


def test_a_graph_left_behind_is_partial(graph, handler, spans, about):
    """A break after the first node leaves documents and no answer."""
    stream = graph.stream({"question": "refunds"}, config={"callbacks": [handler]}, stream_mode="updates")
    next(stream)
    stream.close()
    root = spans.one("interaction")
    assert root.attributes["ragtrace.partial"] is True
    assert "output.value" not in root.attributes
    assert spans.documents(spans.one("retrieval")) == about("refunds")
    assert (spans.still_open, handler.open_runs) == ({}, 0)


def test_a_node_that_searches_a_store_itself_is_a_retrieval(model, handler, spans):
    """No retriever runs, yet the node gives documents that were not there before."""

    def retrieve(state: State) -> State:
        return {"documents": [Document(id="d1", page_content="About " + state["question"])]}

    def generate(state: State) -> State:
        return {"generation": model.invoke(state["question"]).content}

    graph = _sequence(State, retrieve=retrieve, generate=generate)
    graph.invoke({"question": "tax"}, config={"callbacks": [handler]})
    retrieval = spans.one("retrieval")
    assert retrieval.name == "retrieve"
    assert (retrieval.attributes["input.value"], spans.documents(retrieval)) == ("tax", [("d1", "About tax")])


def test_a_node_that_finds_nothing_is_an_empty_retrieval(handler, spans):
    """An empty list under a document name of the state says that the search found nothing."""
    graph = _sequence(State, retrieve=lambda _: {"documents": []})
    graph.invoke({"question": "tax"}, config={"callbacks": [handler]})
    assert spans.documents(spans.one("retrieval")) == []


def test_a_node_that_drops_documents_is_a_rerank(retriever, handler, spans, about):
    """Grading keeps some of the documents: what was given and what was kept are both told."""
    graph = _sequence(
        State,
        retrieve=lambda s: {"documents": retriever.invoke(s["question"])},
        grade=lambda s: {"documents": s["documents"][1:]},
    )
    graph.invoke({"question": "tax"}, config={"callbacks": [handler]})
    rerank = spans.one("rerank")
    assert rerank.name == "grade"
    assert spans.documents(rerank, "reranker.input_documents") == about("tax")
    assert spans.documents(rerank, "reranker.output_documents") == about("tax")[1:]
    assert rerank.attributes["input.value"] == "tax"


@tool(response_format="content_and_artifact")
def search(query: str):
    """Search the handbook."""
    found = [Document(id="d9", page_content="Handbook on " + query)]
    return found[0].page_content, found


class ToolCaller(GenericFakeChatModel):
    """A model that asks for tools as it was told to."""

    def bind_tools(self, tools, **kwargs):
        return self


def _agent(tools, replies, checkpointer=None):
    model = ToolCaller(messages=iter(replies)).bind_tools(tools)
    builder = StateGraph(MessagesState)
    builder.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=checkpointer)


def _call(name: str, query: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": {"query": query}, "id": name + query}])


def test_an_agents_tools_are_its_retrievals(retriever, handler, spans, about):
    """A tool around a retriever, and a tool that gives documents as its artifact, each with its own query."""
    handbook = create_retriever_tool(retriever, "handbook", "Search.", response_format="content_and_artifact")
    agent = _agent(
        [search, handbook], [_call("search", "tax"), _call("handbook", "law"), AIMessage("It is 42.")]
    )
    agent.invoke({"messages": [("user", "what is it?")]}, config={"callbacks": [handler]})
    root = spans.one("interaction")
    assert (root.attributes["input.value"], root.attributes["output.value"]) == ("what is it?", "It is 42.")
    found = [(s.name, s.attributes["input.value"], spans.documents(s)) for s in spans.of_kind("retrieval")]
    assert found == [
        ("search", "tax", [("d9", "Handbook on tax")]),
        ("KeyedRetriever", "law", about("law")),
    ]
    assert len(spans.of_kind("generation")) == 3


def test_a_tool_that_fails_is_an_error_of_the_tool(handler, spans):
    """The exception of a tool is on its span; the agent goes on or fails as it decides."""

    @tool
    def broken(query: str) -> str:
        """Break."""
        raise ConnectionError("away")

    with pytest.raises(ConnectionError):
        broken.invoke({"query": "tax"}, config={"callbacks": [handler]})
    (span,) = spans.all()
    assert span.attributes["openinference.span.kind"] == "TOOL"
    assert span.attributes["error.type"] == "ConnectionError"


def test_a_conversation_has_a_session_and_a_history(handler, spans):
    """The thread id is the session; the second turn knows the first and answers its own question."""
    agent = _agent([search], [AIMessage("Ada."), AIMessage("1815.")], InMemorySaver())
    for question in ("who?", "when?"):
        config = {"callbacks": [handler], "configurable": {"thread_id": "t-1"}}
        agent.invoke({"messages": [HumanMessage(question)]}, config=config)
    first, second = spans.of_kind("interaction")
    assert [s.attributes["session.id"] for s in (first, second)] == ["t-1", "t-1"]
    assert (second.attributes["input.value"], second.attributes["output.value"]) == ("when?", "1815.")
    assert second.attributes["ragtrace.history"] == '[{"question": "who?", "answer": "Ada."}]'
    assert "ragtrace.history" not in first.attributes


class Conversation(TypedDict):
    messages: Annotated[list, add_messages]


def test_a_turn_without_a_reply_has_no_answer_of_an_earlier_turn(handler, spans):
    """An assistant message before the question is never taken for its answer."""
    graph = _sequence(Conversation, look=lambda s: {"messages": []})
    messages = [HumanMessage("who?"), AIMessage("Ada."), HumanMessage("when?")]
    graph.invoke({"messages": messages}, config={"callbacks": [handler]})
    (root, *_) = [s for s in spans.all() if s.parent is None]
    assert "output.value" not in root.attributes


def test_a_graph_that_waits_for_a_person_has_not_failed(retriever, handler, spans, about):
    """An interrupt is no error; the resumed run answers the question that was asked before it."""
    graph = _sequence(
        State,
        InMemorySaver(),
        retrieve=lambda s: {"documents": retriever.invoke(s["question"])},
        approve=lambda s: {"generation": f"{interrupt('May I?')}: 42."},
    )
    config = {"callbacks": [handler], "configurable": {"thread_id": "t-1"}}
    graph.invoke({"question": "tax"}, config=config)
    graph.invoke(Command(resume="Yes"), config=config)
    assert {s.status.status_code for s in spans.all()} == {StatusCode.UNSET}
    roots = [s.attributes for s in spans.all() if s.parent is None]
    assert [(a["input.value"], a.get("output.value")) for a in roots] == [("tax", None), ("tax", "Yes: 42.")]
    assert spans.documents(spans.one("retrieval")) == about("tax")
