"""Below a table: one line for each interaction that failed, with the first thing that says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from ragtrace.model import Cause, Evaluation, Score, Support
from ragtrace_collector.views.lines import Branch, shorten
from ragtrace_collector.views.tree import failed, reason
from ragtrace_collector.words.terms import CAUSES, PHRASES

_METRICS: Final[dict[Cause, str]] = {
    Cause.RETRIEVAL_MISSED: "context_recall",
    Cause.RETRIEVAL_MISRANKED: "context_precision",
    Cause.RETRIEVAL_NOISY: "context_noise",
    Cause.CONTRADICTS_DOCUMENTS: "faithfulness",
    Cause.UNFAITHFUL_ANSWER: "faithfulness",
    Cause.MISCITED: "citation_correctness",
    Cause.OFF_QUESTION: "answer_relevancy",
    Cause.NEEDLESS_REFUSAL: "context_recall",
}
"""The metric whose explanation says why, where no claim does."""
_MAX_CLAIM, _MAX_REASON = 48, 120


def failures(evaluations: Sequence[Evaluation]) -> RenderableType | None:
    """One line for each of ``evaluations`` that failed: its number (from 1), its cause and why, in its own
    language; ``None`` where none did."""
    lines = [_line(number, one) for number, one in enumerate(evaluations, start=1) if failed(one.diagnosis)]
    return Group(*lines, Text()) if lines else None


def why(evaluation: Evaluation) -> str:
    """The first explanation of a failure, in the interaction's language; empty where there is none."""
    told = _of_claims(evaluation) or _of_needs(evaluation)
    if not told:
        outcome = evaluation.outcomes.get(_METRICS.get(evaluation.diagnosis.cause, ""))
        told = (outcome.explanation or "") if isinstance(outcome, Score) else ""
    return shorten(told, _MAX_REASON)


def _line(number: int, evaluation: Evaluation) -> RenderableType:
    diagnosis, language = evaluation.diagnosis, evaluation.language
    name = CAUSES[diagnosis.cause]["zh"] if language == "zh" else diagnosis.cause.value
    head = Text.assemble((f"{number}  ", "bold"), (name, "bold red"), "  ")
    return Branch(head, Text(" " * (len(str(number)) + 2)), Text(why(evaluation)))


def _of_claims(evaluation: Evaluation) -> str:
    """What is wrong with the first claim that the diagnosis is about."""
    language = evaluation.language
    wanted = {
        Cause.CONTRADICTS_DOCUMENTS: Support.CONTRADICTED,
        Cause.UNFAITHFUL_ANSWER: Support.NOT_FOUND,
        Cause.MISCITED: Support.SUPPORTED,
    }.get(evaluation.diagnosis.cause)
    for judged in evaluation.claims:
        if judged.verdict is None or judged.verdict.support is not wanted:
            continue
        said = f"“{shorten(judged.claim.text, _MAX_CLAIM)}”{'：' if language == 'zh' else ': '}"
        if wanted is Support.CONTRADICTED:
            return reason(judged, language)
        if wanted is Support.NOT_FOUND:
            return said + (judged.verdict.explanation or reason(judged, language))
        for rank, pair in judged.pairs.items():
            if pair and pair.support is not Support.SUPPORTED:
                return said + PHRASES["miscited"][language].format(n=rank)
    return ""


def _of_needs(evaluation: Evaluation) -> str:
    """The first need that the documents do not cover, or that the answer leaves open."""
    phrase = {Cause.RETRIEVAL_MISSED: "uncovered", Cause.OFF_QUESTION: "unanswered"}.get(
        evaluation.diagnosis.cause
    )
    for need in evaluation.needs if phrase else ():
        if (need.covered if phrase == "uncovered" else need.answered) is False:
            return PHRASES[phrase or ""][evaluation.language].format(need=need.text)
    return ""
