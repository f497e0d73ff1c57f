"""Chains, retrievers and models that are called and answer."""

from __future__ import annotations

import json

import pytest
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory
from opentelemetry import trace
from pydantic import BaseModel


def test_a_chain_is_an_interaction_with_its_retrieval_and_its_generation(chain, handler, spans, about, said):
    """Question, documents with id and score, prompt, answer, model and tokens are on three spans of one trace."""
    chain.invoke("refunds", config={"callbacks": [handler]})
    root, retrieval, generation = (spans.one(kind) for kind in ("interaction", "retrieval", "generation"))
    assert (root.name, root.parent) == ("rag", None)
    assert root.attributes["input.value"] == "refunds"
    assert root.attributes["output.value"] == said("refunds")
    assert spans.documents(retrieval) == about("refunds")
    assert retrieval.attributes["retrieval.documents.0.document.score"] == 0.9
    assert generation.attributes["llm.input_messages.0.message.content"].startswith("Documents:\n[1] Fact 1")
    assert generation.attributes["llm.model_name"] == "fake-1"
    assert generation.attributes["llm.token_count.prompt"] == 11
    assert generation.attributes["gen_ai.usage.output_tokens"] == 7
    assert {s.name for s in spans.children(root)} == {"KeyedRetriever", "ChatOpenAI"}
    assert len(spans.all()) == 3


async def test_an_awaited_chain_is_recorded_as_a_called_one(chain, handler, spans, about, said):
    """The async path gives the same three spans."""
    await chain.ainvoke("refunds", config={"callbacks": [handler]})
    assert spans.one("interaction").attributes["output.value"] == said("refunds")
    assert spans.documents(spans.one("retrieval")) == about("refunds")
    assert len(spans.all()) == 3


def test_a_bare_retriever_has_a_root(retriever, handler, spans, about):
    """A retriever that no chain calls is a root span with its question and documents."""
    retriever.invoke("refunds", config={"callbacks": [handler]})
    span = spans.one("retrieval")
    assert span.parent is None
    assert (span.attributes["input.value"], spans.documents(span)) == ("refunds", about("refunds"))


def test_a_bare_model_is_a_generation(model, handler, spans, said):
    """A model that no chain calls is a generation, no interaction."""
    model.invoke("hello", config={"callbacks": [handler]})
    assert spans.one("generation").attributes["output.value"] == said("hello")
    assert spans.of_kind("interaction") == []


def test_a_retrieval_that_found_nothing_says_so(chain, handler, spans):
    """No documents found is an empty list, which differs from nothing recorded."""
    chain.invoke("nothing", config={"callbacks": [handler]})
    assert spans.documents(spans.one("retrieval")) == []


def test_a_failed_retrieval_recorded_no_documents(chain, handler, spans):
    """An exception marks the retriever and the chain as failed, and leaves documents unknown."""
    with pytest.raises(ConnectionError):
        chain.invoke("broken", config={"callbacks": [handler]})
    root, retrieval = spans.one("interaction"), spans.one("retrieval")
    assert spans.documents(retrieval) is None
    assert [s.status.status_code for s in (root, retrieval)] == [trace.StatusCode.ERROR] * 2
    assert root.attributes["error.type"] == "ConnectionError"
    assert spans.still_open == {}


def test_a_failed_model_is_an_error_without_an_answer(chain, handler, spans):
    """An error of the model is on the generation and on the interaction; no answer is made up."""
    with pytest.raises(Exception, match="asked to fail"):
        chain.invoke("FAIL please", config={"callbacks": [handler]})
    root, generation = spans.one("interaction"), spans.one("generation")
    assert [s.status.status_code for s in (root, generation)] == [trace.StatusCode.ERROR] * 2
    assert "output.value" not in root.attributes


@pytest.mark.parametrize(
    "given",
    [
        {"question": "refunds"},
        {"query": "refunds", "language": "English"},
        {"input": "refunds", "chat_history": []},
        {"topic": "refunds"},
        [HumanMessage("hello"), AIMessage("hi"), HumanMessage("refunds")],
        [("system", "be brief"), ("user", "refunds")],
        [{"role": "user", "content": "refunds"}],
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "refunds"}]}]},
        HumanMessage("refunds"),
    ],
)
def test_the_question_is_found_in_every_shape_of_input(given, model, handler, spans):
    """Text, usual keys, one text under a name of the app's own, messages in each notation."""
    chain = RunnableLambda(lambda _: "say something") | model
    chain.invoke(given, config={"callbacks": [handler]})
    assert spans.one("interaction").attributes["input.value"] == "refunds"


