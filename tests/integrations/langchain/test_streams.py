"""Streams that are read to the end, left, cancelled and broken."""

from __future__ import annotations

import asyncio
import gc

import pytest
from langchain_core.runnables import RunnableLambda
from opentelemetry import trace


def test_a_stream_read_to_the_end_is_recorded_as_a_call(chain, handler, spans, about, said):
    """The question, which LangChain tells only at the end of a stream, and the whole answer are there."""
    list(chain.stream("refunds", config={"callbacks": [handler]}))
    root = spans.one("interaction")
    assert (root.attributes["input.value"], root.attributes["output.value"]) == ("refunds", said("refunds"))
    assert "ragtrace.partial" not in root.attributes
    assert spans.documents(spans.one("retrieval")) == about("refunds")
    assert spans.one("generation").attributes["llm.token_count.completion"] == 7


async def test_an_async_stream_read_to_the_end_is_recorded_as_a_call(chain, handler, spans, about, said):
    """As above, for ``astream``."""
    assert [piece async for piece in chain.astream("refunds", config={"callbacks": [handler]})]
    root = spans.one("interaction")
    assert (root.attributes["input.value"], root.attributes["output.value"]) == ("refunds", said("refunds"))
    assert spans.documents(spans.one("retrieval")) == about("refunds")
    assert "ragtrace.partial" not in root.attributes


def test_a_stream_that_is_left_keeps_its_question_and_what_was_said(chain, handler, spans, about, said):
    """After a break the interaction is partial, no error, and its answer is what had been said."""
    for index, _ in enumerate(chain.stream("refunds", config={"callbacks": [handler]})):
        if index == 3:
            break
    gc.collect()
    root, generation = spans.one("interaction"), spans.one("generation")
    assert root.attributes["input.value"] == "refunds"
    assert root.attributes["ragtrace.partial"] is True
    assert said("refunds").startswith(root.attributes["output.value"])
    assert 0 < len(root.attributes["output.value"]) < len(said("refunds"))
    assert generation.attributes["ragtrace.partial"] is True
    assert root.status.status_code is trace.StatusCode.UNSET
    assert spans.documents(spans.one("retrieval")) == about("refunds")
    assert (spans.still_open, handler.open_runs) == ({}, 0)


async def test_an_async_stream_that_is_left_keeps_its_question_and_what_was_said(
    chain, handler, spans, said, settled
):
    """As above, for a closed ``astream``."""
    stream = chain.astream("refunds", config={"callbacks": [handler]})
    said_so_far = [await anext(stream) for _ in range(3)]
    await stream.aclose()
    await settled()
    root = spans.one("interaction")
    assert root.attributes["input.value"] == "refunds"
    assert root.attributes["output.value"].startswith("".join(said_so_far))
    assert said("refunds").startswith(root.attributes["output.value"])
    assert root.attributes["ragtrace.partial"] is True
    assert (spans.still_open, handler.open_runs) == ({}, 0)


async def test_a_cancelled_retriever_closes_with_its_chain(chain, retriever, handler, spans):
    """LangChain reports no end of a cancelled retriever: it ends with its root, with documents unknown."""
    task = asyncio.create_task(chain.ainvoke("hang", config={"callbacks": [handler]}))
    await asyncio.wait_for(retriever.hanging.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    root, retrieval = spans.one("interaction"), spans.one("retrieval")
    assert spans.documents(retrieval) is None
    assert (root.attributes["ragtrace.partial"], retrieval.attributes["ragtrace.partial"]) == (True, True)
    assert root.status.status_code is trace.StatusCode.UNSET
    assert (spans.still_open, handler.open_runs) == ({}, 0)


async def test_a_bare_retriever_that_was_cancelled_is_ended_when_the_handler_closes(
    retriever, handler, spans
):
    """No event ever comes for it; it stays open, bounded by number and age, until then."""
    task = asyncio.create_task(retriever.ainvoke("hang", config={"callbacks": [handler]}))
    await asyncio.wait_for(retriever.hanging.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert handler.open_runs == 1
    handler.close()
    assert spans.one("retrieval").attributes["ragtrace.partial"] is True
    assert (spans.still_open, handler.open_runs) == ({}, 0)


def test_a_stream_that_fails_midway_keeps_what_was_said(model, handler, spans):
    """An error behind the first tokens is an error of the interaction, with a partial answer."""

    def fail_on_third(pieces):
        for index, piece in enumerate(pieces):
            if index == 3:
                raise ValueError("bad token")
            yield piece

    chain = model | RunnableLambda(fail_on_third)
    with pytest.raises(ValueError, match="bad token"):
        list(chain.stream("refunds", config={"callbacks": [handler]}))
    root = spans.one("interaction")
    assert root.status.status_code is trace.StatusCode.ERROR
    assert root.attributes["input.value"] == "refunds"
    assert (spans.still_open, handler.open_runs) == ({}, 0)


def test_a_model_that_streams_alone_is_a_generation(model, handler, spans, said):
    """A bare model's stream is told by its messages and its joined tokens."""
    list(model.stream("hello", config={"callbacks": [handler]}))
    assert spans.one("generation").attributes["output.value"] == said("hello")


async def test_streamed_events_are_recorded_as_a_call(chain, handler, spans, said):
    """``astream_events`` adds callbacks of its own beside the handler."""
    assert [e async for e in chain.astream_events("refunds", config={"callbacks": [handler]}, version="v2")]
    root = spans.one("interaction")
    assert (root.attributes["input.value"], root.attributes["output.value"]) == ("refunds", said("refunds"))


def test_a_stream_never_begun_leaves_nothing(chain, handler, spans):
    """A generator that nobody iterates has started no run."""
    chain.stream("refunds", config={"callbacks": [handler]})
    assert (spans.all(), handler.open_runs) == ([], 0)
