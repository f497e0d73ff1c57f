"""A judge against people's labels: judge labelled rows, measure the agreement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from ragtrace import reliability
from ragtrace.baselines import baseline_scores
from ragtrace.embedders.base import Embedder
from ragtrace.judges.base import Judge, JudgeReply, JudgeRequest, Usage, Want
from ragtrace.labelled import POSITIVE, LabelledRow
from ragtrace.metrics.answer_correctness import AnswerCorrectness
from ragtrace.metrics.base import Evidence
from ragtrace.model import Interaction, JudgedClaim, Support, Unit
from ragtrace.text.citations import parse
from ragtrace.text.segment import units


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """A row with the judge's score (0..1) and decision, both ``None`` where it gave none, and what word
    overlap says of it, where that is wanted (:mod:`ragtrace.baselines`). ``fault``: why it gave none."""

    row: LabelledRow
    score: float | None
    decision: bool | None
    usage: Usage = field(default_factory=Usage)
    baselines: Mapping[str, float] = field(default_factory=dict)
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement on a group of rows. Figures are over the rows with a score; ``coverage`` is their share.

    ``balanced_accuracy`` is at the judge's own threshold, ``balanced_accuracy_best`` at the best one for
    these very rows (optimistic). ``ece`` is the expected calibration error in ten bins. ``baselines`` holds
    the AUROC of each baseline over the same rows.
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
    baselines: Mapping[str, float | None] = field(default_factory=dict)


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
    fault = reply.faults[0].reason if score is None and reply.faults else None
    return JudgedRow(row, score, decision, reply.usage, fault=fault)


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


def with_baselines(rows: Sequence[JudgedRow]) -> list[JudgedRow]:
    """The rows with what word overlap says of them."""
    scores = baseline_scores([judged.row for judged in rows])
    return [replace(judged, baselines=found) for judged, found in zip(rows, scores, strict=True)]


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
        baselines=_baselines([row for row in rows if row.score is not None]),
    )


def _baselines(rows: Sequence[JudgedRow]) -> dict[str, float | None]:
    names = dict.fromkeys(name for row in rows for name in row.baselines)
    return {name: _area(name, [row for row in rows if name in row.baselines]) for name in names}


def _area(name: str, rows: Sequence[JudgedRow]) -> float | None:
    return reliability.auroc([row.row.label for row in rows], [row.baselines[name] for row in rows])


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
        baselines={
            name: _fmean([group.baselines.get(name) for group in groups])
            for name in dict.fromkeys(name for group in groups for name in group.baselines)
        },
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
