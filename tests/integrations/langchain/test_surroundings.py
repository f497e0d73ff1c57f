"""What is around a chain: a request's span, hooks, other instrumentation, plain threads, suppressed tracing."""

from __future__ import annotations

import gc
import logging
import weakref
from types import ModuleType

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from opentelemetry import context as otel
from opentelemetry import trace
from pydantic import BaseModel

import ragtrace
from ragtrace import _steps as steps
from ragtrace_integrations._peers import PEERS, recording_peer
from ragtrace_integrations.langchain import RagtraceCallbackHandler, instrument, uninstrument


@pytest.fixture
def hooks(spans):
    """Send the hooks' spans where the handler's go."""
    steps.use_provider(spans.provider)
    yield
    steps.use_provider(None)


@pytest.fixture
def everywhere(spans):
    """LangChain recorded in the whole process."""
    yield instrument(tracer_provider=spans.provider)
    uninstrument()


def test_a_chain_is_a_child_of_the_request_it_runs_in(chain, handler, spans):
    """Where a server span is current, the interaction belongs to its trace."""
    with spans.provider.get_tracer("server").start_as_current_span("GET /ask") as request:
        chain.invoke("refunds", config={"callbacks": [handler]})
    assert spans.one("interaction").parent.span_id == request.get_span_context().span_id


def test_callbacks_leave_the_current_context_alone(chain, handler, spans):
    """No span of a run is ever made current: what the app does between two pieces is not inside the chain."""
    before = otel.get_current()
    for _ in chain.stream("refunds", config={"callbacks": [handler]}):
        assert trace.get_current_span() is trace.INVALID_SPAN
    assert otel.get_current() == before


def test_a_chain_inside_a_traced_function_is_no_second_interaction(chain, handler, spans, hooks, said, about):
    """The function is the interaction; the chain, its retrieval and its generation are its steps."""

    @ragtrace.trace
    def ask(question: str) -> str:
        return chain.invoke(question, config={"callbacks": [handler]})

    ask("refunds")
    root = spans.one("interaction")
    assert root.name == "ask" or root.name.endswith("ask")
    assert (root.attributes["input.value"], root.attributes["output.value"]) == ("refunds", said("refunds"))
    (inner,) = spans.children(root)
    assert inner.name == "rag"
    assert spans.documents(spans.one("retrieval")) == about("refunds")
    assert len({s.context.trace_id for s in spans.all()}) == 1


def test_a_hooked_function_inside_a_chain_is_one_of_its_steps(model, handler, spans, hooks):
    """A lambda that calls a hooked retriever: its span stands under the chain, on pool threads too."""

    @ragtrace.retriever
    def search(query: str) -> list[Document]:
        return [Document(id="d1", page_content="Law of " + query)]

    chain = {"context": RunnableLambda(search), "question": RunnableLambda(str)} | RunnableLambda(str) | model
    chain.invoke("tax", config={"callbacks": [handler]})
    root, retrieval = spans.one("interaction"), spans.one("retrieval")
    assert retrieval.parent.span_id == root.context.span_id
    assert spans.documents(retrieval) == [("d1", "Law of tax")]


async def test_a_hooked_coroutine_inside_an_awaited_chain_is_one_of_its_steps(handler, spans, hooks):
    """As above, on an event loop; with hooks alone below it, the chain is an interaction still."""

    @ragtrace.retriever
    async def search(query: str) -> list[Document]:
        return [Document(id="d1", page_content="Law of " + query)]

    await RunnableLambda(search).ainvoke("tax", config={"callbacks": [handler]})
    assert spans.one("retrieval").parent.span_id == spans.one("interaction").context.span_id


def test_what_the_app_records_itself_outranks_what_was_found(model, handler, spans, hooks):
    """``record_*`` inside a chain speaks of the chain's interaction."""

    def note(text: str) -> str:
        ragtrace.record_question("What is tax?")
        ragtrace.record_reference("A levy.")
        return text

    (RunnableLambda(note) | model).invoke("tax", config={"callbacks": [handler]})
    attributes = spans.one("interaction").attributes
    assert (attributes["input.value"], attributes["ragtrace.reference"]) == ("What is tax?", "A levy.")


def test_one_line_records_the_whole_process(everywhere, chain, spans, said, in_thread):
    """Calls without any callback are recorded, in plain threads too, which inherit no context."""
    chain.invoke("here")
    in_thread(lambda: chain.invoke("there"))
    found = {s.attributes["input.value"]: s.attributes["output.value"] for s in spans.of_kind("interaction")}
    assert found == {"here": said("here"), "there": said("there")}


