"""Fit the constants of the embedded judge: ``python bench/fit_embedded.py DATA_DIRECTORY [--date
YYYY-MM-DD]``.

DATA_DIRECTORY holds JSONL sets with the fields ``contexts``, ``claim`` or ``question``, ``label`` (0..1).
Only the sets of :data:`SUPPORT` and :data:`RELEVANCE` are read: those whose licence allows fitted numbers
to be shipped. What is fitted: each feature's mean and deviation (sets weighted by the root of their size)
and, per language, a logistic curve (classes and sets balanced). Writes
``ragtrace/judges/_local/constants.json``.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ragtrace.judges._local.claims import read_claim
from ragtrace.judges._local.contradictions import find_conflict
from ragtrace.judges._local.corpus import Corpus, find_evidence
from ragtrace.judges._local.estimate import CLIP
from ragtrace.judges._local.features import chinese_features, english_features
from ragtrace.judges._local.likeness import likeness_features
from ragtrace.judges._local.passages import Reader
from ragtrace.judges._local.questions import read_question
from ragtrace.judges._local.relevance import known_tokens, relevance_features

TARGET = Path(__file__).parents[1] / "ragtrace" / "judges" / "_local" / "constants.json"

SUPPORT = {
    "en": {
        "begin_wow": "CC BY 4.0",
        "begin_cmu": "CC BY 4.0",
        "begin_tc": "CDLA-Sharing 1.0",
        "q2_wow": "Apache-2.0, data MIT",
        "fm2": "Apache-2.0",
    },
    "zh": {
        "pawsx_zh": "PAWS-X: may be freely used for any purpose; Google LLC is acknowledged",
        "cmrc_swap_zh": "CC BY-SA 4.0",
    },
}
RELEVANCE = {
    "en": {"clapnq": "Apache-2.0", "xquad_en": "CC BY-SA 4.0"},
    "zh": {"xquad_zh": "CC BY-SA 4.0"},
}
LIKENESS = {
    "en": {"openqa_nq301": "MIT", "evouna": "Apache-2.0"},
    "zh": {"halluqa": "Apache-2.0"},
}
CONSTRUCTED = frozenset({"cmrc_swap_zh"})
"""Sets whose claims nobody wrote as claims: they say how features scatter, not how often a claim holds."""
THRESHOLDS = {"support": {"en": 0.5, "zh": 0.5}, "covered": 0.5, "answered": 0.5}
"""Where a probability becomes a verdict: the middle, in both languages."""

Row = Mapping[str, Any]
Measure = Callable[[Row], Mapping[str, float] | None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--date", default=datetime.now(UTC).date().isoformat())
    arguments = parser.parse_args()
    table = {
        "about": "Fitted by bench/fit_embedded.py; numbers only, no text of the data.",
        "date": arguments.date,
        "data": {
            name: licence
            for sets in (*SUPPORT.values(), *RELEVANCE.values(), *LIKENESS.values())
            for name, licence in sets.items()
        },
        "thresholds": THRESHOLDS,
        "support": {
            language: fit(arguments.data, sets, support_measure(language))
            for language, sets in SUPPORT.items()
        },
        "relevance": {
            language: fit(arguments.data, sets, relevance_measure) for language, sets in RELEVANCE.items()
        },
        "likeness": {
            language: fit(arguments.data, sets, likeness_measure) for language, sets in LIKENESS.items()
        },
    }
    TARGET.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def fit(data: Path, sets: Iterable[str], measure: Measure) -> dict[str, Any]:
    """Scales and logistic curve of one estimate."""
    measured = [list(_measured(data / f"{name}.jsonl", measure)) for name in sets]
    names = list(measured[0][0][0])
    matrices = [np.array([[features[name] for name in names] for features, _ in rows]) for rows in measured]
    labels = [np.array([label for _, label in rows]) for rows in measured]
    mean, deviation = scales(matrices)
    totals = [np.clip((matrix - mean) / deviation, -CLIP, CLIP).sum(axis=1) for matrix in matrices]
    human = [place for place, name in enumerate(sets) if name not in CONSTRUCTED]
    slope, intercept = logistic_curve([totals[place] for place in human], [labels[place] for place in human])
    return {
        "scales": {
            n: [round(float(m), 5), round(float(d), 5)]
            for n, m, d in zip(names, mean, deviation, strict=True)
        },
        "slope": round(slope, 5),
        "intercept": round(intercept, 5),
    }


def scales(matrices: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each column over all sets, a set weighted by the root of its size."""
    weights = np.array([math.sqrt(len(matrix)) for matrix in matrices])
    weights /= weights.sum()
    mean = sum(w * matrix.mean(axis=0) for w, matrix in zip(weights, matrices, strict=True))
    variance = sum(
        w * ((matrix - mean) ** 2).mean(axis=0) for w, matrix in zip(weights, matrices, strict=True)
    )
    return mean, np.sqrt(variance) + 1e-6


def logistic_curve(totals: Sequence[np.ndarray], labels: Sequence[np.ndarray]) -> tuple[float, float]:
    """Slope and intercept by Newton's method; in each set both classes weigh the same, and so do all sets."""
    x = np.concatenate(totals)
    y = np.concatenate(labels)
    weight = np.concatenate([_balanced(label) for label in labels])
    design = np.stack([x, np.ones_like(x)], axis=1)
    parameters = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ parameters))
        gradient = design.T @ (weight * (y - p))
        hessian = (design * (weight * p * (1 - p))[:, None]).T @ design
        parameters += np.linalg.solve(hessian + 1e-9 * np.eye(2), gradient)
    return float(parameters[0]), float(parameters[1])


def _balanced(labels: np.ndarray) -> np.ndarray:
    positive = labels.mean()
    return np.where(labels == 1, 0.5 / positive, 0.5 / (1 - positive)) / len(labels)


def _measured(path: Path, measure: Measure) -> Iterator[tuple[Mapping[str, float], float]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            features = measure(row)
            if features is not None:
                yield features, float(row["label"] >= 0.5)


def support_measure(language: str) -> Measure:
    """Features of a row's claim against its contexts; ``None`` where nothing is shared."""
    features = chinese_features if language == "zh" else english_features

    def measure(row: Row) -> Mapping[str, float] | None:
        claim, corpus = read_claim(row["claim"]), _corpus(row)
        evidence = find_evidence(claim.weights, corpus) if claim.tokens else None
        if evidence is None:
            return None
        return features(claim, evidence, corpus, find_conflict(claim, evidence, corpus))

    return measure


def relevance_measure(row: Row) -> Mapping[str, float]:
    """Features of a row's question against its context."""
    need, corpus = read_question(row["question"]), _corpus(row)
    return relevance_features(need, corpus, known_tokens(need, corpus))


def likeness_measure(row: Row) -> Mapping[str, float]:
    """Features of a row's answer against the reference that it overlaps most."""
    answer, question = read_claim(row["answer"]), read_claim(row["question"])
    found = [likeness_features(answer, read_claim(text), question) for text in row["reference"]]
    return max(found, key=lambda features: features["recall"] + features["overlap"])


def _corpus(row: Row) -> Corpus:
    return Corpus([Reader(0).read(text, rank) for rank, text in enumerate(row["contexts"], start=1)])


if __name__ == "__main__":
    main()
