"""The hooks: ``@trace``, ``@retriever``, ``@reranker``, ``@generator``, ``start_*()`` and ``record_*()``.

::

    @ragtrace.retriever
    def search(query: str) -> list[Document]: ...

    @ragtrace.trace
    def ask(question: str) -> str:
        return llm(question, search(question))

Each is used with or without arguments, on sync and async functions, generators, async generators and methods.
A hook never raises into the app and never changes what a function returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from ragtrace import _capture as capture
from ragtrace import _steps as steps
from ragtrace import semconv as names
from ragtrace._recorder import Options, Recorder
from ragtrace._steps import Step
from ragtrace._wrap import wrap
from ragtrace.documents import read_documents
from ragtrace.model import Feedback, GivenCitation, Turn

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Hook:
    """A decorator for one kind of step."""

    kind: str

    @overload
    def __call__(self, function: F, /) -> F: ...

    @overload
    def __call__(
        self,
        *,
        name: str | None = None,
        question: str | Callable[..., Any] | None = None,
        documents: Callable[[Any], Any] | None = None,
        answer: Callable[[Any], Any] | None = None,
        model: str | None = None,
    ) -> Callable[[F], F]: ...

    def __call__(self, function: Any = None, **options: Any) -> Any:
        """Decorate ``function``; without it, give the decorator that has these options.

        name       the span's name; the function's own by default
        question   name of the parameter that holds the question, or a function of the call's arguments
        documents  function of the result → documents in any shape
        answer     function of the result → text; for a stream, of the list of what it gave
        model      the model's name
        """
        chosen = Options(**options)
        if function is not None:
            return wrap(function, Recorder(self.kind, function, chosen))
        return lambda function: wrap(function, Recorder(self.kind, function, chosen))


trace = Hook(names.KIND_INTERACTION)
"""Decorates the function that answers a question: one call is one interaction.

Inside another interaction it is one of its steps.
"""
retriever = Hook(names.KIND_RETRIEVAL)
"""Decorates a function that finds documents for a query."""
reranker = Hook(names.KIND_RERANK)
"""Decorates a function that orders documents anew."""
generator = Hook(names.KIND_GENERATION)
"""Decorates the function that calls the model."""


# --- context managers -------------------------------------------------------------------------------------


def start_interaction(question: Any = None, *, name: str = "interaction") -> Any:
    """``with start_interaction(question):`` one interaction; record its answer with :func:`record_answer`.

    Not over a ``yield``: decorate the generator instead, else the consumer's spans would fall inside.
    """
    return _started(names.KIND_INTERACTION, name, question)


def start_retrieval(query: Any = None, *, name: str = "retrieve") -> Any:
    """``with start_retrieval(query):`` one retrieval; record what it found with :func:`record_documents`."""
    return _started(names.KIND_RETRIEVAL, name, query)


def start_generation(prompt: Any = None, *, name: str = "generate", model: str | None = None) -> Any:
    """``with start_generation(prompt):`` one model call; record its text with :func:`record_answer`."""
    return _started(names.KIND_GENERATION, name, prompt, model)


@contextmanager
def _started(kind: str, name: str, question: Any, model: str | None = None) -> Iterator[Step | None]:
    step = steps.begin(name, kind)
    if step is None:
        yield None
        return
    step.content.question, step.content.model = capture.read_question(question), model
    token = steps.enter(step)
    try:
        yield step
    except BaseException as error:
        step.end(error)
        raise
    finally:
        steps.leave(token)
        step.end()


# --- records ----------------------------------------------------------------------------------------------


def record_question(question: Any) -> None:
    """The current interaction's question, as the user put it."""
    _record(lambda step: setattr(step.interaction.content, "question", capture.read_question(question)))


def record_rewritten_question(question: str) -> None:
    """The question as it was searched for: resolved from the conversation, translated, expanded."""
    _record(lambda step: setattr(step.interaction.content, "rewritten_question", question))


def record_history(history: Any) -> None:
    """The earlier turns: chat messages in any usual form, or (question, answer) pairs."""
    _record(lambda step: setattr(step.interaction.content, "history", _turns(history)))


def _turns(history: Any) -> tuple[Turn, ...]:
    given = tuple(history) if isinstance(history, list | tuple) else ()
    if given and all(isinstance(turn, Turn) for turn in given):
        return given
    return capture.read_history(history)


def record_documents(documents: Any) -> None:
    """Documents in any shape. In a retriever or reranker: what it found, whatever it returns.

    Elsewhere: what reached the prompt, in that order.
    """
    found = read_documents(documents)
    _record(lambda step: setattr(_finder(step).content, "documents", found))


def record_answer(answer: Any) -> None:
    """The answer: of the model call that is running, else of the current interaction."""
    text = capture.read_answer(answer)
    _record(lambda step: setattr(_speaker(step).content, "answer", text))


def record_reference(reference: str) -> None:
    """The known right answer to the current interaction's question."""
    _record(lambda step: setattr(step.interaction.content, "reference", reference))


def record_gold(documents: Mapping[str, float] | Sequence[str]) -> None:
    """Ids of the documents that hold the answer; as a mapping, with grades."""
    grades = dict(documents) if isinstance(documents, Mapping) else dict.fromkeys(documents, 1.0)
    _record(lambda step: setattr(step.interaction.content, "gold", grades))


def record_citations(citations: Sequence[GivenCitation]) -> None:
    """Citations that the model's API returned beside the text."""
    _record(lambda step: setattr(step.interaction.content, "citations", tuple(citations)))


def record_feedback(name: str, value: float | str | bool, comment: str | None = None) -> None:
    """What a person said of the current interaction; more than one is kept."""
    said = Feedback(name, value, comment)

    def add(step: Step) -> None:
        content = step.interaction.content
        content.feedback = (*content.feedback, said)

    _record(add)


def record_session(session: str | None = None, user: str | None = None) -> None:
    """Which conversation, and whose, the current interaction belongs to."""

    def put(step: Step) -> None:
        content = step.interaction.content
        content.session, content.user = session or content.session, user or content.user

    _record(put)


def _record(put: Callable[[Step], None]) -> None:
    step = steps.current()
    if step is not None:
        steps.guarded(put, step)


def _finder(step: Step) -> Step:
    return step if step.kind in (names.KIND_RETRIEVAL, names.KIND_RERANK) else step.interaction


def _speaker(step: Step) -> Step:
    return step if step.kind == names.KIND_GENERATION else step.interaction
