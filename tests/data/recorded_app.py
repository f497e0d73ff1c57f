"""A tiny RAG app in several framework's clothes, run by ``record_traces.py`` inside a throw-away environment.

usage: recorded_app.py CLOTHES SCENARIO

Only what CLOTHES needs is imported. Spans go where ``OTEL_EXPORTER_OTLP_ENDPOINT`` says, the model is whatever
answers at ``OPENAI_BASE_URL``. The last line printed is what the app really did, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

MODEL = "gpt-4o-mini"
SYSTEM = "Answer from the numbered context only and cite like [1]."
HANDBOOK = {
    "loan-1": "Books may be kept for three weeks and renewed twice, unless somebody has reserved them.",
    "loan-2": "A book that comes back late costs twenty cents a day, five euros at most.",
    "room-1": "Reading rooms are open from eight in the morning to ten at night, also on Sundays.",
    "借阅-1": "图书可借阅三周,无人预约时可续借两次。",
    "借阅-2": "逾期每天收取两角,最高不超过三十元。",
}
QUESTIONS = {
    "basic": "How long may books be kept?",
    "zh": "图书可借阅多久?",
    "empty": "Quack?",
    "error": "boom: how long may books be kept?",
    "multi": "How long may books be kept, and what does a late book cost?",
    "rerank": "How long may books be kept?",
    "batch": "图书可借阅多久?",
}
Row = dict[str, Any]


def words(text: str) -> set[str]:
    """Words of the text, Chinese by pairs of characters."""
    latin = {
        w
        for w in re.findall(r"[a-z]{3,}", text.lower())
        if w not in {"how", "may", "and", "the", "are", "for"}
    }
    chinese = "".join(re.findall(r"[\u4e00-\u9fff]", text))
    return latin | {chinese[i : i + 2] for i in range(len(chinese) - 1)}


def search(query: str, count: int = 2) -> list[Row]:
    """The documents that share words with the query, best first."""
    asked = words(query)
    rows = [
        {
            "id": key,
            "text": text,
            "score": round(len(asked & words(text)) / len(asked), 6),
            "metadata": {"shelf": key[-1]},
        }
        for key, text in HANDBOOK.items()
        if asked & words(text)
    ]
    return sorted(rows, key=lambda row: -row["score"])[:count]


def rerank(query: str, rows: Sequence[Row]) -> list[Row]:
    """The other way round, with numbers of another kind."""
    del query
    return [{**row, "score": 9.5 - 3 * rank} for rank, row in enumerate(reversed(rows))]


def numbered(rows: Sequence[Row]) -> str:
    """The documents as the prompt holds them."""
    return "\n".join(f"[{n}] {row['text']}" for n, row in enumerate(rows, 1))


def messages(question: str, rows: Sequence[Row]) -> list[dict[str, str]]:
    """What the model is given."""
    return [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"Context:\n{numbered(rows)}\n\nQuestion: {question}"},
    ]


def queries(question: str, scenario: str) -> list[str]:
    """The question, or its two halves."""
    return [half.strip() for half in question.split(", and")] if scenario == "multi" else [question]


def fused(lists: Sequence[Sequence[Row]]) -> list[Row]:
    """The last list's documents first, each once."""
    return list({row["id"]: row for rows in reversed(lists) for row in rows}.values())


def report(question: str, rows: Sequence[Row], answer: str | None, **more: Any) -> None:
    """Print what really happened."""
    print(
        json.dumps(
            {"question": question, "contexts": list(rows), "answer": answer, **more}, ensure_ascii=False
        )
    )


