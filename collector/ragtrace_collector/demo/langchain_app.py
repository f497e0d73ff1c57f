"""The second app: a LangChain chain under ragtrace's callback handler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnablePassthrough

from ragtrace_collector.demo.handbook import Handbook
from ragtrace_collector.demo.script import MODEL
from ragtrace_integrations.langchain import RagtraceCallbackHandler

TOP_K = 6


class HandbookRetriever(BaseRetriever):
    """BM25 over the handbook."""

    handbook: Any

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [
            Document(id=p.id, page_content=p.text, metadata={"title": p.title, "score": p.score})
            for p in self.handbook.search(query, TOP_K)
        ]


class PlayedModel(BaseChatModel):
    """Says what the script has for the question at the end of the prompt."""

    replies: Mapping[str, str]
    model_name: str = MODEL

    @property
    def _llm_type(self) -> str:
        return MODEL

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        prompt = str(messages[-1].content)
        reply = next(reply for question, reply in self.replies.items() if prompt.endswith(question))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=reply))])


PROMPT = ChatPromptTemplate.from_messages(
    [
        ("system", "Answer from the numbered documents only and cite them.\n\n{documents}"),
        ("human", "{question}"),
    ]
)


def _numbered(documents: list[Document]) -> str:
    return "\n".join(
        f"[{number}] {document.page_content}" for number, document in enumerate(documents, start=1)
    )


class LangChainApp:
    """Question → BM25 retriever → prompt → played chat model.

    Args:
        handbook: where to search.
        replies: question → what the model says.
    """

    def __init__(self, handbook: Handbook, replies: Mapping[str, str]) -> None:
        retriever = HandbookRetriever(handbook=handbook)
        model = PlayedModel(replies=replies)
        self._chain: Runnable[str, str] = (
            {"documents": retriever | _numbered, "question": RunnablePassthrough()}
            | PROMPT
            | model
            | StrOutputParser()
        ).with_config(run_name="ask")
        self._handler = RagtraceCallbackHandler()

    def ask(self, question: str) -> str:
        """Answer ``question``."""
        return self._chain.invoke(question, config={"callbacks": [self._handler]})