class Grounded(BaseModel):
    answer: str
    sources: list[int]


@pytest.mark.parametrize(
    "taken",
    [
        "42 days",
        AIMessage("42 days"),
        {"answer": "42 days", "question": "refunds"},
        {"input": "refunds", "context": [Document("x")], "output": AIMessage("42 days")},
        {"messages": [HumanMessage("refunds"), AIMessage("42 days")]},
        Grounded(answer="42 days", sources=[1]),
    ],
)
def test_the_answer_is_found_in_every_shape_of_output(taken, model, handler, spans):
    """Text, message, usual keys, messages, pydantic."""
    chain = model | RunnableLambda(lambda _: taken)
    chain.invoke("refunds", config={"callbacks": [handler]})
    assert spans.one("interaction").attributes["output.value"] == "42 days"


def test_an_answer_under_a_name_of_the_apps_own_is_what_the_model_said(model, handler, spans, said):
    """Of several texts in the output, the model's reply is the answer."""
    chain = model | StrOutputParser() | RunnableLambda(lambda text: {"tone": "kind", "letter": text})
    chain.invoke("refunds", config={"callbacks": [handler]})
    assert spans.one("interaction").attributes["output.value"] == said("refunds")


def test_earlier_turns_are_the_history(model, handler, spans):
    """Messages before the last one of the user are turns, question and answer together."""
    messages = [HumanMessage("who?"), AIMessage("Ada."), HumanMessage("when?")]
    (RunnableLambda(lambda m: m) | model).invoke(messages, config={"callbacks": [handler]})
    history = json.loads(spans.one("interaction").attributes["ragtrace.history"])
    assert history == [{"question": "who?", "answer": "Ada."}]


def test_session_and_user_come_from_the_metadata(chain, handler, spans):
    """The usual metadata names set the session and the user of the interaction."""
    metadata = {"session_id": "s-1", "user_id": 7}
    chain.invoke("refunds", config={"callbacks": [handler], "metadata": metadata})
    attributes = spans.one("interaction").attributes
    assert (attributes["session.id"], attributes["user.id"]) == ("s-1", "7")


def test_parallel_retrievers_stand_side_by_side_under_the_root(retriever, model, handler, spans, about):
    """Branches on pool threads find their root by id, and each keeps its own query."""
    both = RunnableParallel(a=lambda q: q + " law", b=lambda q: q + " form") | RunnableParallel(
        left=RunnableLambda(lambda x: x["a"]) | retriever, right=RunnableLambda(lambda x: x["b"]) | retriever
    )
    (both | RunnableLambda(str) | model).invoke("tax", config={"callbacks": [handler]})
    root, retrievals = spans.one("interaction"), spans.of_kind("retrieval")
    assert {s.attributes["input.value"]: spans.documents(s) for s in retrievals} == {
        "tax law": about("tax law"),
        "tax form": about("tax form"),
    }
    assert {s.parent.span_id for s in retrievals} == {root.context.span_id}


def test_a_batch_is_one_interaction_an_input(chain, handler, spans, said):
    """Each input of a batch has a trace of its own."""
    chain.batch(["one", "two", "three"], config={"callbacks": [handler]})
    found = {s.attributes["input.value"]: s.attributes["output.value"] for s in spans.of_kind("interaction")}
    assert found == {q: said(q) for q in ("one", "two", "three")}
    assert len({s.context.trace_id for s in spans.all()}) == 3


class Compressing(BaseRetriever):
    """Keeps the best of what an inner retriever found, with the reranker's own score."""

    inner: BaseRetriever

    def _get_relevant_documents(self, query, *, run_manager):
        found = self.inner.invoke(query, config={"callbacks": run_manager.get_child()})
        best = found[-1]
        return [Document(id=best.id, page_content=best.page_content, metadata={"relevance_score": 0.99})]