def test_a_handler_beside_the_one_line_is_not_told_twice(everywhere, chain, handler, spans):
    """A call that is given a handler of its own is recorded by that alone."""
    chain.invoke("refunds", config={"callbacks": [handler]})
    assert len(spans.all()) == 3


def test_nothing_is_recorded_once_switched_off(spans, chain):
    """After ``uninstrument`` calls leave no span; after the next ``instrument`` they do."""
    instrument(tracer_provider=spans.provider)
    uninstrument()
    chain.invoke("one")
    assert spans.all() == []
    instrument(tracer_provider=spans.provider)
    chain.invoke("two")
    uninstrument()
    assert [s.attributes["input.value"] for s in spans.of_kind("interaction")] == ["two"]


def test_switching_off_ends_what_is_under_way(spans, chain):
    """A stream that is being read when recording stops ends as cut short and can be read on."""
    handler = instrument(tracer_provider=spans.provider)
    stream = chain.stream("refunds")
    next(stream)
    uninstrument()
    assert spans.one("interaction").attributes["ragtrace.partial"] is True
    assert (spans.still_open, handler.open_runs) == ({}, 0)
    assert len(list(stream)) > 1


def test_suppressed_tracing_is_respected(chain, handler, spans):
    """Where instrumentation is suppressed (a judge calls its model) nothing is recorded."""
    token = otel.attach(otel.set_value("suppress_instrumentation", True))
    try:
        chain.invoke("refunds", config={"callbacks": [handler]})
    finally:
        otel.detach(token)
    assert (spans.all(), handler.open_runs) == ([], 0)


class _Instrumentor:
    """Another instrumentation of LangChain, as its packages announce it."""

    on = True

    @property
    def is_instrumented_by_opentelemetry(self) -> bool:
        return self.on


@pytest.fixture
def peer(monkeypatch):
    """OpenInference switched on."""
    module, name = PEERS["langchain"][0]
    fake = ModuleType(module)
    setattr(fake, name, _Instrumentor)
    monkeypatch.setitem(__import__("sys").modules, module, fake)


def test_ours_stands_back_where_another_instrumentation_records(peer, chain, handler, spans, caplog):
    """One request must not become two interactions: the other's spans are read by the collector."""
    with caplog.at_level(logging.INFO, "ragtrace"):
        chain.invoke("refunds", config={"callbacks": [handler]})
    assert (spans.all(), handler.open_runs) == ([], 0)


def test_ours_records_beside_another_when_told_to(peer, chain, spans):
    """``always`` is for those whose other instrumentation sends its spans elsewhere."""
    handler = RagtraceCallbackHandler(tracer_provider=spans.provider, always=True)
    chain.invoke("refunds", config={"callbacks": [handler]})
    assert len(spans.all()) == 3


def test_an_instrumentation_that_is_only_installed_is_no_reason_to_stand_back():
    """Imported, but switched off."""
    module, name = PEERS["langchain"][0]
    fake = ModuleType(module)
    setattr(fake, name, type("Off", (_Instrumentor,), {"on": False}))
    assert recording_peer("langchain", {module: fake}) is None


def test_a_fault_of_ours_never_reaches_the_app(model, handler, spans, said):
    """Input whose reading raises costs the interaction its question, not the app its answer."""

    class Hostile(dict):
        def get(self, *_):
            raise RuntimeError("no")

        def items(self):
            raise RuntimeError("no")

    chain = RunnableLambda(lambda _: "refunds") | model
    assert chain.invoke(Hostile(), config={"callbacks": [handler]}).content == said("refunds")
    assert spans.still_open == {}


def test_a_closed_run_holds_nothing_of_the_apps(chain, handler, spans):
    """Closed runs are remembered for late children, without the documents that went through them."""
    big = Document(id="big", page_content="x")
    kept = weakref.ref(big)
    holder = [big]
    del big
    RunnableLambda(lambda _: list(holder)).invoke("q", config={"callbacks": [handler]})
    holder.clear()
    spans.exporter.clear()
    gc.collect()
    assert kept() is None


def test_an_output_that_cannot_be_read_ends_its_span(model, handler, spans):
    """What raises when it is read costs the span its content; it still ends, and so do those above it."""

    class Unreadable(BaseModel):
        answer: str = "x"

        def __getattribute__(self, name):
            if name == "answer":
                raise RuntimeError("not for you")
            return super().__getattribute__(name)

    chain = model | RunnableLambda(lambda _: Unreadable())
    chain.invoke("refunds", config={"callbacks": [handler]})
    assert {s.name for s in spans.all()} == {"ChatOpenAI", "RunnableSequence"}
    assert (spans.still_open, handler.open_runs) == ({}, 0)
