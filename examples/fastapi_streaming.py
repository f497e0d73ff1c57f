"""A streaming RAG endpoint: the span stays open until the last piece is sent, or until the client is gone.

::

    pip install ragtrace fastapi uvicorn
    uvicorn examples.fastapi_streaming:app
    curl -N "http://127.0.0.1:8000/ask?question=How+long+do+refunds+take"

Decorate the generator, not the endpoint: the endpoint has returned before the first piece is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import StreamingResponse

import ragtrace


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    pipeline = ragtrace.configure(service_name="fastapi-streaming")
    yield
    pipeline.flush()


app = FastAPI(lifespan=lifespan)
PAGES = [
    {"id": "kb-refunds", "text": "Refunds are paid within 3-5 business days.", "score": 0.82},
    {"id": "kb-returns", "text": "Goods can be sent back for 30 days.", "score": 0.31},
]


@ragtrace.retriever
async def search(query: str) -> list[dict[str, object]]:
    await asyncio.sleep(0)  # where your vector store is asked
    return PAGES


@ragtrace.generator(model="a-rule")
async def generate(question: str, documents: list[dict[str, object]]) -> AsyncIterator[str]:
    """Where your model streams; here it reads the pages out, word by word."""
    said = " ".join(f"{page['text']} [{number}]" for number, page in enumerate(documents, 1))
    for word in said.split():
        yield word + " "
        await asyncio.sleep(0.05)


@ragtrace.trace
async def answer(question: str) -> AsyncIterator[str]:
    async for piece in generate(question, await search(question)):
        yield piece


@app.get("/ask")
async def ask(question: str) -> StreamingResponse:
    return StreamingResponse(answer(question), media_type="text/plain")
