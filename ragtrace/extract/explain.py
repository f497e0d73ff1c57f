"""An interaction in plain words: where each field was found, what is missing, and what to do about it."""

from __future__ import annotations

from ragtrace.model import Interaction

_FIELDS = ("question", "rewritten_question", "documents", "answer")
_REMEDIES = {
    "question": "put it in the input of the outermost span, or call ragtrace.record_question(question)",
    "answer": "return it from the outermost span, record the model's output, or call record_answer()",
    "documents": "no retrieval span; a custom retriever that bypasses callbacks needs "
    "ragtrace.record_documents(documents) in it, or @ragtrace.retriever",
    "documents: the retrieval's documents were not recorded": "the retrieval span has no documents; a custom "
    "retriever that bypasses callbacks needs ragtrace.record_documents(documents) in it, "
    "or content capture is off in the instrumentation",
    "documents.text": "the retrieval span lists ids only and the prompt does not show which text is whose; "
    "capture content, or call ragtrace.record_documents(documents)",
}


def explain(interaction: Interaction) -> list[str]:
    """Lines for people: the dialect, each field with its place, each missing one with its remedy."""
    lines = [f"dialect: {interaction.dialect}"]
    for name in _FIELDS:
        if (source := interaction.sources.get(name)) is not None:
            lines.append(f"{name}: {_size(interaction, name)} from {source}")
    lines.extend(_hops(interaction))
    if interaction.error is not None:
        lines.append(f"failed: {interaction.error}")
    if interaction.partial:
        lines.append("partial: the answer was cut short; it is not judged as a whole one")
    lines.extend(f"missing: {missing}{_remedy(missing)}" for missing in interaction.missing)
    return lines


def _size(interaction: Interaction, name: str) -> str:
    if name == "documents":
        documents = interaction.documents or ()
        without_text = sum(1 for document in documents if document.text is None)
        return f"{len(documents)}" + (f" ({without_text} without text)" if without_text else "")
    text = getattr(interaction, name) or ""
    return f"{len(text)} characters"


def _hops(interaction: Interaction) -> list[str]:
    if len(interaction.hops) < 2:
        return []
    counts = ", ".join(
        "not recorded" if h.documents is None else str(len(h.documents)) for h in interaction.hops
    )
    return [f"retrievals: {len(interaction.hops)} (documents each: {counts})"]


def _remedy(missing: str) -> str:
    remedy = _REMEDIES.get(missing)
    if remedy is None and "cut" in missing:
        remedy = "raise OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT or OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT in the app"
    return f" ({remedy})" if remedy else ""
