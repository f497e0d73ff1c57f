"""The hooks on every shape of function."""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from opentelemetry import context as otel
from opentelemetry import trace as otel_trace
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

import ragtrace
from ragtrace import config
from ragtrace import semconv as names

DOCUMENTS = [{"id": "kb-1", "text": "Refunds take 3-5 days.", "score": 0.9, "source": "refunds.md"}]
FIRST = "retrieval.documents.0.document."


@ragtrace.retriever
def search(query: str) -> list[dict[str, Any]]:
    return DOCUMENTS


@ragtrace.generator(model="gpt-x")
def complete(prompt: str, documents: list[dict[str, Any]]) -> str:
    return "3-5 days [1]."


@ragtrace.trace
def ask(question: str) -> str:
    return complete(f"Answer: {question}", search(question))


@ragtrace.trace
def stream(question: str) -> Iterator[str]:
    search(question)
    yield "3-5 "
    yield "days"


@ragtrace.trace
async def astream(question: str) -> AsyncIterator[str]:
    search(question)
    for piece in ("3-5 ", "days"):
        yield piece
        await asyncio.sleep(0)


async def test_a_plain_function_gives_an_interaction_with_a_retrieval_and_a_generation(spans: Any) -> None:
    """One call is one trace: question and answer on the entry, documents on the retrieval, text on the model call."""
    assert ask("How long?") == "3-5 days [1]."
    entry, retrieval, generation = (spans()[name] for name in ("ask", "search", "complete"))
    assert entry.parent is None
    assert retrieval.parent.span_id == generation.parent.span_id == entry.context.span_id
    assert entry.attributes[names.KIND] == names.KIND_INTERACTION
    assert entry.attributes[names.INPUT_VALUE] == "How long?"
    assert entry.attributes[names.OUTPUT_VALUE] == "3-5 days [1]."
    assert retrieval.attributes[names.OI_SPAN_KIND] == "RETRIEVER"
    assert retrieval.attributes[FIRST + "id"] == "kb-1"
    assert retrieval.attributes[FIRST + "content"] == "Refunds take 3-5 days."
    assert retrieval.attributes[FIRST + "score"] == 0.9
    assert generation.attributes[names.OI_SPAN_KIND] == "LLM"
    assert generation.attributes[names.GEN_AI_REQUEST_MODEL] == "gpt-x"
    assert generation.attributes[names.INPUT_VALUE] == "Answer: How long?"


async def test_an_async_function_is_awaited_inside_its_span(spans: Any) -> None:
    """Spans that the coroutine opens are its children, and it stays a coroutine function."""

    @ragtrace.trace
    async def aask(question: str) -> dict[str, str]:
        await asyncio.sleep(0)
        search(question)
        return {"answer": "3-5 days"}

    assert inspect.iscoroutinefunction(aask)
    assert await aask("How long?") == {"answer": "3-5 days"}
    assert spans()["aask"].attributes[names.OUTPUT_VALUE] == "3-5 days"
    assert spans()["search"].parent.span_id == spans()["aask"].context.span_id


def test_a_method_is_hooked_without_taking_self_for_the_question(spans: Any) -> None:
    """``self`` and ``cls`` are skipped; static and class methods work in either order of decorators."""

    class Bot:
        @ragtrace.trace
        def ask(self, text: str) -> str:
            return "a"

        @ragtrace.retriever
        @classmethod
        def find(cls, query: str) -> list[str]:
            return ["d"]

        @staticmethod
        @ragtrace.retriever
        def look(query: str) -> list[str]:
            return ["d"]

    bot = Bot()
    assert (bot.ask("q1"), bot.find("q2"), Bot.look("q3")) == ("a", ["d"], ["d"])
    questions = {
        name.rpartition(".")[2]: span.attributes[names.INPUT_VALUE] for name, span in spans().items()
    }
    assert questions == {"ask": "q1", "find": "q2", "look": "q3"}


def test_an_exhausted_stream_is_whole(spans: Any) -> None:
    """A generator stays one, gives what it gave, and its pieces become the answer."""
    assert inspect.isgeneratorfunction(stream)
    assert list(stream("How long?")) == ["3-5 ", "days"]
    entry = spans()["stream"]
    assert entry.attributes[names.OUTPUT_VALUE] == "3-5 days"
    assert names.PARTIAL not in entry.attributes


def test_a_stream_that_is_closed_early_is_partial_and_no_error(spans: Any) -> None:
    """close() ends the span with what was given so far."""
    running = stream("How long?")
    next(running)
    running.close()
    entry = spans()["stream"]
    assert entry.attributes[names.OUTPUT_VALUE] == "3-5 "
    assert entry.attributes[names.PARTIAL] is True
    assert entry.status.status_code is StatusCode.UNSET