def test_a_retriever_around_a_retriever_that_keeps_the_best_is_a_rerank(retriever, handler, spans, about):
    """The raw list stays on the inner retrieval; the outer one tells what it was given and what it kept."""
    Compressing(inner=retriever).invoke("tax", config={"callbacks": [handler]})
    rerank, retrieval = spans.one("rerank"), spans.one("retrieval")
    assert spans.documents(retrieval) == about("tax")
    assert spans.documents(rerank, "reranker.input_documents") == about("tax")
    assert spans.documents(rerank, "reranker.output_documents") == about("tax")[-1:]
    assert rerank.attributes["reranker.output_documents.0.document.score"] == 0.99
    assert retrieval.parent.span_id == rerank.context.span_id


def test_a_lambda_that_reorders_documents_is_a_rerank(retriever, model, handler, spans, about):
    """Documents in, the same in another order out: a step of its own, though lambdas have no span."""
    chain = retriever | RunnableLambda(lambda docs: docs[::-1]) | RunnableLambda(str) | model
    chain.invoke("tax", config={"callbacks": [handler]})
    rerank = spans.one("rerank")
    assert rerank.attributes["input.value"] == "tax"
    assert spans.documents(rerank, "reranker.output_documents") == about("tax")[::-1]
    assert rerank.parent.span_id == spans.one("interaction").context.span_id


def test_a_lambda_that_finds_documents_is_a_retrieval(model, handler, spans):
    """A plain function that searches a store is seen by the documents that it gives."""
    search = RunnableLambda(lambda q: [(Document(id="d1", page_content="Law of " + q), 0.75)])
    (search | RunnableLambda(str) | model).invoke("tax", config={"callbacks": [handler]})
    retrieval = spans.one("retrieval")
    assert (retrieval.attributes["input.value"], spans.documents(retrieval)) == (
        "tax",
        [("d1", "Law of tax")],
    )
    assert retrieval.attributes["retrieval.documents.0.document.score"] == 0.75


def test_documents_that_are_only_passed_on_are_no_step(retriever, model, handler, spans):
    """Assignments and formatting around one retriever leave one retrieval and no rerank."""
    chain = (
        RunnablePassthrough.assign(context=RunnableLambda(lambda x: x["question"]) | retriever)
        | RunnablePassthrough.assign(text=lambda x: str(x["context"]))
        | ChatPromptTemplate.from_template("{text} {question}")
        | model
    )
    chain.invoke({"question": "tax"}, config={"callbacks": [handler]})
    assert len(spans.of_kind("retrieval")) == 1
    assert spans.of_kind("rerank") == []
    assert len(spans.all()) == 3


def test_formatting_a_prompt_alone_leaves_no_trace(handler, spans):
    """A prompt or parser that the app calls by itself is not worth a trace."""
    ChatPromptTemplate.from_template("{x}").invoke({"x": 1}, config={"callbacks": [handler]})
    StrOutputParser().invoke("text", config={"callbacks": [handler]})
    assert spans.all() == []
    assert handler.open_runs == 0


def test_a_chain_without_retrieval_or_model_is_no_interaction(handler, spans):
    """Plain functions chained together are a plain span."""
    RunnableLambda(lambda x: x + 1).invoke(1, config={"callbacks": [handler]})
    assert spans.of_kind("interaction") == []
    assert [s.name for s in spans.all()] == ["RunnableLambda"]


def test_a_chain_that_looks_up_its_history_tells_session_and_turns(model, retriever, handler, spans, said):
    """The root knows neither: both are found in what runs inside it."""
    remembered: dict[str, InMemoryChatMessageHistory] = {}
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{question}")])
    chain = RunnableWithMessageHistory(
        prompt | model | StrOutputParser(),
        lambda session_id: remembered.setdefault(session_id, InMemoryChatMessageHistory()),
        input_messages_key="question",
        history_messages_key="history",
    )
    for question in ("who?", "when?"):
        config = {"callbacks": [handler], "configurable": {"session_id": "s-1"}}
        chain.invoke({"question": question}, config=config)
    first, second = spans.of_kind("interaction")
    assert [s.attributes["session.id"] for s in (first, second)] == ["s-1", "s-1"]
    assert "ragtrace.history" not in first.attributes
    assert json.loads(second.attributes["ragtrace.history"]) == [{"question": "who?", "answer": said("who?")}]
