"""Interactions and evaluations as plain JSON values, and back.

The shape is the one that ``ragtrace score --json`` prints, one object an interaction. Numbers are finite, and
what is not known is ``null``: never 0, never NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragtrace.model import (
    Cause,
    Citation,
    Claim,
    Diagnosis,
    Evaluation,
    Interaction,
    JudgedClaim,
    JudgeInfo,
    Need,
    Outcome,
    RetrievedDocument,
    Score,
    Status,
    Support,
    Unscored,
    Verdict,
)
from ragtrace.serialize import plain

Json = dict[str, Any]


def interaction_to_dict(interaction: Interaction) -> Json:
    """An interaction as a JSON object: what was asked, retrieved and answered, and what is missing."""
    return {
        "trace_id": interaction.trace_id,
        "span_id": interaction.entry_span_id,
        "dialect": interaction.dialect,
        "language": interaction.language,
        "question": interaction.question,
        "rewritten_question": interaction.rewritten_question,
        "history": [{"question": turn.question, "answer": turn.answer} for turn in interaction.history],
        "documents": _documents(interaction.documents),
        "hops": [
            {"query": hop.query, "span_id": hop.span_id, "documents": _documents(hop.documents)}
            for hop in interaction.hops
        ],
        "answer": interaction.answer,
        "partial": interaction.partial,
        "error": interaction.error,
        "reference": interaction.reference,
        "other_references": list(interaction.other_references),
        "gold": None if interaction.gold is None else dict(interaction.gold),
        "feedback": [
            {"name": one.name, "value": one.value, "comment": one.comment} for one in interaction.feedback
        ],
        "session": interaction.session,
        "kept_ratio": interaction.kept_ratio,
        "missing": list(interaction.missing),
        "sources": dict(interaction.sources),
        "metadata": plain(interaction.metadata),
    }


def evaluation_to_dict(evaluation: Evaluation) -> Json:
    """An evaluation as a JSON object: its interaction's keys, and outcomes, claims, diagnosis, judge."""
    return interaction_to_dict(evaluation.interaction) | judgement_to_dict(evaluation)


def judgement_to_dict(evaluation: Evaluation) -> Json:
    """What an evaluation says of its interaction: all of :func:`evaluation_to_dict` that is not the
    interaction's own."""
    return {
        "language": evaluation.language,
        "outcomes": {name: _outcome(outcome) for name, outcome in evaluation.outcomes.items()},
        "claims": [_claim(judged) for judged in evaluation.claims],
        "citations": [
            {
                "label": citation.label,
                "start": citation.start,
                "end": citation.end,
                "documents": list(citation.documents),
                "status": citation.status,
            }
            for citation in evaluation.citations
        ],
        "relevance": {str(rank): value for rank, value in evaluation.relevance.items()},
        "needs": [
            {"text": need.text, "covered": need.covered, "answered": need.answered}
            for need in evaluation.needs
        ],
        "diagnosis": _diagnosis(evaluation.diagnosis),
        "judge": {
            "kind": evaluation.judge.kind,
            "model": evaluation.judge.model,
            "revision": evaluation.judge.revision,
            "calls": evaluation.judge.calls,
            "input_tokens": evaluation.judge.input_tokens,
            "output_tokens": evaluation.judge.output_tokens,
            "estimated_calls": evaluation.judge.estimated_calls,
            "local_claims": evaluation.judge.local_claims,
        },
        "sampling": {"probability": evaluation.sampling_probability, "rule": evaluation.sampling_rule},
    }


def evaluation_from_dict(interaction: Interaction, record: Mapping[str, Any]) -> Evaluation:
    """The evaluation of ``interaction`` that :func:`evaluation_to_dict` wrote as ``record``.

    Only the keys that the interaction does not hold are read, so that a record without its texts will do.

    Raises:
        KeyError, TypeError, ValueError: ``record`` is not of that shape.
    """
    judge, sampling = record["judge"], record.get("sampling") or {}
    return Evaluation(
        interaction=interaction,
        outcomes={name: _read_outcome(name, outcome) for name, outcome in record["outcomes"].items()},
        diagnosis=_read_diagnosis(record["diagnosis"]),
        judge=JudgeInfo(**judge),
        claims=tuple(_read_claim(claim) for claim in record.get("claims", ())),
        citations=tuple(
            Citation(**{**one, "documents": tuple(one["documents"])}) for one in record.get("citations", ())
        ),
        relevance={int(rank): value for rank, value in record.get("relevance", {}).items()},
        needs=tuple(Need(**need) for need in record.get("needs", ())),
        language=record["language"],
        sampling_probability=sampling.get("probability"),
        sampling_rule=sampling.get("rule"),
    )