def test_breaking_out_of_a_stream_ends_its_span(spans: Any) -> None:
    """A for loop that breaks drops the generator, which ends the span."""
    for _ in stream("How long?"):
        break
    gc.collect()
    assert spans()["stream"].attributes[names.PARTIAL] is True


def test_a_stream_that_is_never_iterated_leaves_no_span(spans: Any) -> None:
    """Nothing ran, so nothing is recorded."""
    stream("How long?")
    gc.collect()
    assert spans() == {}


def test_between_two_items_the_consumer_is_outside_the_stream(spans: Any) -> None:
    """What the consumer traces while it holds a stream is no child of the stream."""
    running = stream("How long?")
    before = otel.get_current()
    next(running)
    assert otel.get_current() == before
    search("something else")
    list(running)
    assert spans()["stream"].context.trace_id != spans()["search"].context.trace_id


def test_interleaved_streams_keep_their_own_spans(exporter: InMemorySpanExporter) -> None:
    """Two streams that are read in turns do not become each other's children."""
    one, two = stream("q1"), stream("q2")
    assert [next(one), next(two), next(one), next(two)] == ["3-5 ", "3-5 ", "days", "days"]
    assert (list(one), list(two)) == ([], [])
    by_trace: dict[int, list[str]] = {}
    for span in exporter.get_finished_spans():
        by_trace.setdefault(span.context.trace_id, []).append(span.attributes[names.INPUT_VALUE])
    assert sorted(by_trace.values()) == [["q1", "q1"], ["q2", "q2"]]


def test_send_throw_and_return_pass_through(spans: Any) -> None:
    """A generator that is spoken to hears what was said, and its return value comes out."""

    @ragtrace.trace
    def echo(question: str) -> Any:
        heard = yield "ready"
        try:
            yield heard
        except LookupError:
            yield "caught"
        return "done"

    running = echo("q")
    assert next(running) == "ready"
    assert running.send("hello") == "hello"
    assert running.throw(LookupError) == "caught"
    with pytest.raises(StopIteration) as stop:
        next(running)
    assert stop.value.value == "done"
    assert spans()["echo"].attributes[names.OUTPUT_VALUE] == "readyhellocaught"


async def test_an_async_stream_is_followed_to_its_end_or_its_break(exporter: InMemorySpanExporter) -> None:
    """An async generator gives the whole answer when exhausted, a partial one when broken off."""
    assert inspect.isasyncgenfunction(astream)
    assert [piece async for piece in astream("q1")] == ["3-5 ", "days"]
    running = astream("q2")
    async for _ in running:
        break
    await running.aclose()
    ended = [span for span in exporter.get_finished_spans() if span.name == "astream"]
    assert [(s.attributes[names.OUTPUT_VALUE], s.attributes.get(names.PARTIAL)) for s in ended] == [
        ("3-5 days", None),
        ("3-5 ", True),
    ]


