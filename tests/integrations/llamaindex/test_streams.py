"""Streaming answers: LlamaIndex's own events end before the first token."""

from __future__ import annotations

import gc
import threading
from collections.abc import AsyncGenerator, Generator

import pytest
from llama_index.core.chat_engine import ContextChatEngine
from opentelemetry import trace

ANSWER = "The answer is forty two."


def test_a_stream_read_to_the_end_is_recorded_as_a_call(engine, spans, about, recorded):
    """The generation, which starts while the app reads, is the query's; its answer is whole."""
    response = engine(streaming=True).query("tax")
    assert recorded.open_runs() == 1
    assert isinstance(response.response_gen, Generator)
    assert "".join(response.response_gen) == ANSWER
    (read,) = spans.read_back()
    assert (read.question, read.answer, read.partial) == ("tax", ANSWER, False)
    assert [(d.id, d.text) for d in read.documents] == about("tax")
    assert spans.one("generation").parent.span_id == spans.one("interaction").context.span_id
    assert (spans.still_open, recorded.open_runs()) == ({}, 0)


async def test_an_async_stream_read_to_the_end_is_recorded_as_a_call(engine, spans, recorded):
    """As above, for ``aquery``."""
    response = await engine(streaming=True).aquery("tax")
    assert isinstance(response.response_gen, AsyncGenerator)
    assert "".join([piece async for piece in response.async_response_gen()]) == ANSWER
    (read,) = spans.read_back()
    assert (read.question, read.answer, read.partial) == ("tax", ANSWER, False)
    assert (spans.still_open, recorded.open_runs()) == ({}, 0)


def test_a_stream_that_is_left_is_partial(engine, spans, recorded):
    """What had been read is the answer, marked as cut short."""
    response = engine(streaming=True).query("tax")
    pieces = [next(response.response_gen), next(response.response_gen)]
    del response
    gc.collect()
    (read,) = spans.read_back()
    assert (read.answer, read.partial) == ("".join(pieces), True)
    assert spans.one("interaction").status.status_code is trace.StatusCode.UNSET
    assert (spans.still_open, recorded.open_runs()) == ({}, 0)


async def test_an_async_stream_that_is_left_is_partial(engine, spans, settled):
    """As above, for ``aquery``."""
    response = await engine(streaming=True).aquery("tax")
    stream = response.async_response_gen()
    first = await anext(stream)
    await stream.aclose()
    del response, stream
    await settled()
    (read,) = spans.read_back()
    assert (read.answer, read.partial) == (first, True)
    assert spans.still_open == {}


def test_a_stream_that_is_never_read_is_partial(engine, spans, recorded):
    """Documents are known, an answer there is none."""
    engine(streaming=True).query("tax")
    gc.collect()
    assert spans.one("interaction").attributes["ragtrace.partial"] is True
    (read,) = spans.read_back()
    assert (read.answer, len(read.documents)) == (None, 2)
    assert (spans.still_open, recorded.open_runs()) == ({}, 0)


def test_a_stream_that_fails_is_an_error_with_what_was_said(engine, model, spans, recorded):
    """The app gets the exception, the interaction the words before it."""
    model.fails_at = 2
    with pytest.raises(ConnectionError):
        list(engine(streaming=True).query("tax").response_gen)
    (read,) = spans.read_back()
    assert (read.answer, read.partial) == ("The answer", True)
    assert spans.one("interaction").status.status_code is trace.StatusCode.ERROR
    assert (spans.still_open, recorded.open_runs()) == ({}, 0)


def test_a_streaming_chat_ends_with_its_history(retriever, model, spans, recorded):
    """A thread writes the answer; the interaction ends when both the call and the thread have."""
    chat, before = ContextChatEngine.from_defaults(retriever=retriever, llm=model), set(threading.enumerate())
    response = chat.stream_chat("tax")
    assert "".join(response.response_gen) == ANSWER
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=10)
    (read,) = spans.read_back()
    assert (read.question, read.answer, read.partial) == ("tax", ANSWER, False)
    assert (spans.still_open, recorded.open_runs()) == ({}, 0)


async def test_an_async_streaming_chat_ends_with_its_history(retriever, model, spans, settled):
    """As above, with a task."""
    chat = ContextChatEngine.from_defaults(retriever=retriever, llm=model)
    response = await chat.astream_chat("tax")
    assert "".join([piece async for piece in response.async_response_gen()]) == ANSWER
    await settled()
    (read,) = spans.read_back()
    assert (read.question, read.answer, read.partial) == ("tax", ANSWER, False)
    assert spans.still_open == {}


def test_two_streams_read_in_turns_stay_apart(engine, spans, recorded):
    """Each stream's pieces and generation belong to its own query."""
    one, two = (engine(streaming=True).query(q).response_gen for q in ("tax", "law"))
    pieces = [next(one), next(two), next(one), next(two)]
    assert pieces[0] == pieces[1]
    rest = "".join(one), "".join(two)
    assert rest[0] == rest[1]
    found = {read.question: (read.answer, [d.id for d in read.documents]) for read in spans.read_back()}
    assert found == {"tax": (ANSWER, ["tax/1", "tax/2"]), "law": (ANSWER, ["law/1", "law/2"])}
    parents = [s.parent.span_id for s in spans.of_kind("generation")]
    assert sorted(parents) == sorted(s.context.span_id for s in spans.of_kind("interaction"))
    assert (spans.still_open, recorded.open_runs()) == ({}, 0)
