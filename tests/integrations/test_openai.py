"""The OpenAI client against a real HTTP server."""

from __future__ import annotations

import gc
import inspect

import openai
import pytest
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from opentelemetry import context as otel
from opentelemetry import trace
from pydantic import BaseModel

import ragtrace
import ragtrace_integrations.langchain as langchain
import ragtrace_integrations.openai as integration
from ragtrace import _steps as steps

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "tax"}]
ANSWER = "The answer to tax is 42."
CHAT = {"model": "fake-1", "messages": MESSAGES}
RESPONSE = {"model": "fake-1", "instructions": "Be brief.", "input": "tax"}


@pytest.fixture(autouse=True)
def recorded(spans):
    integration.instrument(tracer_provider=spans.provider)
    steps.use_provider(spans.provider)
    yield
    steps.use_provider(None)
    integration.uninstrument()


@pytest.fixture
def client(fake_openai):
    with openai.OpenAI(base_url=fake_openai.base_url, api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
async def aclient(fake_openai):
    async with openai.AsyncOpenAI(base_url=fake_openai.base_url, api_key="none", max_retries=0) as client:
        yield client


def _check(spans, answer=ANSWER, *, usage=True):
    """One generation with the prompt and ``answer``."""
    span = spans.one("generation")
    told = [span.attributes[f"llm.input_messages.{i}.message.content"] for i in (0, 1)]
    roles = [span.attributes[f"llm.input_messages.{i}.message.role"] for i in (0, 1)]
    assert (roles, told) == (["system", "user"], ["Be brief.", "tax"])
    assert span.attributes["output.value"] == answer
    assert (span.name, span.attributes["llm.model_name"]) == ("chat fake-1", "fake-1")
    if usage:
        assert (span.attributes["llm.token_count.prompt"], span.attributes["llm.token_count.completion"]) == (
            11,
            7,
        )
    assert "ragtrace.partial" not in span.attributes
    assert spans.still_open == {}
    return span


def test_a_chat_completion_is_a_generation(client, spans):
    """Prompt, answer, model and tokens; alone it is a root and no interaction."""
    assert client.chat.completions.create(**CHAT).choices[0].message.content == ANSWER
    assert _check(spans).parent is None
    assert spans.of_kind("interaction") == []


def test_a_response_is_a_generation(client, spans):
    """Instructions are the system message of the prompt."""
    assert client.responses.create(**RESPONSE).output_text == ANSWER
    _check(spans)


async def test_async_calls_are_generations(aclient, spans):
    """The async client is recorded as the sync one."""
    await aclient.chat.completions.create(**CHAT)
    _check(spans)
    spans.exporter.clear()
    await aclient.responses.create(**RESPONSE)
    _check(spans)


class Answer(BaseModel):
    answer: str


def test_parsed_calls_are_generations(client, spans):
    """``parse`` does not go through ``create``, and is recorded all the same."""
    parsed = client.chat.completions.parse(**CHAT, response_format=Answer)
    assert parsed.choices[0].message.parsed == Answer(answer="42")
    _check(spans, '{"answer": "42"}')
    spans.exporter.clear()
    assert client.responses.parse(**RESPONSE, text_format=Answer).output_parsed == Answer(answer="42")
    _check(spans, '{"answer": "42"}')


async def test_async_parsed_calls_are_generations(aclient, spans):
    """As above, for the async client."""
    await aclient.chat.completions.parse(**CHAT, response_format=Answer)
    _check(spans, '{"answer": "42"}')
    spans.exporter.clear()
    await aclient.responses.parse(**RESPONSE, text_format=Answer)
    _check(spans, '{"answer": "42"}')


def test_a_streamed_chat_ends_with_its_last_piece(client, spans):
    """The stream is the client's own, and the span ends when it has been read."""
    stream = client.chat.completions.create(**CHAT, stream=True, stream_options={"include_usage": True})
    assert isinstance(stream, openai.Stream)
    assert len(spans.still_open) == 1
    assert "".join(c.choices[0].delta.content or "" for c in stream if c.choices) == ANSWER
    _check(spans)


def test_a_streamed_response_ends_with_its_last_event(client, spans):
    """As above, for the responses API."""
    assert [event.type for event in client.responses.create(**RESPONSE, stream=True)][
        -1
    ] == "response.completed"
    _check(spans)


def test_stream_helpers_are_recorded_once(client, spans):
    """``stream`` goes through ``create``."""
    with client.chat.completions.stream(**CHAT) as stream:
        assert stream.get_final_completion().choices[0].message.content == ANSWER
    _check(spans, usage=False)
    spans.exporter.clear()
    with client.responses.stream(**RESPONSE) as stream:
        assert stream.get_final_response().output_text == ANSWER
    _check(spans)


async def test_async_streams_end_with_their_last_piece(aclient, spans):
    """The async stream is the client's own too."""
    stream = await aclient.chat.completions.create(**CHAT, stream=True)
    assert isinstance(stream, openai.AsyncStream)
    assert "".join([c.choices[0].delta.content or "" async for c in stream]) == ANSWER
    _check(spans, usage=False)
    spans.exporter.clear()
    async with aclient.responses.stream(**RESPONSE) as stream:
        assert (await stream.get_final_response()).output_text == ANSWER
    _check(spans)


def test_a_stream_that_is_left_is_partial(client, spans):
    """What had been read is the answer, marked as cut short; that is no error."""
    with client.chat.completions.create(**CHAT, stream=True) as stream:
        read = [next(stream).choices[0].delta.content or "" for _ in range(4)]
    del stream
    gc.collect()
    span = spans.one("generation")
    assert span.attributes["output.value"] == "".join(read)
    assert span.attributes["ragtrace.partial"] is True
    assert span.status.status_code is trace.StatusCode.UNSET
    assert spans.still_open == {}


async def test_an_async_stream_that_is_left_is_partial(aclient, spans):
    """As above, for the async client."""
    stream = await aclient.chat.completions.create(**CHAT, stream=True)
    read = [(await anext(stream)).choices[0].delta.content or "" for _ in range(4)]
    await stream.close()
    del stream
    gc.collect()
    assert spans.one("generation").attributes["output.value"] == "".join(read)
    assert spans.still_open == {}


def test_a_raw_response_is_read_without_disturbing_it(client, spans):
    """Headers and ``parse`` are the app's as before; a raw stream as well."""
    raw = client.chat.completions.with_raw_response.create(**CHAT)
    assert raw.headers["content-type"] == "application/json"
    assert raw.parse().choices[0].message.content == ANSWER
    _check(spans)
    spans.exporter.clear()
    raw = client.chat.completions.with_raw_response.create(**CHAT, stream=True)
    assert "".join(c.choices[0].delta.content or "" for c in raw.parse()) == ANSWER
    _check(spans, usage=False)


def test_a_streaming_response_is_left_unread(client, spans):
    """Its body is the app's to read; the generation has its prompt and no answer."""
    with client.chat.completions.with_streaming_response.create(**CHAT) as response:
        assert ANSWER in response.read().decode()
    assert "output.value" not in spans.one("generation").attributes


def test_a_refused_call_is_an_error(client, spans):
    """The app gets the client's own exception."""
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="fake-1", messages=[{"role": "user", "content": "FAIL"}])
    span = spans.one("generation")
    assert (span.status.status_code, span.attributes["error.type"]) == (
        trace.StatusCode.ERROR,
        "BadRequestError",
    )


