"""Small apps that ``ragtrace evaluate --app`` calls in the tests."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import ragtrace

DOCUMENTS = [{"id": "kb-1", "text": "Refunds take 3 days."}, {"id": "kb-2", "text": "We ship on Mondays."}]


@ragtrace.retriever
def search(question: str) -> list[dict[str, str]]:
    return DOCUMENTS


@ragtrace.trace
def streaming(question: str) -> Iterator[str]:
    search(question)
    yield "Refunds take "
    yield "3 days [1]."


async def asynchronous(question: str) -> dict[str, object]:
    await asyncio.sleep(0)
    return {"answer": "Refunds take 3 days [1].", "documents": DOCUMENTS}


async def streaming_asynchronously(question: str) -> AsyncIterator[str]:
    for piece in ("Refunds take ", "3 days."):
        yield piece


def failing_on_ships(question: str) -> tuple[str, list[dict[str, str]]]:
    if "ship" in question:
        raise ValueError(question)
    return "Refunds take 3 days [1].", DOCUMENTS