def provider(logs: bool = False) -> Any:
    """An SDK that exports over OTLP/HTTP, one span a request."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    made = TracerProvider(resource=Resource({"service.name": "library"}))
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(made)
    if logs:
        _log_provider()
    return made


def _log_provider() -> None:
    from opentelemetry._logs import set_logger_provider
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor

    made = LoggerProvider()
    made.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter()))
    set_logger_provider(made)
    try:
        from opentelemetry._events import set_event_logger_provider
        from opentelemetry.sdk._events import EventLoggerProvider

        set_event_logger_provider(EventLoggerProvider(made))
    except ImportError:  # newer SDKs have no events of their own
        pass


def ask(client: Any, question: str, rows: Sequence[Row]) -> str:
    """One model call."""
    reply = client.chat.completions.create(model=MODEL, messages=messages(question, rows))
    return str(reply.choices[0].message.content)


# --- plain OpenAI client, spans by hand -------------------------------------------------------------------


def by_hand(
    scenario: str, around: Callable[[str, dict[str, Any]], Any], found: Callable[[Any, Sequence[Row]], None]
) -> None:
    """The app with a span around each step: ``around(step, input)`` opens one, ``found`` puts documents on it."""
    import openai

    question = QUESTIONS[scenario]
    rows: list[Row] = []
    answer = None
    with contextlib.suppress(openai.OpenAIError), around("ask", {"question": question}) as root:
        lists = []
        for query in queries(question, scenario):
            with around("search", {"query": query}) as span:
                lists.append(search(query))
                found(span, lists[-1])
        rows = fused(lists)
        answer = ask(openai.OpenAI(max_retries=0), question, rows)
        root.set_attribute("output.value", answer)
    report(question, rows, answer)


def openinference_openai(scenario: str) -> None:
    """OpenInference's OpenAI instrumentation, OpenInference keys by hand around it."""
    from openinference.instrumentation.openai import OpenAIInstrumentor
    from opentelemetry import trace

    sdk = provider()
    OpenAIInstrumentor().instrument(tracer_provider=sdk)

    def around(step: str, given: dict[str, Any]) -> Any:
        kind = "RETRIEVER" if step == "search" else "CHAIN"
        value = next(iter(given.values()))
        attributes = {"openinference.span.kind": kind, "input.value": value}
        return trace.get_tracer("library").start_as_current_span(step, attributes=attributes)

    def found(span: Any, rows: Sequence[Row]) -> None:
        for i, row in enumerate(rows):
            prefix = f"retrieval.documents.{i}.document."
            span.set_attribute(prefix + "id", row["id"])
            span.set_attribute(prefix + "content", row["text"])
            span.set_attribute(prefix + "score", row["score"])
            span.set_attribute(prefix + "metadata", json.dumps(row["metadata"]))

    by_hand(scenario, around, found)
    sdk.force_flush()


def _semconv(scenario: str, sdk: Any, content: bool) -> None:
    from opentelemetry import trace

    def around(step: str, given: dict[str, Any]) -> Any:
        attributes = {"gen_ai.operation.name": "invoke_workflow"}
        if step == "search":
            attributes = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": given["query"]}
        return trace.get_tracer("library").start_as_current_span(step, attributes=attributes)

    def found(span: Any, rows: Sequence[Row]) -> None:
        keys = ("id", "score", "content", "metadata") if content else ("id", "score")
        listed = [{key: row["text"] if key == "content" else row[key] for key in keys} for row in rows]
        span.set_attribute("gen_ai.retrieval.documents", json.dumps(listed))

    by_hand(scenario, around, found)
    sdk.force_flush()


def openai_v2(scenario: str) -> None:
    """OpenTelemetry's own OpenAI instrumentation, content in log records."""
    from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor

    sdk = provider(logs=True)
    OpenAIInstrumentor().instrument()
    _semconv(scenario, sdk, content=True)


def traceloop_openai(scenario: str) -> None:
    """Traceloop's OpenAI instrumentation; the retrieval lists ids and scores only."""
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    sdk = provider()
    OpenAIInstrumentor().instrument(tracer_provider=sdk)
    _semconv(scenario, sdk, content=False)


def langfuse_observe(scenario: str) -> None:
    """Langfuse's decorator, and its OpenAI client where this version's works with the client installed."""
    import openai
    from langfuse import get_client, observe

    try:
        from langfuse.openai import OpenAI
    except Exception:  # an old version that does not know the new client
        from openai import OpenAI
    question = QUESTIONS[scenario]
    rows: list[Row] = []

    @observe(as_type="retriever") if _knows_types(observe) else observe()
    def search_handbook(query: str) -> list[Row]:
        return search(query)

    @observe()
    def order(query: str, found: list[Row]) -> list[Row]:
        return rerank(query, found)

    @observe()
    def answer_question(question: str) -> str:
        found = fused([search_handbook(query) for query in queries(question, scenario)])
        rows.extend(order(question, found) if scenario == "rerank" else found)
        return ask(OpenAI(max_retries=0), question, rows)

    answer = None
    with contextlib.suppress(openai.OpenAIError):
        answer = answer_question(question)
    get_client().flush()
    report(question, rows, answer)


