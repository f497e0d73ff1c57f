"""A Haystack pipeline, recorded by one line.

Run ``ragtrace collector`` beside it and it shows the judged interaction in its terminal::

    python examples/haystack_app.py "How long do refunds take?"
"""

from __future__ import annotations

import sys

from haystack import Document, Pipeline, component
from haystack.components.builders import ChatPromptBuilder
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

import ragtrace
from ragtrace_integrations.haystack import instrument

HANDBOOK = {
    "refunds": "Refunds are paid within 3-5 business days after the goods have come back.",
    "shipping": "Orders leave the warehouse within 24 hours.",
}
TEMPLATE = """{% for d in documents %}[{{ loop.index }}] {{ d.content }}
{% endfor %}
{{ question }}"""


@component
class Rule:
    """Where your chat generator goes; here the first document is the answer."""

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> dict[str, list[ChatMessage]]:
        first = (messages[-1].text or "").partition("\n")[0]
        return {"replies": [ChatMessage.from_assistant(first.removeprefix("[1] ") + " [1]")]}


def build() -> Pipeline:
    store = InMemoryDocumentStore()
    store.write_documents([Document(id=name, content=text) for name, text in HANDBOOK.items()])
    pipeline = Pipeline()
    pipeline.add_component("search", InMemoryBM25Retriever(store))
    pipeline.add_component(
        "prompt", ChatPromptBuilder([ChatMessage.from_user(TEMPLATE)], required_variables="*")
    )
    pipeline.add_component("model", Rule())
    pipeline.connect("search.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "model.messages")
    return pipeline


if __name__ == "__main__":
    tracing = ragtrace.configure(service_name="haystack-app")
    instrument()
    question = " ".join(sys.argv[1:]) or "How long do refunds take?"
    result = build().run({"search": {"query": question}, "prompt": {"question": question}})
    print(result["model"]["replies"][0].text)
    tracing.flush()
