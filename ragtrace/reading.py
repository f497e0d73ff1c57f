"""What can be read off an answer without a judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragtrace.model import Citation, Interaction, Language, Unit
from ragtrace.text.abstain import is_abstention
from ragtrace.text.citations import parse, strip
from ragtrace.text.language import detect_language
from ragtrace.text.segment import units


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer, read: its language, its citations and units in order, and whether it declines to answer."""

    language: Language
    citations: tuple[Citation, ...] = ()
    units: tuple[Unit, ...] = ()
    abstained: bool = False


def read(
    interaction: Interaction, language: Language | Literal["auto"] = "auto", *, first_document: int = 1
) -> Reading:
    """Read the answer of ``interaction``; of a partial one only the language, for it may say anything yet.

    ``language`` forces one; ``first_document`` is the number that the app gives its first document.
    """
    answer = interaction.answer or ""
    if language == "auto":
        language = interaction.language or detect_language(interaction.question, answer)
    if interaction.partial or not answer.strip():
        return Reading(language)
    citations = parse(answer, interaction.documents, interaction.citations, first=first_document)
    return Reading(
        language,
        citations,
        units(answer, citations, language),
        is_abstention(strip(answer, citations), language),
    )
