"""The parts of a judgement that are asked, cached and fail on their own: claims, questions, reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragtrace.errors import JudgeError, JudgeTimeout
from ragtrace.judges._chat.entries import Entry, Item, Shown, Task
from ragtrace.judges._chat.fence import visible
from ragtrace.judges._chat.planning import numbered
from ragtrace.judges._chat.quotes import normalised
from ragtrace.judges._chat.rounds import DECOY, STEERED, Settled
from ragtrace.judges.base import JudgeRequest, Want
from ragtrace.model import Interaction, Language, Need, Turn, Unit
from ragtrace.text.segment import units as cut_units

MAX_TURNS, MAX_TURN_CHARS = 6, 1500
"""Earlier turns that are shown, and characters of each side of one."""
MAX_QUESTION_CHARS, MAX_ANSWER_CHARS = 8_000, 16_000
"""Characters of a question that are shown, and of an answer where it is shown whole."""


@dataclass(frozen=True, slots=True)
class ClaimsPart:
    """What call 1 or call 3 found. ``entries`` by unit index; ``error`` names why something is missing."""

    entries: Mapping[int, tuple[Entry, ...]] = field(default_factory=dict)
    relevance: Mapping[int, bool] = field(default_factory=dict)
    needs: tuple[Need, ...] | None = None
    extra_claims: tuple[str, ...] | None = None
    kept_ratio: float = 1.0
    ignored: int = 0
    error: str | None = None
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class QuestionsPart:
    """What call 2 found."""

    questions: tuple[str, ...] = ()
    evasive: bool = False
    error: str | None = None
    timed_out: bool = False


def grounding_task(request: JudgeRequest, language: Language) -> Task | None:
    """Call 1 for ``request``, all in one request; ``None`` when nothing of it is wanted or possible.

    Relevance to the question alone is not asked where call 3 asks for relevance to the right answer.
    """
    interaction, documents = request.interaction, shown_documents(request.interaction)
    turns = _turns(interaction.history)
    evidence = (*turns, *documents)
    needs = Want.NEEDS in request.wants and bool(interaction.question)
    verdicts = Want.VERDICTS in request.wants and bool(evidence)
    by_question = Want.RELEVANCE in request.wants and reference_task(request, language) is None
    relevance = tuple(d.rank for d in documents) if by_question else ()
    items = _items(request.units, verdicts) if verdicts or needs else ()
    if not (relevance or needs or any(item.number for item in items)):
        return None
    return Task(
        call="grounding",
        language=language,
        question=_start(interaction.question, MAX_QUESTION_CHARS),
        rewritten=_start(interaction.rewritten_question, MAX_QUESTION_CHARS) or None,
        documents=evidence,
        items=numbered(items),
        relevance_of=relevance,
        extra=needs,
    )


def reference_units(interaction: Interaction) -> tuple[Unit, ...]:
    """The reference cut into units; where none of them looks like a fact, all are taken for facts."""
    found = cut_units(interaction.reference or "")
    if any(unit.check_worthy for unit in found):
        return found
    return tuple(replace(unit, check_worthy=True) for unit in found)


def reference_task(request: JudgeRequest, language: Language) -> Task | None:
    """Call 3 for ``request``; ``None`` when no reference is there or wanted."""
    interaction = request.interaction
    if Want.REFERENCE not in request.wants or not (interaction.reference or "").strip():
        return None
    documents = shown_documents(interaction)
    same = says_the_same(interaction.answer, interaction.reference)
    if same and not documents:
        return None
    items = _items(reference_units(interaction), verdicts=True)
    return Task(
        call="reference",
        language=language,
        question=_start(interaction.question, MAX_QUESTION_CHARS),
        documents=documents,
        items=numbered(items),
        relevance_of=tuple(d.rank for d in documents),
        extra=not same,
        answer=_start(interaction.answer, MAX_ANSWER_CHARS),
    )


def shown_documents(interaction: Interaction) -> tuple[Shown, ...]:
    """The documents that have a text."""
    return tuple(Shown(d.rank, d.text) for d in interaction.documents or () if d.text and d.text.strip())


def says_the_same(answer: str | None, reference: str | None) -> bool:
    """Whether answer and reference are the same text but for form: nobody need compare them then."""
    one, other = (normalised(text or "").strip(" .。") for text in (answer, reference))
    return bool(one) and one == other


def claims_part(settled: Sequence[Settled], kept_ratio: float) -> ClaimsPart:
    """The findings of all requests of a call, put together. One steered request spoils them all: the text
    that did it is in the others' interaction too."""
    errors = [each.error for each in settled if each.error is not None]
    reasons = {error.reason for error in errors}
    if STEERED in reasons:
        return failed_claims(JudgeError(STEERED))
    part = ClaimsPart(kept_ratio=kept_ratio)
    for each in settled:
        units = {item.number: item.unit for item in each.task.asked}
        found = {units[number]: known for number, known in each.found.entries.items()}
        part = replace(
            part,
            entries={**part.entries, **found},
            relevance={} if DECOY in reasons else {**part.relevance, **each.found.relevance},
            needs=part.needs if part.needs is not None else each.found.needs,
            extra_claims=part.extra_claims if part.extra_claims is not None else each.found.extra_claims,
            ignored=part.ignored + each.found.ignored,
        )
    if not errors:
        return part
    return replace(part, error=errors[0].reason, timed_out=isinstance(errors[0], JudgeTimeout))


def failed_claims(error: JudgeError) -> ClaimsPart:
    """A part that could not be had at all."""
    return ClaimsPart(error=error.reason, timed_out=isinstance(error, JudgeTimeout))


def failed_questions(error: JudgeError) -> QuestionsPart:
    """A part that could not be had at all."""
    return QuestionsPart(error=error.reason, timed_out=isinstance(error, JudgeTimeout))


def _start(text: str | None, characters: int) -> str:
    return (text or "")[:characters]


def _items(units: Sequence[Unit], verdicts: bool) -> tuple[Item, ...]:
    """The answer's units: numbered where they want a verdict, context otherwise."""
    return tuple(
        Item(1 if verdicts and unit.check_worthy else 0, visible(unit.text), unit.index, unit.cites)
        for unit in units
    )


def _turns(history: Sequence[Turn]) -> tuple[Shown, ...]:
    """The latest earlier turns as document 0."""
    lines = [
        f"{mark} {text[:MAX_TURN_CHARS]}"
        for turn in history[-MAX_TURNS:]
        for mark, text in (("Q:", turn.question), ("A:", turn.answer))
        if text
    ]
    return (Shown(0, "\n".join(lines)),) if lines else ()
