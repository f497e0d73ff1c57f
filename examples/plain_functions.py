"""A RAG app of plain functions, traced with three decorators.

Run ``ragtrace collector`` beside it and it shows the judged interaction in its terminal::

    python examples/plain_functions.py "How long do refunds take?"
"""

from __future__ import annotations

import sys

import ragtrace

HANDBOOK = {
    "refunds": "Refunds are paid within 3-5 business days after the goods have come back.",
    "shipping": "Orders leave the warehouse within 24 hours.",
    "gifts": "Gift cards cannot be exchanged for money.",
}


@ragtrace.retriever
def search(query: str, k: int = 2) -> list[dict[str, object]]:
    """The k pages that share most words with the query."""
    words = set(query.lower().strip("?").split())
    scored = [
        {"id": name, "text": text, "score": len(words & set(text.lower().split())) / len(words)}
        for name, text in HANDBOOK.items()
    ]
    return sorted(scored, key=lambda page: -float(str(page["score"])))[:k]


@ragtrace.generator(model="a-rule")
def generate(question: str, documents: list[dict[str, object]]) -> str:
    """Where your model is called; here the first page is the answer."""
    return f"{documents[0]['text']} [1]"


@ragtrace.trace
def ask(question: str) -> str:
    return generate(question, search(question))


if __name__ == "__main__":
    pipeline = ragtrace.configure(service_name="plain-functions")
    print(ask(" ".join(sys.argv[1:]) or "How long do refunds take?"))
    pipeline.flush()
