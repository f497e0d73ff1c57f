"""One scope → one :class:`~ragtrace.model.Interaction`: what was found, where, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ragtrace import semconv as sc
from ragtrace.extract import asked
from ragtrace.extract.messages import final_reply
from ragtrace.extract.prompt import context_variables, in_prompt_order, with_rest, with_texts
from ragtrace.extract.ranking import Ranking, rank, told_to
from ragtrace.extract.scopes import Scope, find_scopes, own_answer
from ragtrace.extract.step import Role, Step
from ragtrace.extract.stitch import Trace
from ragtrace.extract.tree import Tree
from ragtrace.extract.values import text_or_none
from ragtrace.model import Interaction, RetrievedDocument, SpanRecord

_SERVICE_NAME = "service.name"
_MIN_LIMIT = 32
_ENDS = (".", "!", "?", "。", "！", "？", "…", "]", "】", ")", "）", "}", '"', "”", "```")
"""What a text that nobody cut mostly ends with."""
_ERROR = 2
_CANCELLED = ("GeneratorExit", "CancelledError", "ClientDisconnect")


@dataclass(frozen=True, slots=True)
class _Case:
    """What the documents are placed by: the steps, and the model call that answered."""

    tree: Tree
    scope: Scope
    call: Step | None
    limit: int | None


@dataclass(frozen=True, slots=True)
class _Placed:
    """The documents as they reached the prompt, where that order was found, and what is missing of them."""

    documents: tuple[RetrievedDocument, ...] | None
    source: str | None
    missing: tuple[str, ...] = ()
    is_completed: bool = False
    """The prompt shows what the list left out."""


def of_trace(trace: Trace) -> list[Interaction]:
    """The interactions of one trace, in the order in which they began."""
    if not trace.steps:
        return []
    tree = Tree(trace.steps, trace.spans)
    limit = cut_length(trace.spans)
    built = (build(tree, scope, limit) for scope in find_scopes(tree))
    return [interaction for interaction in built if interaction is not None]


def build(tree: Tree, scope: Scope, limit: int | None) -> Interaction | None:
    """Put together the interaction of ``scope``; ``None`` where it turns out to be none.

    ``limit`` is the length at which the sender cut strings, if it did.
    """
    entry, steps = scope.entry, scope.steps
    call = asked.answering(steps)
    ranking = rank(tree, steps, entry, call.span.start_ns if call is not None else None)
    if call is not None and not ranking.hops and ranking.documents is None:
        ranking = told_to(call)
    error = _error(scope, call)
    question = asked.find_question(scope, call)
    if not _is_interaction(scope, ranking, question, error):
        return None
    answer = asked.find_answer(scope, call, error)
    rewritten = asked.find_rewritten(scope, question.text if question is not None else None)
    placed = _place(_Case(tree, scope, call, limit), ranking)
    sources = {
        name: found.source
        for name, found in (("question", question), ("rewritten_question", rewritten), ("answer", answer))
        if found is not None
    }
    if placed.source is not None:
        sources["documents"] = placed.source
    kept, cut = _kept(scope, 1.0 if placed.is_completed else ranking.kept_ratio, question, answer, limit)
    partial = answer is not None and (error is not None or bool(asked.first_fact(steps, "partial")))
    entry_id = _entry_id(scope, ranking, call)
    return Interaction(
        question=question.text if question is not None else None,
        rewritten_question=rewritten.text if rewritten is not None else None,
        history=asked.find_history(scope, call),
        documents=placed.documents,
        hops=ranking.hops,
        answer=answer.text if answer is not None else None,
        partial=partial,
        error=error,
        reference=asked.first_fact(steps, "reference"),
        gold=asked.first_fact(steps, "gold"),
        citations=asked.first_fact(steps, "citations") or (),
        feedback=tuple(feedback for step in steps for feedback in step.facts.feedback),
        language=asked.first_fact(steps, "language"),
        app=_app(steps),
        session=next((s.session for s in steps if s.session is not None), None),
        user=next((s.user for s in steps if s.user is not None), None),
        trace_id=next(s.span.trace_id for s in steps if s.id == entry_id),
        entry_span_id=entry_id,
        retrieval_span_ids=ranking.retrievals,
        generation_span_id=call.id if call is not None else None,
        dialect=_dialect(scope),
        sources=sources,
        missing=(*_missing(question, placed, ranking, answer, error), *cut),
        kept_ratio=kept,
    )


def _is_interaction(scope: Scope, ranking: Ranking, question: asked.Found | None, error: str | None) -> bool:
    """A scope that retrieved nothing is one only where our hooks or an agent say so."""
    if ranking.hops or ranking.documents is not None:
        return True
    roles = {step.role for step in scope.steps} if scope.entry is not None else set()
    return Role.INTERACTION in roles or (Role.AGENT in roles and (question or error) is not None)


def _entry_id(scope: Scope, ranking: Ranking, call: Step | None) -> str:
    """Without a step that holds the others, the model call stands for them if its span came."""
    if scope.entry is not None:
        return scope.entry.id
    if call is not None and call.span.name != sc.GEN_AI_EVENT_DETAILS:
        return call.id
    return (*ranking.retrievals, scope.steps[0].id)[0]


def _dialect(scope: Scope) -> str:
    if scope.entry is not None:
        return scope.entry.dialect
    return Counter(step.dialect for step in scope.steps).most_common(1)[0][0]


def _app(steps: Sequence[Step]) -> str | None:
    stated = asked.first_fact(steps, "app")
    return stated or text_or_none(steps[0].span.resource.get(_SERVICE_NAME))


# --- documents --------------------------------------------------------------------------------------------


def _place(case: _Case, ranking: Ranking) -> _Placed:
    documents, source, call = ranking.documents, ranking.source, case.call
    if not documents:
        return _Placed(documents, source)
    texts = [m.text for m in call.prompt if m.text is not None] if call is not None else []
    if all(d.text is None for d in documents) and not ranking.fused:
        documents = with_texts(documents, _bounded(case.tree, case.scope.steps), texts)
        if any(d.text is not None for d in documents) and call is not None:
            source = f"{source}, texts {call.source('prompt')}"
    more = with_rest(documents, ranking.total, _bounded(case.tree, case.scope.steps), texts)
    is_completed, documents = len(more) > len(documents), more
    complete = case.limit is None or all(len(text) < case.limit for text in texts)
    ordered = in_prompt_order(documents, texts, complete=complete)
    missing: tuple[str, ...] = ()
    if ranking.fused and any(d.text is None for d in ordered):
        missing = ("documents.order: several lists were put together and no span says how",)
    moved = [d.id for d in ordered] != [d.id for d in documents]
    if call is not None and (moved or is_completed):
        source = f"{source}, {'order' if moved else 'rest'} {call.source('prompt')}"
    return _Placed(ordered, source, missing, is_completed)


def _bounded(tree: Tree, steps: Sequence[Step]) -> Iterable[str]:
    """Strings that hold the documents and nothing else: a template's variables, the result of a tool."""
    for step in reversed(steps):
        yield from context_variables(step.variables)
    for step in steps:
        if step.role is Role.RETRIEVAL:
            for above in tree.ancestors(step):
                if (
                    above.role is Role.TOOL
                    and above.output is not None
                    and isinstance(above.output.value, str)
                ):
                    yield above.output.value