def _knows_types(observe: Any) -> bool:
    try:
        observe(as_type="retriever")
    except Exception:
        return False
    return True


# --- frameworks -------------------------------------------------------------------------------------------


def openinference_langchain(scenario: str) -> None:
    """LangChain's expression language under OpenInference."""
    from openinference.instrumentation.langchain import LangChainInstrumentor

    sdk = provider()
    LangChainInstrumentor().instrument(tracer_provider=sdk)
    _langchain(scenario)
    sdk.force_flush()


def _langchain(scenario: str, config: Any = None) -> None:
    from langchain_core.documents import Document
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableLambda, RunnablePassthrough
    from langchain_openai import ChatOpenAI

    found: dict[str, list[Row]] = {}

    class HandbookRetriever(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            found[query] = search(query)
            return [
                Document(
                    id=row["id"],
                    page_content=row["text"],
                    metadata={**row["metadata"], "score": row["score"]},
                )
                for row in found[query]
            ]

    def fmt(documents: list[Document]) -> str:
        return "\n".join(f"[{n}] {d.page_content}" for n, d in enumerate(documents, 1))

    prompt = ChatPromptTemplate.from_messages(
        [("system", SYSTEM + "\n\nContext:\n{context}"), ("user", "{question}")]
    )

    def both(lists: list[list[Document]]) -> list[Document]:
        return list({d.id: d for documents in reversed(lists) for d in documents}.values())

    retriever: Any = HandbookRetriever()
    if scenario == "multi":
        retriever = RunnableLambda(lambda question: queries(question, scenario)) | retriever.map() | both
    given = {"context": retriever | RunnableLambda(fmt), "question": RunnablePassthrough()}
    chain = given | prompt | ChatOpenAI(model=MODEL, max_retries=0) | StrOutputParser()
    question, answer, more = QUESTIONS[scenario], None, {}
    try:
        if scenario == "batch":
            asked = [QUESTIONS["basic"], question]
            answers = chain.batch(asked, config)
            turns = zip(asked, answers, strict=True)
            more["turns"] = [{"question": q, "contexts": found[q], "answer": a} for q, a in turns]
            answer = answers[-1]
        else:
            answer = chain.invoke(question, config)
    except Exception as error:
        if scenario != "error":
            raise SystemExit(f"unexpected: {error!r}") from error
    rows = fused([found.get(query, []) for query in queries(question, scenario)])
    report(question, rows, answer, **more)


def langfuse_langchain(scenario: str) -> None:
    """LangChain under Langfuse's callback handler."""
    from langfuse import get_client
    from langfuse.langchain import CallbackHandler

    _langchain(scenario, {"callbacks": [CallbackHandler()]})
    get_client().flush()


def genai_llama_index(scenario: str) -> None:
    """LlamaIndex and its model's client under OpenTelemetry's own instrumentations: a trace for each step."""
    import os

    from llama_index.core import get_response_synthesizer
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.llms.openai_like import OpenAILike
    from opentelemetry.instrumentation.genai.llama_index import LlamaIndexInstrumentor
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

    sdk = provider(logs=True)
    LlamaIndexInstrumentor().instrument(tracer_provider=sdk)
    OpenAIInstrumentor().instrument(tracer_provider=sdk)

    class HandbookRetriever(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [
                NodeWithScore(
                    node=TextNode(id_=row["id"], text=row["text"], metadata=row["metadata"]),
                    score=row["score"],
                )
                for row in search(query_bundle.query_str)
            ]

    base = os.environ["OPENAI_BASE_URL"]
    model = OpenAILike(
        model=MODEL, api_base=base, api_key="sk-none", is_chat_model=True, context_window=8_000
    )
    engine = RetrieverQueryEngine(HandbookRetriever(), get_response_synthesizer(llm=model))
    question = QUESTIONS[scenario]
    answer = str(engine.query(question))
    sdk.force_flush()
    report(question, search(question), answer)


def openlit_langchain(scenario: str) -> None:
    """LangChain under OpenLIT."""
    import openlit

    openlit.init(application_name="library", disable_metrics=True)
    _langchain(scenario)
    _flush()


def _flush() -> None:
    from opentelemetry import trace

    trace.get_tracer_provider().force_flush()  # type: ignore[attr-defined]


def pydantic_ai(scenario: str) -> None:
    """A Pydantic AI agent with a search tool."""
    from pydantic_ai import Agent

    sdk = provider(logs=True)
    Agent.instrument_all()
    agent = Agent(_chat_model(), **_instructions(Agent))
    rows: list[Row] = []

    @agent.tool_plain
    def search_handbook(query: str) -> list[Row]:
        """Search the library's handbook."""
        rows.extend(search(query))
        return rows

    question, answer = QUESTIONS[scenario], None
    try:
        result = agent.run_sync(question)
        answer = getattr(result, "output", None) or getattr(result, "data", None)
    except Exception as error:
        if scenario != "error":
            raise SystemExit(f"unexpected: {error!r}") from error
    sdk.force_flush()
    report(question, rows, answer)


def _chat_model() -> Any:
    """The model by its chat API; newer versions would take another by default."""
    from pydantic_ai.models import openai

    newer = getattr(openai, "OpenAIChatModel", None)
    return newer(MODEL) if newer is not None else openai.OpenAIModel(MODEL)


def _instructions(agent: Any) -> dict[str, Any]:
    import inspect

    return {
        "instructions" if "instructions" in inspect.signature(agent).parameters else "system_prompt": SYSTEM
    }


def smolagents_tools(scenario: str) -> None:
    """A smolagents agent that calls tools, under OpenInference."""
    from openinference.instrumentation.smolagents import SmolagentsInstrumentor
    from smolagents import OpenAIServerModel, ToolCallingAgent, tool

    sdk = provider()
    SmolagentsInstrumentor().instrument(tracer_provider=sdk)
    rows: list[Row] = []

    @tool
    def search_handbook(query: str) -> str:
        """Search the library's handbook.

        Args:
            query: what to look for
        """
        rows.extend(search(query))
        return json.dumps(rows, ensure_ascii=False)

    agent = ToolCallingAgent(tools=[search_handbook], model=OpenAIServerModel(model_id=MODEL), max_steps=4)
    question = QUESTIONS[scenario]
    answer = str(agent.run(question))
    sdk.force_flush()
    report(question, list({row["id"]: row for row in rows}.values()), answer)


def trulens_app(scenario: str) -> None:
    """A class under TruLens, exported over OTLP."""
    import openai
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from trulens.apps.app import TruApp
    from trulens.core import TruSession
    from trulens.core.otel.instrument import instrument
    from trulens.otel.semconv.trace import SpanAttributes

    rows: list[Row] = []

    class Library:
        @instrument(
            span_type=SpanAttributes.SpanType.RETRIEVAL,
            attributes={
                SpanAttributes.RETRIEVAL.QUERY_TEXT: "query",
                SpanAttributes.RETRIEVAL.RETRIEVED_CONTEXTS: "return",
            },
        )
        def search(self, query: str) -> list[str]:
            rows.extend(search(query))
            return [row["text"] for row in rows]

        @instrument(span_type=SpanAttributes.SpanType.GENERATION)
        def generate(self, question: str, texts: list[str]) -> str:
            del texts
            return ask(openai.OpenAI(max_retries=0), question, rows)

        @instrument(
            span_type=SpanAttributes.SpanType.RECORD_ROOT,
            attributes={
                SpanAttributes.RECORD_ROOT.INPUT: "question",
                SpanAttributes.RECORD_ROOT.OUTPUT: "return",
            },
        )
        def answer(self, question: str) -> str:
            return self.generate(question, self.search(question))

    session = TruSession(span_exporter=OTLPSpanExporter())
    library = Library()
    app = TruApp(library, app_name="library", app_version="1", main_method=library.answer)
    question = QUESTIONS[scenario]
    with app:
        answer = library.answer(question)
    session.force_flush()
    report(question, rows, answer)


CLOTHES: dict[str, Callable[[str], None]] = {
    "openinference-openai": openinference_openai,
    "openinference-langchain": openinference_langchain,
    "openai-v2": openai_v2,
    "traceloop-openai": traceloop_openai,
    "langfuse": langfuse_observe,
    "openlit-langchain": openlit_langchain,
    "langfuse-langchain": langfuse_langchain,
    "genai-llama-index": genai_llama_index,
    "pydantic-ai": pydantic_ai,
    "smolagents": smolagents_tools,
    "trulens": trulens_app,
}

if __name__ == "__main__":
    CLOTHES[sys.argv[1]](sys.argv[2])
