"""A LangChain app, recorded by one line (``callbacks=[RagtraceCallbackHandler()]`` records a single call).

Run ``ragtrace collector`` beside it and it shows the judged interaction in its terminal::

    python examples/langchain_app.py "How long do refunds take?"
"""

from __future__ import annotations

import sys

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnablePassthrough

import ragtrace
from ragtrace_integrations.langchain import instrument

HANDBOOK = {
    "refunds": "Refunds are paid within 3-5 business days after the goods have come back.",
    "shipping": "Orders leave the warehouse within 24 hours.",
}


class Handbook(BaseRetriever):
    """The pages that share most words with the query."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        words = set(query.lower().strip("?").split())
        pages = sorted(HANDBOOK, key=lambda name: -len(words & set(HANDBOOK[name].lower().split())))
        return [Document(id=name, page_content=HANDBOOK[name]) for name in pages]


def numbered(documents: list[Document]) -> str:
    return "\n".join(f"[{i}] {d.page_content}" for i, d in enumerate(documents, 1))


PROMPT = ChatPromptTemplate.from_messages(
    [("system", "Answer from the documents and cite them.\n{context}"), ("human", "{question}")]
)
MODEL = FakeListChatModel(responses=["Refunds take 3-5 business days. [1]"])  # your model goes here
CHAIN: Runnable[str, str] = (
    {"context": Handbook() | numbered, "question": RunnablePassthrough()} | PROMPT | MODEL | StrOutputParser()
)

if __name__ == "__main__":
    pipeline = ragtrace.configure(service_name="langchain-app")
    instrument()
    for piece in CHAIN.stream(" ".join(sys.argv[1:]) or "How long do refunds take?"):
        print(piece, end="", flush=True)
    print()
    pipeline.flush()