# --- what went wrong, what is not there -------------------------------------------------------------------


def _error(scope: Scope, call: Step | None) -> str | None:
    """Why the interaction failed: of its entry, or of any piece where none holds the others.

    Where the entry neither failed nor answered, the model call that failed says why.
    """
    failed = [scope.entry] if scope.entry is not None else list(scope.steps)
    for step in failed:
        if step.error is not None:
            return step.error
        if step.span.status == _ERROR or _ended_in_exception(step):
            return _reason(step.span)
    unanswered = scope.entry is not None and own_answer(scope.entry) is None
    if unanswered and call is not None and call.span.status == _ERROR and final_reply(call.reply) is None:
        return _reason(call.span)
    return None


def _ended_in_exception(step: Step) -> bool:
    """Some do not set the status of a failed span; an exception that was handled has an answer behind it."""
    return any(event.name == "exception" for event in step.span.events) and own_answer(step) is None


def _reason(span: SpanRecord) -> str:
    """The exception of a failed span: its own event, else the first line of the status message."""
    for event in span.events:
        if event.name == "exception":
            kind = str(event.attributes.get("exception.type") or "").rpartition(".")[2]
            message = str(event.attributes.get("exception.message") or "")
            return f"{kind}: {message}".strip(": ") or "exception"
    first = span.status_message.partition("\n")[0].partition("Traceback (most recent call last)")[0].strip()
    return first or str(span.attributes.get(sc.ERROR_TYPE) or "error")


def cut_length(spans: Iterable[SpanRecord]) -> int | None:
    """The length at which the sender cut strings: the longest one, if several are exactly as long.

    One text on several spans, as an answer is on chain and model, counts once if it ends as texts do.
    """
    texts = Counter(value for span in spans for value in span.attributes.values() if isinstance(value, str))
    longest = max(map(len, texts), default=0)
    if longest < _MIN_LIMIT:
        return None
    counts = (1 if text.endswith(_ENDS) else n for text, n in texts.items() if len(text) == longest)
    return longest if sum(counts) > 1 else None


def _kept(
    scope: Scope, documents: float, question: Any, answer: Any, limit: int | None
) -> tuple[float, tuple[str, ...]]:
    """The share of the text that is there (known of the ``documents``), and the fields that were cut."""
    kept = min([documents, *(step.facts.kept_ratio for step in scope.steps)])
    cut = ["documents: cut on the way"] if documents < 1 else []
    for name, found in (("question", question), ("answer", answer)):
        if limit is not None and found is not None and len(found.text) >= limit:
            cut.append(f"{name}: cut at {limit} characters")
            kept = min(kept, 0.5)
    return kept, tuple(cut)


def _missing(
    question: Any, placed: _Placed, ranking: Ranking, answer: Any, error: str | None
) -> tuple[str, ...]:
    missing = []
    if question is None:
        missing.append("question")
    if placed.documents is None:
        missing.append(
            "documents: the retrieval's documents were not recorded" if ranking.hops else "documents"
        )
    elif placed.documents and any(d.text is None for d in placed.documents):
        missing.append("documents.text")
    if answer is None:
        missing.append("answer: the interaction failed" if error is not None else "answer")
    return (*missing, *placed.missing)