def _documents(documents: tuple[RetrievedDocument, ...] | None) -> list[Json] | None:
    if documents is None:
        return None
    return [
        {
            "id": document.id,
            "id_source": document.id_source,
            "text": document.text,
            "score": document.score,
            "distance": document.distance,
            "rerank_score": document.rerank_score,
            "rank": document.rank,
            "metadata": plain(document.metadata),
        }
        for document in documents
    ]


def _outcome(outcome: Outcome) -> Json:
    return {
        "status": outcome.status.value,
        "value": outcome.value,
        "n_judged": outcome.n_judged,
        "n_total": outcome.n_total,
        "basis": outcome.basis,
        "kept_ratio": outcome.kept_ratio if isinstance(outcome, Score) else None,
        "reason": outcome.reason,
        "explanation": outcome.explanation if isinstance(outcome, Score) else None,
        "evidence": plain(outcome.evidence),
    }


def _read_outcome(metric: str, record: Mapping[str, Any]) -> Outcome:
    judged, total, basis = record.get("n_judged"), record.get("n_total"), record.get("basis")
    if record["status"] != Status.SCORED:
        status, reason = Status(record["status"]), record["reason"]
        return Unscored(metric, status, reason, judged, total, basis, record.get("evidence") or {})
    kept = record.get("kept_ratio")
    return Score(
        metric,
        record["value"],
        judged,
        total,
        basis,
        1.0 if kept is None else kept,
        record.get("explanation"),
        record.get("evidence") or {},
    )


def _claim(judged: JudgedClaim) -> Json:
    claim = judged.claim
    return {
        "text": claim.text,
        "unit": claim.unit,
        "start": claim.start,
        "end": claim.end,
        "cites": list(claim.cites),
        "check_worthy": claim.check_worthy,
        **_verdict(judged.verdict),
        "pairs": {
            str(rank): None if verdict is None else _verdict(verdict)
            for rank, verdict in judged.pairs.items()
        },
    }


def _verdict(verdict: Verdict | None) -> Json:
    if verdict is None:
        return {"verdict": None, "documents": [], "quote": None, "confidence": None, "explanation": None}
    return {
        "verdict": verdict.support.value,
        "documents": list(verdict.documents),
        "quote": verdict.quote,
        "confidence": verdict.confidence,
        "explanation": verdict.explanation,
    }


def _read_claim(record: Mapping[str, Any]) -> JudgedClaim:
    claim = Claim(
        record["text"],
        record["unit"],
        record["start"],
        record["end"],
        tuple(record.get("cites", ())),
        record.get("check_worthy", True),
    )
    pairs = {int(rank): _read_verdict(verdict) for rank, verdict in record.get("pairs", {}).items()}
    return JudgedClaim(claim, _read_verdict(record), pairs)


def _read_verdict(record: Mapping[str, Any] | None) -> Verdict | None:
    if record is None or record["verdict"] is None:
        return None
    return Verdict(
        Support(record["verdict"]),
        tuple(record["documents"]),
        record["quote"],
        record["confidence"],
        record["explanation"],
    )


def _diagnosis(diagnosis: Diagnosis) -> Json:
    return {
        "path": diagnosis.path,
        "cause": diagnosis.cause.value,
        "stage": diagnosis.stage,
        "also": [cause.value for cause in diagnosis.also],
        "advice": list(diagnosis.advice),
        "missing": list(diagnosis.missing),
        "warnings": [cause.value for cause in diagnosis.warnings],
        **({"thresholds": dict(diagnosis.thresholds)} if diagnosis.thresholds else {}),
    }


def _read_diagnosis(record: Mapping[str, Any]) -> Diagnosis:
    return Diagnosis(
        Cause(record["cause"]),
        record["path"],
        record["stage"],
        tuple(Cause(cause) for cause in record["also"]),
        tuple(record["advice"]),
        tuple(record["missing"]),
        tuple(Cause(cause) for cause in record["warnings"]),
        record.get("thresholds", {}),
    )