async def test_a_cancelled_task_ends_its_span_as_partial(spans: Any) -> None:
    """Cancellation passes through and is no error of the step."""
    started = asyncio.Event()

    @ragtrace.trace
    async def wait(question: str) -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    task = asyncio.create_task(wait("q"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert spans()["wait"].attributes[names.PARTIAL] is True
    assert spans()["wait"].status.status_code is StatusCode.UNSET


def test_an_exception_passes_through_and_is_named(spans: Any) -> None:
    """The app sees its own exception; the span says its type."""

    @ragtrace.trace
    def fail(question: str) -> str:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        fail("q")
    assert spans()["fail"].status.status_code is StatusCode.ERROR
    assert spans()["fail"].attributes[names.ERROR_TYPE] == "LookupError"


def test_results_come_back_as_the_very_same_objects(spans: Any) -> None:
    """A hook changes nothing: lists are the same lists, a generator that a plain function returns is not read."""
    pieces = (piece for piece in "ab")

    @ragtrace.generator
    def lazy(prompt: str) -> Iterator[str]:
        return pieces

    assert search("q") is DOCUMENTS
    assert lazy("p") is pieces
    assert list(pieces) == ["a", "b"]


def test_a_trace_inside_a_trace_is_one_interaction(spans: Any) -> None:
    """The inner one is a plain step."""

    @ragtrace.trace
    def outer(question: str) -> str:
        return ask(question)

    outer("q")
    assert spans()["outer"].attributes[names.KIND] == names.KIND_INTERACTION
    assert names.KIND not in spans()["ask"].attributes
    assert spans()["ask"].parent.span_id == spans()["outer"].context.span_id


def test_a_retriever_alone_is_a_root(spans: Any) -> None:
    """Without an interaction around it, its span begins a trace."""
    search("q")
    assert spans()["search"].parent is None


def test_an_empty_retrieval_is_recorded_as_empty(spans: Any) -> None:
    """[] is not the same as nothing recorded."""

    @ragtrace.retriever
    def nothing(query: str) -> list[str]:
        return []

    nothing("q")
    assert spans()["nothing"].attributes[names.DOCUMENTS] == "[]"


def test_a_reranker_records_what_went_in_and_what_came_out(spans: Any) -> None:
    """Scores that changed are the reranker's own."""

    @ragtrace.reranker
    def rerank(query: str, docs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**docs[1], "score": 0.99}, {**docs[0], "score": 0.01}]

    rerank("q", [{"id": "a", "text": "A", "score": 0.5}, {"id": "b", "text": "B", "score": 0.4}])
    a = spans()["rerank"].attributes
    assert a[names.OI_SPAN_KIND] == "RERANKER"
    assert [a[f"reranker.input_documents.{i}.document.id"] for i in (0, 1)] == ["a", "b"]
    assert [a[f"reranker.output_documents.{i}.document.id"] for i in (0, 1)] == ["b", "a"]
    assert a["reranker.output_documents.0.document.rerank_score"] == 0.99
    assert "reranker.input_documents.0.document.rerank_score" not in a
    assert a[names.RERANKER_QUERY] == "q"


def test_documents_handed_to_the_model_are_recorded_when_they_differ_from_the_retrieved(spans: Any) -> None:
    """What reached the prompt is what counts: the same list says nothing new, a shorter one does."""

    @ragtrace.retriever
    def find(query: str) -> list[str]:
        return ["one", "two", "three"]

    @ragtrace.trace
    def same(question: str) -> str:
        return complete(question, find(question))

    @ragtrace.trace
    def fewer(question: str) -> str:
        return complete(question, find(question)[1:])

    same("q")
    fewer("q")
    assert FIRST + "content" not in spans()["same"].attributes
    assert spans()["fewer"].attributes[FIRST + "content"] == "two"


def test_extractors_of_the_user_win(spans: Any) -> None:
    """Question, documents and answer can be said outright."""

    @ragtrace.trace(
        name="qa",
        question=lambda event: event["body"]["ask"],
        documents=lambda result: result["seen"],
        answer=lambda result: result["said"],
    )
    def handle(event: dict[str, Any]) -> dict[str, Any]:
        return {"seen": ["doc"], "said": "yes", "answer": "not this"}

    handle({"body": {"ask": "really?"}})
    a = spans()["qa"].attributes
    assert (a[names.INPUT_VALUE], a[names.OUTPUT_VALUE], a[FIRST + "content"]) == ("really?", "yes", "doc")


def test_an_extractor_that_raises_costs_only_itself(spans: Any) -> None:
    """The app gets its result and the span is there."""

    @ragtrace.trace(answer=lambda result: result["no such key"])
    def handle(question: str) -> dict[str, str]:
        return {"answer": "a"}

    assert handle("q") == {"answer": "a"}
    assert spans()["handle"].attributes[names.INPUT_VALUE] == "q"


def test_chat_messages_give_question_and_history(spans: Any) -> None:
    """The last thing the user said is the question, what was said before are turns."""

    @ragtrace.trace
    def chat(messages: list[dict[str, str]]) -> str:
        return "2018"

    chat(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Who founded OpenAI?"},
            {"role": "assistant", "content": "Altman, Musk and others."},
            {"role": "user", "content": "When did Musk leave?"},
        ]
    )
    a = spans()["chat"].attributes
    assert a[names.INPUT_VALUE] == "When did Musk leave?"
    assert a[names.HISTORY] == '[{"question": "Who founded OpenAI?", "answer": "Altman, Musk and others."}]'


def test_records_go_to_the_step_they_speak_of(spans: Any) -> None:
    """Documents recorded in a retriever are its own, whatever it returns; the rest belongs to the interaction."""

    @ragtrace.retriever
    def find(query: str) -> str:
        ragtrace.record_documents([{"id": "x", "content": "recorded"}])
        ragtrace.record_rewritten_question("When did Elon Musk leave OpenAI?")
        return "a joined context"

    @ragtrace.trace
    def chat(question: str) -> None:
        find(question)
        ragtrace.record_question("And him?")
        ragtrace.record_history([("Who founded OpenAI?", "Musk and others.")])
        ragtrace.record_answer("In 2018.")
        ragtrace.record_reference("February 2018")
        ragtrace.record_gold({"x": 2.0})
        ragtrace.record_feedback("thumb", True)
        ragtrace.record_feedback("stars", 4, "fine")
        ragtrace.record_session("s-1", user="u-1")

    chat("raw")
    entry, retrieval = spans()["chat"].attributes, spans()["find"].attributes
    assert retrieval[FIRST + "content"] == "recorded"
    assert entry[names.INPUT_VALUE] == "And him?"
    assert entry[names.OUTPUT_VALUE] == "In 2018."
    assert entry[names.REWRITTEN_QUESTION] == "When did Elon Musk leave OpenAI?"
    assert entry[names.REFERENCE] == "February 2018"
    assert entry[names.GOLD] == '{"x": 2.0}'
    assert (entry[names.SESSION_ID], entry[names.USER_ID]) == ("s-1", "u-1")
    assert '"stars", "value": 4, "comment": "fine"' in entry[names.FEEDBACK]