def test_content_parts_are_read_as_text(client, spans):
    """Text parts are joined, pictures left out."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    parts = [{"type": "text", "text": "ta"}, picture, {"type": "text", "text": "x"}]
    client.chat.completions.create(model="fake-1", messages=[{"role": "user", "content": parts}])
    assert spans.one("generation").attributes["llm.input_messages.0.message.content"] == "tax"


def test_inside_an_interaction_a_call_is_its_generation(client, spans):
    """A plain RAG app: hooks for question and retrieval, the client for the answer."""

    @ragtrace.retriever
    def search(query: str) -> list[dict[str, str]]:
        return [{"id": "d1", "text": "Tax is 42."}]

    @ragtrace.trace
    def ask(question: str) -> str:
        prompt = search(question)[0]["text"] + "\n\n" + question
        reply = client.chat.completions.create(model="fake-1", messages=[{"role": "user", "content": prompt}])
        return reply.choices[0].message.content

    answer = ask("tax")
    (read,) = spans.read_back()
    assert (read.question, read.answer) == ("tax", answer)
    assert [(d.id, d.text) for d in read.documents] == [("d1", "Tax is 42.")]
    assert spans.one("generation").parent.span_id == spans.one("interaction").context.span_id


def test_inside_a_generator_hook_a_call_is_no_second_answer(client, spans):
    """The hook's answer stands, whatever the model said below it."""

    @ragtrace.generator
    def write(question: str) -> str:
        return client.chat.completions.create(**CHAT).choices[0].message.content.upper()

    @ragtrace.trace
    def ask(question: str) -> str:
        return write(question)

    ask("tax")
    (read,) = spans.read_back()
    assert (read.question, read.answer) == ("tax", ANSWER.upper())


