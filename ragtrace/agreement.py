"""A judge against people's labels: read labelled rows, judge them, measure the agreement.

A row has ``contexts``, ``claim`` or ``answer``, ``question`` and ``reference`` where its metric needs them,
and ``label`` in 0..1. Which metric a row is about is said by its ``label_kind``, or by the caller.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from ragtrace import reliability
from ragtrace.embedders.base import Embedder
from ragtrace.errors import InputError
from ragtrace.judges.base import Judge, JudgeReply, JudgeRequest, Usage, Want
from ragtrace.metrics.answer_correctness import AnswerCorrectness
from ragtrace.metrics.base import Evidence
from ragtrace.model import Interaction, JudgedClaim, Language, RetrievedDocument, Support, Unit
from ragtrace.text.citations import parse
from ragtrace.text.language import detect_language
from ragtrace.text.segment import units

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


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """A row with the judge's score (0..1) and decision, both ``None`` where it gave none."""

    row: LabelledRow
    score: float | None
    decision: bool | None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement on a group of rows. Figures are over the rows with a score; ``coverage`` is their share.

    ``balanced_accuracy`` is at the judge's own threshold, ``balanced_accuracy_best`` at the best one for
    these very rows (optimistic). ``ece`` is the expected calibration error in ten bins.
    """

    n: int
    auroc: float | None
    auroc_low: float | None
    auroc_high: float | None
    balanced_accuracy: float | None
    balanced_accuracy_best: float | None
    kappa: float | None
    ece: float | None
    coverage: float


@dataclass(frozen=True, slots=True)
class Report:
    """All groups; ``overall`` is the mean over groups, each weighing the same. ``ece_pooled`` is the
    calibration error of all rows together, each group weighing the same; ``table`` is the reliability table
    behind it."""

    groups: tuple[tuple[Mapping[str, str], Agreement], ...]
    overall: Agreement
    ece_pooled: float | None
    table: tuple[reliability.Bin, ...]
    usage: Usage


# --- reading ----------------------------------------------------------------------------------------------


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


# --- judging ----------------------------------------------------------------------------------------------

_WANTS = {
    "support": frozenset({Want.VERDICTS}),
    "relevance": frozenset({Want.RELEVANCE}),
    "correctness": frozenset({Want.REFERENCE}),
}


async def judge_row(judge: Judge, row: LabelledRow, embedder: Embedder | None = None) -> JudgedRow:
    """Judge one row. ``embedder`` compares answer and reference for a judge that does not."""
    if row.metric == "correctness" and not row.interaction.reference:
        return JudgedRow(row, None, None)
    asked = (_claim_unit(row),) if row.metric == "support" and row.claim else _units(row)
    request = JudgeRequest(row.interaction, asked, _WANTS[row.metric], row.language)
    reply = await judge.judge(request)
    if row.metric == "correctness" and embedder is not None and reply.reference_similarity is None:
        reply = replace(reply, reference_similarity=await _similarity(embedder, row.interaction))
    score, decision = _READ[row.metric](reply, row, asked)
    return JudgedRow(row, score, decision, reply.usage)


async def _similarity(embedder: Embedder, interaction: Interaction) -> float:
    vectors = await embedder.embed([interaction.answer or "", interaction.reference or ""])
    return max(0.0, float(vectors[0] @ vectors[1]))


def _units(row: LabelledRow) -> tuple[Unit, ...]:
    answer = row.interaction.answer or ""
    return units(answer, parse(answer, row.interaction.documents or ()), row.language)


def _claim_unit(row: LabelledRow) -> Unit:
    """The labelled claim as one unit, without its markers: people judged it as a whole."""
    claim = row.claim or ""
    text, last = "", 0
    for citation in parse(claim, row.interaction.documents or ()):
        text, last = text + claim[last : citation.start], max(last, citation.end)
    return Unit(1, (text + claim[last:]).strip() or claim, 0, len(claim))


def _support(
    reply: JudgeReply, row: LabelledRow, asked: tuple[Unit, ...]
) -> tuple[float | None, bool | None]:
    """A labelled claim holds if all its parts do; an answer scores the mean of its claims."""
    scores = [score for claim in reply.claims if (score := _confidence(claim)) is not None]
    if not scores or len(scores) < len(reply.claims):
        return None, None
    decisions = [
        claim.verdict is not None and claim.verdict.support is Support.SUPPORTED for claim in reply.claims
    ]
    return min(scores) if row.claim else fmean(scores), all(decisions)


def _confidence(claim: JudgedClaim) -> float | None:
    if claim.verdict is None:
        return None
    if claim.verdict.confidence is not None:
        return claim.verdict.confidence
    return float(claim.verdict.support is Support.SUPPORTED)


def _relevance(
    reply: JudgeReply, row: LabelledRow, asked: tuple[Unit, ...]
) -> tuple[float | None, bool | None]:
    found = [float(value) for value in reply.relevance.values() if value is not None]
    return (max(found), max(found) >= POSITIVE) if found else (None, None)


def _correctness(
    reply: JudgeReply, row: LabelledRow, asked: tuple[Unit, ...]
) -> tuple[float | None, bool | None]:
    evidence = Evidence(row.interaction, reply, asked, language=row.language)
    compared = reply.reference_similarity is not None
    metric = AnswerCorrectness() if compared else AnswerCorrectness(weights=(1.0, 0.0))
    value = metric.score(evidence).value
    return (value, value >= POSITIVE) if value is not None else (None, None)


_READ = {"support": _support, "relevance": _relevance, "correctness": _correctness}


# --- measuring --------------------------------------------------------------------------------------------


def report(rows: Sequence[JudgedRow]) -> Report:
    """The agreement of each group and of all."""
    grouped: dict[tuple[tuple[str, str], ...], list[JudgedRow]] = defaultdict(list)
    for row in rows:
        grouped[tuple(row.row.groups.items())].append(row)
    groups = tuple((dict(key), measure(members)) for key, members in grouped.items())
    table = _pooled(list(grouped.values()))
    usage = sum((row.usage for row in rows), Usage())
    return Report(
        groups, _mean([found for _, found in groups]), reliability.calibration_error(table), table, usage
    )


def measure(rows: Sequence[JudgedRow]) -> Agreement:
    """The agreement on one group of rows."""
    scored = [(r.row.label, r.score, bool(r.decision)) for r in rows if r.score is not None]
    labels, scores = [label for label, _, _ in scored], [score for _, score, _ in scored]
    decisions = [decision for _, _, decision in scored]
    area = reliability.auroc(labels, scores)
    error = reliability.auroc_error(area, sum(labels), len(labels) - sum(labels)) if area is not None else 0.0
    best = reliability.best_balanced_accuracy(labels, scores)
    return Agreement(
        n=len(rows),
        auroc=area,
        auroc_low=None if area is None else max(0.0, area - reliability.Z_95 * error),
        auroc_high=None if area is None else min(1.0, area + reliability.Z_95 * error),
        balanced_accuracy=reliability.balanced_accuracy(labels, decisions),
        balanced_accuracy_best=best[0] if best else None,
        kappa=reliability.kappa(labels, decisions),
        ece=reliability.calibration_error(reliability.reliability_table(labels, scores)),
        coverage=len(scored) / len(rows) if rows else 0.0,
    )


def _mean(groups: Sequence[Agreement]) -> Agreement:
    """Mean over groups; the interval is that of a mean of independent areas."""
    areas = [group for group in groups if group.auroc is not None]
    mean = _fmean([group.auroc for group in areas])
    spread = [((group.auroc_high or 0) - (group.auroc_low or 0)) / 2 for group in areas]
    half = (sum(s * s for s in spread) ** 0.5 / len(spread)) if spread else 0.0
    return Agreement(
        n=sum(group.n for group in groups),
        auroc=mean,
        auroc_low=None if mean is None else max(0.0, mean - half),
        auroc_high=None if mean is None else min(1.0, mean + half),
        balanced_accuracy=_fmean([group.balanced_accuracy for group in groups]),
        balanced_accuracy_best=_fmean([group.balanced_accuracy_best for group in groups]),
        kappa=_fmean([group.kappa for group in groups]),
        ece=_fmean([group.ece for group in groups]),
        coverage=_fmean([group.coverage for group in groups]) or 0.0,
    )


def _fmean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _pooled(groups: Sequence[Sequence[JudgedRow]]) -> tuple[reliability.Bin, ...]:
    labels: list[bool] = []
    scores: list[float] = []
    weights: list[float] = []
    for group in groups:
        scored = [row for row in group if row.score is not None]
        labels += [row.row.label for row in scored]
        scores += [row.score for row in scored if row.score is not None]
        weights += [1.0 / len(scored) for _ in scored]
    return reliability.reliability_table(labels, scores, weights)
