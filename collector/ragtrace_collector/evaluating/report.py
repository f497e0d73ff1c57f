"""What a run over a set found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ragtrace.aggregates import Aggregate
from ragtrace.comparison import Difference
from ragtrace.errors import InputError
from ragtrace.findings import Findings
from ragtrace_collector.evaluating.gates import Gate
from ragtrace_collector.evaluating.run import Progress
from ragtrace_collector.trouble import Trouble


@dataclass(slots=True)
class Report:
    """What a run found. ``warnings`` say under which reserve ``differences`` stand."""

    name: str
    fingerprint: str
    progress: Progress
    aggregate: Aggregate
    findings: Findings
    problems: tuple[InputError, ...] = ()
    differences: tuple[Difference, ...] | None = None
    warnings: tuple[str, ...] = ()
    trouble: Trouble = field(default_factory=Trouble)

    def failures(self, gates: Sequence[Gate]) -> list[str]:
        """Why the gates that were not passed were not."""
        metrics = {name: tally.as_json() for name, tally in self.aggregate.whole.metrics.items()}
        return [failure for gate in gates if (failure := gate.failure(metrics)) is not None]

    def as_json(self) -> dict[str, Any]:
        """The summary as ``--json`` prints it."""
        summary = self.aggregate.as_json()
        summary["set"] = {"name": self.name, "fingerprint": self.fingerprint, "left_out": len(self.problems)}
        summary["advice"] = [finding.as_json() for finding in self.findings.found()]
        if self.progress.failed_answers:
            summary["failed_answers"] = self.progress.failed_answers
        if self.progress.first_failure is not None:
            row, error = self.progress.first_failure
            summary["first_failed_answer"] = {"row": row, "error": error}
        if self.progress.known:
            summary["known_before"] = self.progress.known
        if self.differences is not None:
            summary["compare"] = {
                "warnings": list(self.warnings),
                "metrics": {one.metric: difference_as_json(one) for one in self.differences},
            }
        return summary


def difference_as_json(one: Difference) -> dict[str, Any]:
    """One metric of a comparison."""
    names = ("n", "n_left_out", "baseline", "current", "difference", "low", "high", "p", "p_holm", "verdict")
    return {name: getattr(one, name) for name in names}
