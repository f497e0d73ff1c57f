"""From measurements to probabilities: standardise, clip, add up with equal weight, calibrate.

Equal weights are a finding, not a shortcut: weights that were fitted on any of the data that may be used
ranked claims of *other* data worse. What is fitted is each feature's mean and deviation, and the two
numbers of the logistic curve that turns the sum into a probability (Platt 1999).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any

CLIP = 3.0
"""A feature counts no more than so many deviations: one odd measurement must not decide."""

SUREST = 0.04
"""No wording is proof: some claims that share nothing with a document follow from it, and the other way
round."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An equal-weight estimate. ``scales`` maps each feature to its (mean, deviation)."""

    scales: Mapping[str, tuple[float, float]]
    slope: float
    intercept: float

    def total(self, features: Mapping[str, float]) -> float:
        """The sum of the standardised features."""
        values = [(features[name] - mean) / deviation for name, (mean, deviation) in self.scales.items()]
        return sum([-CLIP if value < -CLIP else CLIP if value > CLIP else value for value in values])

    def probability(self, features: Mapping[str, float]) -> float:
        """The calibrated probability, within :data:`SUREST` of 0 and 1."""
        return _modest(logistic(self.slope * self.total(features) + self.intercept))

    @property
    def floor(self) -> float:
        """The probability when nothing at all was found."""
        return _modest(logistic(-self.slope * CLIP * len(self.scales) + self.intercept))


def _modest(probability: float) -> float:
    """Squeezed evenly into [SUREST, 1 - SUREST], so that the order is kept."""
    return SUREST + (1 - 2 * SUREST) * probability


def logistic(value: float) -> float:
    """1 / (1 + e^-value)."""
    return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, value))))


@dataclass(frozen=True, slots=True)
class Constants:
    """All that was fitted: see ``constants.json`` for the data, its licences and the date."""

    support: Mapping[str, Estimate]
    relevance: Mapping[str, Estimate]
    likeness: Mapping[str, Estimate]
    support_from: Mapping[str, float]
    """Language → the probability from which a claim counts as supported."""
    thresholds: Mapping[str, float]
    revision: str


@cache
def constants() -> Constants:
    """The constants that ship with the judge."""
    table: dict[str, Any] = json.loads((files(__package__) / "constants.json").read_text(encoding="utf-8"))
    fitted = {name: table[name] for name in ("support", "relevance", "likeness", "thresholds")}
    return Constants(
        support={language: _estimate(row) for language, row in table["support"].items()},
        relevance={language: _estimate(row) for language, row in table["relevance"].items()},
        likeness={language: _estimate(row) for language, row in table["likeness"].items()},
        support_from=table["thresholds"]["support"],
        thresholds={name: table["thresholds"][name] for name in ("covered", "answered")},
        revision=blake2b(json.dumps(fitted, sort_keys=True).encode(), digest_size=4).hexdigest(),
    )


def _estimate(row: Mapping[str, Any]) -> Estimate:
    scales = {name: (float(mean), float(deviation)) for name, (mean, deviation) in row["scales"].items()}
    return Estimate(scales, row["slope"], row["intercept"])
