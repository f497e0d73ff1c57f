"""Plain functions around the OpenAI client: hooks for question and retrieval, one line for the client.

Works with every server that speaks OpenAI's API. Run ``ragtrace collector`` beside it::

    OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_API_KEY=none MODEL=qwen3 \\
        python examples/openai_client.py "How long do refunds take?"
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import openai

import ragtrace
from ragtrace_integrations.openai import instrument

HANDBOOK = {
    "refunds": "Refunds are paid within 3-5 business days after the goods have come back.",
    "shipping": "Orders leave the warehouse within 24 hours.",
}


@ragtrace.retriever
def search(query: str) -> list[dict[str, str]]:
    """The pages that share most words with the query."""
    words = set(query.lower().strip("?").split())
    pages = sorted(HANDBOOK, key=lambda name: -len(words & set(HANDBOOK[name].lower().split())))
    return [{"id": name, "text": HANDBOOK[name]} for name in pages]


@ragtrace.trace
def ask(question: str) -> Iterator[str]:
    """The answer, piece by piece."""
    documents = "\n".join(f"[{i}] {page['text']}" for i, page in enumerate(search(question), 1))
    stream = openai.OpenAI().chat.completions.create(
        model=os.environ.get("MODEL", "gpt-5-mini"),
        messages=[
            {"role": "system", "content": f"Answer from the documents and cite them.\n{documents}"},
            {"role": "user", "content": question},
        ],
        stream=True,
    )
    for chunk in stream:
        if chunk.choices and (piece := chunk.choices[0].delta.content):
            yield piece


if __name__ == "__main__":
    pipeline = ragtrace.configure(service_name="openai-client")
    instrument()
    for piece in ask(" ".join(sys.argv[1:]) or "How long do refunds take?"):
        print(piece, end="", flush=True)
    print()
    pipeline.flush()
