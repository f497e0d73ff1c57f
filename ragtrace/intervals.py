"""Means with intervals, and Student's distribution, in plain Python.

The interval of a mean is Student's. Where all values are equal, that would have no width however few they
are; then Wilson's interval of a proportion is taken (Wilson 1927), which is wide for few values and holds for
any variable in 0..1, since none with that mean varies more than a proportion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, stdev

from ragtrace.reliability import Z_95

_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the bounds of its 95 % interval."""

    mean: float
    low: float
    high: float


def mean_interval(values: Sequence[float]) -> Interval | None:
    """The mean of ``values`` (each in 0..1), its interval clipped to 0..1; ``None`` where there are none."""
    if not values:
        return None
    mean = fmean(values)
    if len(values) == 1 or max(values) - min(values) < 1e-12:
        return _wilson(mean, len(values))
    half = student_quantile(len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return Interval(mean, max(0.0, mean - half), min(1.0, mean + half))


def _wilson(share: float, n: int) -> Interval:
    z2 = Z_95 * Z_95
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z_95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return Interval(share, max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half)))


@lru_cache(maxsize=1024)
def student_quantile(degrees: int, confidence: float = _CONFIDENCE) -> float:
    """The t that a Student variable with ``degrees`` of freedom exceeds in size with 1 - ``confidence``."""
    low, high = 0.0, 1e3
    while high - low > 1e-9 * max(1.0, high):
        middle = (low + high) / 2
        low, high = (middle, high) if student_tails(middle, degrees) > 1 - confidence else (low, middle)
    return (low + high) / 2


def student_tails(t: float, degrees: int) -> float:
    """The probability that a Student variable with ``degrees`` of freedom is at least \\|t\\| in size.

    The regularised incomplete beta function I(x; degrees/2, 1/2) at x = degrees / (degrees + t²).
    """
    return _incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Regularised, by its continued fraction (DLMF 8.17.22), on the side where that converges fast."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _incomplete_beta(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    fraction = 1.0
    for n in range(200, 0, -1):
        m = n // 2
        if n % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        fraction = 1.0 + d / fraction
    return math.exp(log_front) / (a * fraction)
