"""An interaction without personal data, before it goes to a judge elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ragtrace.model import Hop, Interaction, RetrievedDocument, Turn

Redact = Callable[[str], str]


def redacted(interaction: Interaction, redact: Redact) -> Interaction:
    """``interaction`` with ``redact`` applied to every text that a judge may see, ids and metadata apart.

    Equal values get equal placeholders, so that claims still match their documents.
    """

    def text(value: str | None) -> str | None:
        return None if value is None else redact(value)

    def documents(found: tuple[RetrievedDocument, ...] | None) -> tuple[RetrievedDocument, ...] | None:
        return None if found is None else tuple(replace(one, text=text(one.text)) for one in found)

    return replace(
        interaction,
        question=text(interaction.question),
        rewritten_question=text(interaction.rewritten_question),
        history=tuple(Turn(text(turn.question), text(turn.answer)) for turn in interaction.history),
        documents=documents(interaction.documents),
        hops=tuple(Hop(text(hop.query), documents(hop.documents), hop.span_id) for hop in interaction.hops),
        answer=text(interaction.answer),
        reference=text(interaction.reference),
        other_references=tuple(map(redact, interaction.other_references)),
    )
