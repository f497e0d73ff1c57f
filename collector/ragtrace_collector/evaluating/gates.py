"""``--fail-under``: metrics that must not fall below a number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragtrace.errors import ConfigError

_GATE = re.compile(r"(?P<metric>[a-z_]+(?:@[1-9]\d*)?)=(?P<least>\d*\.?\d+)(?P<low>@low)?")


@dataclass(frozen=True, slots=True)
class Gate:
    """``metric`` must reach ``least`` (0..1) with its mean, or with the lower end of its interval."""

    metric: str
    least: float
    of: Literal["mean", "low"] = "mean"

    def failure(self, metrics: Mapping[str, Mapping[str, Any]]) -> str | None:
        """Why the summary does not pass; ``None`` where it does. A metric without a number does not."""
        value = metrics.get(self.metric, {}).get(self.of)
        if value is None:
            return f"{self.metric}: no row has a number, so it is not known to reach {self.least:g}"
        if value >= self.least:
            return None
        what = "the mean" if self.of == "mean" else "the lower end of the 95 % interval"
        return f"{self.metric}: {what} is {value:.4f}, under {self.least:g}"


def read_gates(texts: Iterable[str], known: Sequence[str]) -> list[Gate]:
    """Gates from ``metric=0.85`` and ``metric=0.85@low``.

    Raises:
        ConfigError: one is no gate, or its metric is none of ``known``.
    """
    return [_read_gate(text, known) for text in texts]


def _read_gate(text: str, known: Sequence[str]) -> Gate:
    match = _GATE.fullmatch(text.strip())
    if match is None or float(match["least"]) > 1:
        raise ConfigError(
            f"{text!r} is not of the form faithfulness=0.85 or faithfulness=0.85@low, with a number in 0..1",
            "--fail-under",
        )
    if match["metric"] not in known:
        raise ConfigError(
            f"no metric here is called {match['metric']!r}; there are {', '.join(known)}", "--fail-under"
        )
    return Gate(match["metric"], float(match["least"]), "low" if match["low"] else "mean")
