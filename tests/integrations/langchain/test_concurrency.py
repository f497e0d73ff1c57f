"""Two hundred requests at once through one handler, left, cancelled and broken at random."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import threading
from collections import defaultdict
from dataclasses import dataclass

import pytest
from langchain_core.documents import Document
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableParallel, RunnablePassthrough
from opentelemetry.trace import StatusCode

REQUESTS, SEED, WORDS = 200, 20261130, 8
FATES = ("call", "call", "stream", "stream", "leave", "leave", "fail", "cancel")


@dataclass(frozen=True)
class Request:
    number: int
    asynchronous: bool
    fate: str
    pieces: int
    """Pieces of the stream that are read before it is left."""

    @property
    def question(self) -> str:
        return f"{self.fate} {self.number}"


def _requests() -> list[Request]:
    dice = random.Random(SEED)
    made = []
    for number in range(REQUESTS):
        asynchronous, fate = dice.random() < 0.5, dice.choice(FATES)
        fate = "leave" if fate == "cancel" and not asynchronous else fate
        made.append(Request(number, asynchronous, fate, dice.randint(1, WORDS - 2)))
    return made


def _words(question: str) -> list[str]:
    return [f"{question.replace(' ', '-')}:{i} " for i in range(WORDS)]


class Found(BaseRetriever):
    side: str

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(id=f"{self.side}/{query}", page_content=f"{self.side} fact of {query}")]

    async def _aget_relevant_documents(self, query, *, run_manager):
        await asyncio.sleep(0)
        return self._get_relevant_documents(query, run_manager=run_manager)


class Echo(BaseChatModel):
    """Answers a question with words that only it can have; fails or hangs half-way when asked to."""

    @property
    def _llm_type(self):
        return "echo"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        question = messages[-1].content
        if question.startswith("fail"):
            raise ValueError("told to fail")
        return ChatResult(generations=[ChatGeneration(message=AIMessage("".join(_words(question))))])

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        for index, word in enumerate(_words(question := messages[-1].content)):
            if question.startswith("fail") and index == 3:
                raise ValueError("told to fail")
            yield ChatGenerationChunk(message=AIMessageChunk(word))

    async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
        for index, word in enumerate(_words(question := messages[-1].content)):
            await asyncio.sleep(0)
            if question.startswith("fail") and index == 3:
                raise ValueError("told to fail")
            if question.startswith("cancel") and index == 3:
                await asyncio.Event().wait()
            yield ChatGenerationChunk(message=AIMessageChunk(word))


def _chain():
    prompt = ChatPromptTemplate.from_messages([("system", "{left} {right}"), ("human", "{question}")])
    inputs = RunnableParallel(
        left=Found(side="left") | str, right=Found(side="right") | str, question=RunnablePassthrough()
    )
    return inputs | prompt | Echo() | StrOutputParser()


def _ask(chain, request, config):
    if request.fate == "call" or (request.fate == "fail" and request.number % 2):
        chain.invoke(request.question, config=config)
        return
    for index, _ in enumerate(chain.stream(request.question, config=config), 1):
        if request.fate == "leave" and index == request.pieces:
            return


async def _aask(chain, request, config):
    if request.fate == "call" or (request.fate == "fail" and request.number % 2):
        await chain.ainvoke(request.question, config=config)
        return
    index = 0
    async for _ in chain.astream(request.question, config=config):
        index += 1
        if request.fate == "leave" and index == request.pieces:
            return
        if request.fate == "cancel" and index == 2:
            asyncio.get_running_loop().call_soon(asyncio.current_task().cancel)


def _in_threads(chain, requests, config):
    gate = threading.Barrier(len(requests))

    def work(request):
        gate.wait(timeout=60)
        with contextlib.suppress(ValueError):  # whether it was right to fail is seen on the spans
            _ask(chain, request, config)

    threads = [threading.Thread(target=work, args=(request,)) for request in requests]
    for thread in threads:
        thread.start()
    return threads


async def _in_tasks(chain, requests, config):
    results = await asyncio.gather(*(_aask(chain, r, config) for r in requests), return_exceptions=True)
    expected = {"fail": ValueError, "cancel": asyncio.CancelledError}
    wrong = [
        (r, e)
        for r, e in zip(requests, results, strict=True)
        if type(e) is not expected.get(r.fate, type(None))
    ]
    assert wrong == []


@pytest.fixture
def traces(spans, handler):
    """Run all requests at once, threads and tasks together → finished spans by trace."""
    requests, config, chain = _requests(), {"callbacks": [handler]}, _chain()
    threads = _in_threads(chain, [r for r in requests if not r.asynchronous], config)
    asyncio.run(_in_tasks(chain, [r for r in requests if r.asynchronous], config))
    for thread in threads:
        thread.join(timeout=120)
    gc.collect()
    by_trace = defaultdict(list)
    for span in spans.all():
        by_trace[span.context.trace_id].append(span)
    return list(by_trace.values())


def test_concurrent_requests_never_mix(traces, spans, handler):
    """Each of 200 requests is one interaction with its own question, documents and answer; none is left open."""
    seen = {}
    for trace in traces:
        (root,) = [s for s in trace if s.parent is None]
        assert root.attributes["ragtrace.kind"] == "interaction"
        seen[root.attributes["input.value"]] = (root, trace)
    requests = _requests()
    assert sorted(seen) == sorted(r.question for r in requests)
    for request in requests:
        _check(request, *seen[request.question], spans)
    assert (spans.still_open, handler.open_runs) == ({}, 0)


def _check(request, root, trace, spans):
    question, whole = request.question, "".join(_words(request.question))
    retrievals = [s for s in trace if s.attributes.get("openinference.span.kind") == "RETRIEVER"]
    found = sorted(document for s in retrievals for document in spans.documents(s))
    assert found == [(f"{side}/{question}", f"{side} fact of {question}") for side in ("left", "right")]
    answer, partial = root.attributes.get("output.value"), root.attributes.get("ragtrace.partial", False)
    if request.fate in ("call", "stream"):
        assert (answer, partial) == (whole, False)
    elif request.fate == "fail":
        assert root.status.status_code is StatusCode.ERROR
        assert answer is None or whole.startswith(answer)
    else:
        assert partial is True
        assert answer
        assert whole.startswith(answer)
        assert root.status.status_code is StatusCode.UNSET