def test_a_langchain_model_is_told_once(fake_openai, spans):
    """LangChain's own integration records the call; the client's stands back for it, and for it alone."""
    handler = langchain.RagtraceCallbackHandler(tracer_provider=spans.provider)
    model = ChatOpenAI(model="fake-1", base_url=fake_openai.base_url, api_key="none", max_retries=0)
    chain = model | StrOutputParser()
    chain.invoke("tax", config={"callbacks": [handler]})
    list(chain.stream("tax", config={"callbacks": [handler]}))
    assert len(spans.of_kind("generation")) == 2
    assert len(spans.of_kind("interaction")) == 2


async def test_an_awaited_langchain_model_is_told_once(fake_openai, spans):
    """As above, where the call runs in a task of its own."""
    handler = langchain.RagtraceCallbackHandler(tracer_provider=spans.provider)
    model = ChatOpenAI(
        model="fake-1", base_url=fake_openai.base_url, api_key="none", max_retries=0, timeout=9
    )
    await (model | StrOutputParser()).ainvoke("tax", config={"callbacks": [handler]})
    assert [p async for p in (model | StrOutputParser()).astream("tax", config={"callbacks": [handler]})]
    assert len(spans.of_kind("generation")) == 2


def test_a_call_in_a_langchain_lambda_is_one_of_its_steps(client, spans):
    """The client called from a function of the app's inside a chain: its generation stands under the chain."""
    handler = langchain.RagtraceCallbackHandler(tracer_provider=spans.provider)
    chain = RunnableLambda(lambda _: client.chat.completions.create(**CHAT).choices[0].message.content)
    chain.invoke("tax", config={"callbacks": [handler]})
    root, generation = spans.one("interaction"), spans.one("generation")
    assert generation.parent.span_id == root.context.span_id
    assert root.attributes["output.value"] == ANSWER


def test_suppressed_tracing_is_respected(client, spans):
    """A judge's own calls leave no span."""
    token = otel.attach(otel.set_value("suppress_instrumentation", True))
    try:
        client.chat.completions.create(**CHAT)
    finally:
        otel.detach(token)
    assert spans.all() == []


def test_switching_off_restores_the_client(client, spans):
    """The methods are the client's own again; signatures were never changed."""
    patched = openai.resources.chat.Completions.create
    signature = inspect.signature(patched)
    integration.uninstrument()
    restored = openai.resources.chat.Completions.create
    assert restored is not patched
    assert inspect.signature(restored) == signature
    client.chat.completions.create(**CHAT)
    assert spans.all() == []