def test_documents_recorded_without_a_retriever_are_on_the_entry(spans: Any) -> None:
    """An app that hooks nothing but its entry can still say what it used."""
    with ragtrace.start_interaction("q"):
        ragtrace.record_documents(["used"])
        ragtrace.record_answer("a")
    a = spans()["interaction"].attributes
    assert (a[names.INPUT_VALUE], a[FIRST + "content"], a[names.OUTPUT_VALUE]) == ("q", "used", "a")


def test_the_context_managers_end_their_spans_when_the_block_raises(spans: Any) -> None:
    """The exception passes through."""
    with pytest.raises(LookupError), ragtrace.start_interaction("q"), ragtrace.start_retrieval("sub-query"):
        raise LookupError
    assert spans()["retrieve"].attributes[names.ERROR_TYPE] == "LookupError"
    assert spans()["interaction"].attributes[names.PARTIAL] is True


def test_records_outside_an_interaction_do_nothing(spans: Any) -> None:
    """They never raise."""
    ragtrace.record_answer("a")
    ragtrace.record_documents(object())
    ragtrace.record_gold({})
    assert spans() == {}


def test_suppressed_instrumentation_is_respected(spans: Any) -> None:
    """A judge's own calls, made under OpenTelemetry's suppression key, leave no spans."""
    token = otel.attach(otel.set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))
    try:
        assert ask("q") == "3-5 days [1]."
    finally:
        otel.detach(token)
    assert spans() == {}


@pytest.mark.parametrize("name", ["RAGTRACE_ENABLED", "RAGTRACE_CAPTURE_CONTENT"])
def test_hooks_and_content_can_be_switched_off(name: str, spans: Any) -> None:
    """Off: no span at all. Without content: spans that hold no text, and still count the documents."""
    config.use(config.resolve({name: "false"}))
    assert ask("a secret question") == "3-5 days [1]."
    texts = [str(value) for span in spans().values() for value in span.attributes.values()]
    assert not any("secret" in text or "days" in text or "refunds.md" in text for text in texts)
    assert len(spans()) == (0 if name == "RAGTRACE_ENABLED" else 3)
    if spans():
        assert spans()["search"].attributes[FIRST + "id"] == "kb-1"


def test_spans_that_code_holds_open_over_a_yield_stay_its_own(spans: Any) -> None:
    """A span opened inside a stream is current again, for the stream alone, at the next item."""
    tracer = otel_trace.get_tracer("app")
    seen: list[bool] = []

    @ragtrace.trace
    def held(question: str) -> Iterator[str]:
        with tracer.start_as_current_span("held open"):
            inside = otel.get_current()
            yield "a"
            seen.append(otel.get_current() == inside)
            yield "b"

    outside = otel.get_current()
    for _ in held("q"):
        seen.append(otel.get_current() == outside)
    assert seen == [True, True, True]


def test_a_partial_of_an_async_function_is_awaited(spans: Any) -> None:
    """functools.partial objects keep their function's shape."""

    async def answer(style: str, question: str) -> str:
        return f"{style}: {question}"

    hooked = ragtrace.trace(functools.partial(answer, "brief"))
    assert asyncio.run(hooked("q")) == "brief: q"
    assert next(iter(spans().values())).attributes[names.OUTPUT_VALUE] == "brief: q"


def test_streamed_server_sent_events_lose_their_framing(spans: Any) -> None:
    """The answer is what the events carry."""

    @ragtrace.trace
    def events(question: str) -> Iterator[str]:
        for piece in ("3-5", " days", "[DONE]"):
            yield f"data: {piece}\n\n"

    assert list(events("q")) == ["data: 3-5\n\n", "data:  days\n\n", "data: [DONE]\n\n"]
    assert spans()["events"].attributes[names.OUTPUT_VALUE] == "3-5 days"


def test_a_turn_between_documents_and_text_in_a_stream_keeps_both(spans: Any) -> None:
    """A streaming retriever's items are its documents."""

    @ragtrace.retriever
    def crawl(query: str) -> Iterator[str]:
        yield "first page"
        yield "second page"

    assert list(crawl("q")) == ["first page", "second page"]
    assert spans()["crawl"].attributes["retrieval.documents.1.document.content"] == "second page"
