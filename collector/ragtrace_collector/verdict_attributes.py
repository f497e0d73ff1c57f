"""An evaluation as span attributes: scalars that every backend can filter by. Pure functions.

A number that is not there is absent, never 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ragtrace import semconv
from ragtrace.metrics.context_noise import noise
from ragtrace.metrics.context_precision import average_precision
from ragtrace.metrics.relevance import RELEVANT_FROM
from ragtrace.model import (
    Diagnosis,
    Evaluation,
    Hop,
    Interaction,
    JudgeInfo,
    Outcome,
    RetrievedDocument,
    Score,
)
from ragtrace.records import judgement_to_dict

Attributes = dict[str, Any]

NOT_JUDGED = -1.0
"""Stands for a document without a verdict, so that the list keeps its ranks."""

_SUFFIXES = (
    "",
    semconv.STATUS_SUFFIX,
    semconv.REASON_SUFFIX,
    semconv.BASIS_SUFFIX,
    semconv.N_JUDGED_SUFFIX,
    semconv.N_TOTAL_SUFFIX,
    semconv.KEPT_RATIO_SUFFIX,
)


def entry_attributes(evaluation: Evaluation) -> Attributes:
    """What is written on the entry span of the interaction."""
    found: Attributes = {}
    for outcome in evaluation.outcomes.values():
        found |= outcome_attributes(semconv.PREFIX, outcome)
    found |= _diagnosis_attributes(evaluation.diagnosis)
    found |= _judge_attributes(evaluation.judge)
    found |= _present(
        {
            semconv.SAMPLING_PROBABILITY: evaluation.sampling_probability,
            semconv.SAMPLING_RULE: evaluation.sampling_rule,
            semconv.DIALECT: evaluation.interaction.dialect,
            semconv.MISSING: list(evaluation.interaction.missing),
            semconv.OUTCOMES: outcomes_json(evaluation),
        }
    )
    return found


def screen_attributes(evaluation: Evaluation) -> Attributes:
    """What the screening judge said, beside what the judge said: scores, cause and who it was."""
    prefix = f"{semconv.SCREEN}."
    found: Attributes = {}
    for outcome in evaluation.outcomes.values():
        found |= outcome_attributes(prefix, outcome)
    found[prefix + "diagnosis"] = evaluation.diagnosis.cause.value
    found[prefix + "judge.kind"] = evaluation.judge.kind
    found[prefix + "judge.revision"] = evaluation.judge.revision
    return found


def outcome_attributes(prefix: str, outcome: Outcome) -> Attributes:
    """One outcome under ``prefix`` (with its dot): value, status, and what else says something."""
    name = prefix + outcome.metric
    kept = outcome.kept_ratio if isinstance(outcome, Score) and outcome.kept_ratio < 1 else None
    return _present(
        {
            name: outcome.value,
            name + semconv.STATUS_SUFFIX: outcome.status.value,
            name + semconv.REASON_SUFFIX: outcome.reason,
            name + semconv.N_JUDGED_SUFFIX: outcome.n_judged,
            name + semconv.N_TOTAL_SUFFIX: outcome.n_total,
            name + semconv.BASIS_SUFFIX: outcome.basis,
            name + semconv.KEPT_RATIO_SUFFIX: kept,
        }
    )


def outcomes_json(evaluation: Evaluation) -> str:
    """Outcomes, claims, verdicts, quotes and citations as one JSON object, without the span's own texts.

    :func:`ragtrace.records.evaluation_from_dict` reads it back.
    """
    record = judgement_to_dict(evaluation)
    kept = {key: value for key, value in record.items() if value is not None}
    kept["outcomes"] = {name: _present(outcome) for name, outcome in record["outcomes"].items()}
    return _JSON.encode(kept)


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def retrieval_attributes(evaluation: Evaluation) -> dict[str, Attributes]:
    """Span id of each retrieval → the relevance of its documents in rank order, its precision and noise."""
    by_document = _relevance_by_document(evaluation)
    if not by_document:
        return {}
    return {
        hop.span_id: _hop_attributes(hop, by_document)
        for hop in _hops(evaluation.interaction)
        if hop.span_id and hop.documents and any(_key(one) in by_document for one in hop.documents)
    }


def stale_keys(evaluation: Evaluation) -> frozenset[str]:
    """Keys that an earlier judgement may have left on the entry span, and that this one replaces."""
    return _stale_keys(tuple(evaluation.outcomes))


@lru_cache(maxsize=8)
def _stale_keys(metrics: tuple[str, ...]) -> frozenset[str]:
    names = [
        f"{prefix}{metric}{suffix}"
        for prefix in (semconv.PREFIX, f"{semconv.SCREEN}.")
        for metric in metrics
        for suffix in _SUFFIXES
    ]
    keys = [
        *names,
        semconv.DIAGNOSIS_PATH,
        semconv.DIAGNOSIS_STAGE,
        semconv.DIAGNOSIS_ALSO,
        semconv.DIAGNOSIS_ADVICE,
        semconv.DIAGNOSIS_MISSING,
        semconv.DIAGNOSIS_WARNINGS,
        semconv.DIAGNOSIS_THRESHOLDS,
        semconv.JUDGE_MODEL,
        semconv.MISSING,
    ]
    return frozenset(keys)


def _diagnosis_attributes(diagnosis: Diagnosis) -> Attributes:
    return _present(
        {
            semconv.DIAGNOSIS: diagnosis.cause.value,
            semconv.DIAGNOSIS_PATH: diagnosis.path,
            semconv.DIAGNOSIS_STAGE: diagnosis.stage,
            semconv.DIAGNOSIS_ALSO: [cause.value for cause in diagnosis.also],
            semconv.DIAGNOSIS_ADVICE: list(diagnosis.advice),
            semconv.DIAGNOSIS_MISSING: list(diagnosis.missing),
            semconv.DIAGNOSIS_WARNINGS: [cause.value for cause in diagnosis.warnings],
            semconv.DIAGNOSIS_THRESHOLDS: [f"{name}={at}" for name, at in diagnosis.thresholds.items()],
        }
    )


def _judge_attributes(judge: JudgeInfo) -> Attributes:
    return _present(
        {
            semconv.JUDGE_KIND: judge.kind,
            semconv.JUDGE_MODEL: judge.model,
            semconv.JUDGE_REVISION: judge.revision,
            semconv.JUDGE_CALLS: judge.calls,
            semconv.JUDGE_INPUT_TOKENS: judge.input_tokens,
            semconv.JUDGE_OUTPUT_TOKENS: judge.output_tokens,
            semconv.JUDGE_ESTIMATED_CALLS: judge.estimated_calls or None,
        }
    )


def _hop_attributes(hop: Hop, by_document: Mapping[str, float]) -> Attributes:
    relevance = [by_document.get(_key(document), NOT_JUDGED) for document in hop.documents or ()]
    judged = [value >= RELEVANT_FROM for value in relevance if value != NOT_JUDGED]
    return _present(
        {
            semconv.RETRIEVAL_RELEVANCE: relevance,
            semconv.RETRIEVAL_PRECISION: average_precision(judged),
            semconv.RETRIEVAL_NOISE: noise(judged),
        }
    )


def _hops(interaction: Interaction) -> tuple[Hop, ...]:
    """The retrievals; where no hop is told apart, the documents are those of the one retrieval span."""
    if interaction.hops or len(interaction.retrieval_span_ids) != 1:
        return interaction.hops
    return (Hop(interaction.question, interaction.documents, interaction.retrieval_span_ids[0]),)


def _relevance_by_document(evaluation: Evaluation) -> dict[str, float]:
    """Document → relevance: rerank and fusion change the ranks between a retrieval and the prompt."""
    documents = evaluation.interaction.documents or ()
    return {
        _key(document): relevance
        for rank, document in enumerate(documents, start=1)
        if (relevance := evaluation.relevance.get(rank)) is not None
    }


def _key(document: RetrievedDocument) -> str:
    # Text before id: several chunks of one document may share its id.
    return document.text or f"id {document.id}"


def _present(attributes: Mapping[str, Any]) -> Attributes:
    return {key: value for key, value in attributes.items() if value is not None and value not in ([], "")}
