"""Labelled rows: what people said of claims, documents and answers.

A row has ``contexts``, ``claim`` or ``answer``, ``question`` and ``reference`` where its metric needs them,
and ``label`` in 0..1. Which metric a row is about is said by its ``label_kind``, or by the caller.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ragtrace.errors import InputError
from ragtrace.model import Interaction, Language, RetrievedDocument
from ragtrace.text.language import detect_language

Metric = Literal["support", "relevance", "correctness"]

KINDS: Mapping[str, Metric] = {
    "support": "support",
    "citation": "support",
    "faithfulness": "support",
    "context_relevance": "relevance",
    "relevance": "relevance",
    "correctness": "correctness",
    "answer_correctness": "correctness",
}
"""``label_kind`` → the metric that it is about."""
POSITIVE = 0.5
"""A label is positive, and a correct answer or a relevant document is decided, from here on."""


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """One labelled row. ``groups`` holds the values of the fields that the report is broken down by."""

    metric: Metric
    label: bool
    interaction: Interaction
    claim: str | None
    groups: Mapping[str, str]
    language: Language


def read_rows(path: Path, metric: Metric | None, by: Sequence[str]) -> Iterator[LabelledRow | None]:
    """The rows of a JSONL file; ``None`` for one of another kind than ``metric``, or of no known kind.

    Raises:
        InputError: a line is no JSON object, or lacks what its metric needs.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _row(_object(line, path, number), metric, by, (path, number))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(error), str(path)) from error


def _object(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        loaded = json.loads(line)
    except ValueError as error:
        raise InputError(f"no JSON: {error}", str(path), number) from error
    if not isinstance(loaded, dict):
        raise InputError("a row is a JSON object", str(path), number)
    return loaded


def _row(
    raw: Mapping[str, Any], metric: Metric | None, by: Sequence[str], where: tuple[Path, int]
) -> LabelledRow | None:
    kind = KINDS.get(str(raw.get("label_kind", metric or "support")))
    if kind is None or metric not in {None, kind} or "answer_b" in raw:
        return None  # pairs compare two answers: they label no score
    label = raw.get("label")
    if isinstance(label, bool):
        label = float(label)
    if not isinstance(label, int | float):
        raise InputError("label is no number", str(where[0]), where[1])
    claim, interaction = _text(raw.get("claim")), _interaction(raw, kind)
    missing = _missing(kind, claim, interaction)
    if missing:
        raise InputError(f"{kind} needs {missing}", str(where[0]), where[1])
    language = _language(raw, interaction, claim)
    groups = {name: str(raw.get(name, where[0].stem if name == "source" else "")) for name in by}
    if "lang" in groups:
        groups["lang"] = language
    return LabelledRow(kind, label >= POSITIVE, interaction, claim, groups, language)


def _interaction(raw: Mapping[str, Any], kind: Metric) -> Interaction:
    contexts = raw.get("contexts") or raw.get("documents") or ()
    documents = tuple(
        RetrievedDocument("", rank, str(text), "none") for rank, text in enumerate(contexts, start=1)
    )
    references = raw.get("reference") or raw.get("ground_truth") or ()
    references = [references] if isinstance(references, str) else [str(r) for r in references]
    question = _text(raw.get("question"))
    if kind == "relevance":
        question = question or _text(raw.get("claim"))
    return Interaction(
        question=question,
        documents=documents,
        answer=_text(raw.get("answer")) or _text(raw.get("claim")),
        reference=references[0] if references else None,
        other_references=tuple(references[1:]),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _missing(kind: Metric, claim: str | None, interaction: Interaction) -> str | None:
    if kind == "support":
        return None if claim or interaction.answer else "claim or answer"
    if kind == "relevance":
        return None if interaction.question and interaction.documents else "question and contexts"
    return None if interaction.answer else "answer"


def _language(raw: Mapping[str, Any], interaction: Interaction, claim: str | None) -> Language:
    given = raw.get("lang")
    if given in {"en", "zh"}:
        return "zh" if given == "zh" else "en"
    return detect_language(interaction.question, claim or interaction.answer)
