"""A LlamaIndex app with a streaming answer, recorded by one line.

Run ``ragtrace collector`` beside it and it shows the judged interaction in its terminal::

    python examples/llamaindex_app.py "How long do refunds take?"
"""

from __future__ import annotations

import sys

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

import ragtrace
from ragtrace_integrations.llamaindex import instrument

HANDBOOK = {
    "refunds": "Refunds are paid within 3-5 business days after the goods have come back.",
    "shipping": "Orders leave the warehouse within 24 hours.",
}


class Handbook(BaseRetriever):
    """The pages with the share of the query's words that they hold."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        words = set(query_bundle.query_str.lower().strip("?").split())
        found = [
            NodeWithScore(
                node=TextNode(id_=name, text=text), score=len(words & set(text.lower().split())) / len(words)
            )
            for name, text in HANDBOOK.items()
        ]
        return sorted(found, key=lambda node: -(node.score or 0))


MODEL = MockLLM(max_tokens=8)  # your model goes here; this one says "text text text …"
ENGINE = RetrieverQueryEngine.from_args(Handbook(), llm=MODEL, streaming=True)

if __name__ == "__main__":
    pipeline = ragtrace.configure(service_name="llamaindex-app")
    instrument()
    ENGINE.query(" ".join(sys.argv[1:]) or "How long do refunds take?").print_response_stream()
    print()
    pipeline.flush()
