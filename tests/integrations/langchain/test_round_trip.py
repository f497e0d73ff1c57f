"""What a chain did is what the collector reads in its spans after OTLP."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from ragtrace.model import Turn


def _read(interaction):
    return [(d.id, d.text) for d in interaction.documents]


@pytest.mark.parametrize("question", ["refunds", "退款需要多久？😀", 'line\nbreak \x00 "quoted"'])
def test_a_chain_reads_back_as_it_ran(question, chain, handler, spans, about, said):
    """Question, documents with ids, scores and ranks, answer, session; in any language."""
    config = {"callbacks": [handler], "metadata": {"session_id": "s-1", "user_id": "u-1"}}
    chain.invoke(question, config=config)
    (read,) = spans.read_back()
    assert (read.question, read.answer) == (question, said(question))
    assert _read(read) == about(question)
    assert [(d.rank, d.score, d.id_source) for d in read.documents] == [(1, 0.9, "given"), (2, 0.8, "given")]
    assert (read.session, read.user, read.partial, read.dialect) == ("s-1", "u-1", False, "ragtrace")
    assert [hop.query for hop in read.hops] == [question]


def test_a_left_stream_reads_back_as_partial(chain, handler, spans, said):
    """What had been said, marked as cut short."""
    stream = chain.stream("refunds", config={"callbacks": [handler]})
    first = next(stream) + next(stream)
    stream.close()
    (read,) = spans.read_back()
    assert read.partial
    assert read.question == "refunds"
    assert read.answer.startswith(first)
    assert said("refunds").startswith(read.answer)


def test_nothing_found_and_nothing_recorded_read_back_differently(chain, handler, spans):
    """An empty retrieval is ``()``, a failed one ``None``."""
    chain.invoke("nothing", config={"callbacks": [handler]})
    with pytest.raises(ConnectionError):
        chain.invoke("broken", config={"callbacks": [handler]})
    found = {read.question: read for read in spans.read_back()}
    assert found["nothing"].documents == ()
    assert found["broken"].documents is None
    assert found["broken"].error is not None


def test_a_rerank_reads_back_with_the_raw_list_as_its_hop(retriever, model, handler, spans, about):
    """What reached the prompt is the reranked list; what was found first stays in the hop."""
    rank = RunnableLambda(
        lambda docs: [
            Document(id=d.id, page_content=d.page_content, metadata={"relevance_score": 0.9 - i / 10})
            for i, d in enumerate(docs[::-1])
        ]
    )
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    chain = (
        {"context": retriever | rank | RunnableLambda(_joined), "question": RunnablePassthrough()}
        | prompt
        | model
    )
    chain.invoke("tax", config={"callbacks": [handler]})
    (read,) = spans.read_back()
    assert _read(read) == about("tax")[::-1]
    assert [(d.score, d.rerank_score) for d in read.documents] == [(0.9, 0.9), (0.8, 0.8)]
    assert [(d.id, d.text) for d in read.hops[0].documents] == about("tax")


def _joined(documents):
    return "\n".join(d.page_content for d in documents)


def test_several_queries_read_back_as_hops_and_one_fused_list(retriever, model, handler, spans, about):
    """Three retrievals, one fused list in the prompt."""
    queries = ["tax law", "tax form", "tax rate"]
    many = RunnableLambda(lambda _: queries) | retriever.map()
    fuse = RunnableLambda(lambda lists: [found[0] for found in lists])
    chain = (
        {"context": many | fuse | RunnableLambda(_joined), "question": RunnablePassthrough()}
        | ChatPromptTemplate.from_template("{context}\n\n{question}")
        | model
    )
    chain.invoke("tax", config={"callbacks": [handler]})
    (read,) = spans.read_back()
    assert read.question == "tax"
    assert _read(read) == [about(query)[0] for query in queries]
    assert sorted(hop.query for hop in read.hops) == sorted(queries)


def test_a_follow_up_reads_back_with_its_history_and_rewritten_question(retriever, model, handler, spans):
    """The raw question, the one that was searched for, and the turn before."""
    rewrite = ChatPromptTemplate.from_messages([("placeholder", "{chat_history}"), ("human", "{input}")])
    standalone = rewrite | model | StrOutputParser()
    answer = ChatPromptTemplate.from_template("{context}\n\n{input}") | model | StrOutputParser()
    chain = RunnablePassthrough.assign(context=standalone | retriever).assign(answer=answer)
    history = [HumanMessage("Who founded it?"), AIMessage("Ada.")]
    chain.invoke({"input": "When?", "chat_history": history}, config={"callbacks": [handler]})
    (read,) = spans.read_back()
    assert read.question == "When?"
    assert read.history == (Turn("Who founded it?", "Ada."),)
    assert read.rewritten_question == "The answer to When? is 42."
    assert len(read.documents) == 2


def test_ninety_documents_read_back_whole(model, handler, spans):
    """More documents than a span has room for keep their order, ids and texts."""
    found = [Document(id=f"d{i}", page_content=f"Fact {i}.", metadata={"page": i}) for i in range(90)]
    chain = RunnableLambda(lambda _: found) | RunnableLambda(_joined) | model
    chain.invoke("tax", config={"callbacks": [handler]})
    (read,) = spans.read_back()
    assert read.question == "tax"
    assert _read(read) == [(d.id, d.page_content) for d in found]


def test_documents_without_an_id_read_back_as_such(model, handler, spans):
    """No id is invented: a hash of the text says that it is one."""
    chain = RunnableLambda(lambda _: [Document("Fact.")]) | RunnableLambda(_joined) | model
    chain.invoke("tax", config={"callbacks": [handler]})
    (read,) = spans.read_back()
    assert [(d.text, d.id_source, d.score) for d in read.documents] == [("Fact.", "content_hash", None)]


def test_a_batch_reads_back_as_its_interactions(chain, handler, spans, about, said):
    """One trace, three interactions, none mixed with another."""
    with spans.provider.get_tracer("server").start_as_current_span("POST /batch"):
        chain.batch(["one", "two", "three"], config={"callbacks": [handler]})
    found = {read.question: (read.answer, _read(read)) for read in spans.read_back()}
    assert found == {q: (said(q), about(q)) for q in ("one", "two", "three")}


def test_a_bare_retriever_and_a_bare_model_read_back_for_what_they_are(
    retriever, model, handler, spans, about
):
    """A search alone has no answer; a model alone has no documents."""
    retriever.invoke("tax", config={"callbacks": [handler]})
    (read,) = spans.read_back()
    assert (read.question, read.answer, _read(read)) == ("tax", None, about("tax"))


def test_documents_that_the_app_hands_over_read_back_as_the_interactions(model, handler, spans, about):
    """Retrieved by code of the app's own, before the chain: its input holds them."""
    documents = [Document(id=id_, page_content=text) for id_, text in about("tax")]
    chain = ChatPromptTemplate.from_template("{context}\n\n{question}") | model
    chain.invoke({"context": documents, "question": "tax"}, config={"callbacks": [handler]})
    (read,) = spans.read_back()
    assert (read.question, _read(read)) == ("tax", about("tax"))
