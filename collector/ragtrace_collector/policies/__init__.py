"""Rules that judge an interaction with probability 1, whatever the share says. One file each.

A policy is a frozen dataclass whose fields are its options, named in the config as ``use: error`` or
``use: my_pkg.mod:Class``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ragtrace.model import Evaluation, SpanRecord


@dataclass(frozen=True, slots=True)
class Candidate:
    """An interaction to decide on: its spans, its entry's id, what the screening judge said if one ran."""

    spans: tuple[SpanRecord, ...]
    entry_span_id: str
    screens: tuple[Evaluation, ...] = ()


@runtime_checkable
class Policy(Protocol):
    """Says whether an interaction must be judged.

    ``matches`` is pure: it computes a fact over the whole interaction, then compares. Where it raises, the
    rule counts as not matched and the failure is counted.
    """

    def matches(self, candidate: Candidate) -> bool:
        """Whether the rule holds."""


BUILTIN: Mapping[str, str] = {
    "error": "ragtrace_collector.policies.error:Error",
    "attribute": "ragtrace_collector.policies.attribute:Attribute",
    "feedback": "ragtrace_collector.policies.feedback:Feedback",
    "latency": "ragtrace_collector.policies.latency:Latency",
    "low_score": "ragtrace_collector.policies.low_score:LowScore",
    "undecided": "ragtrace_collector.policies.undecided:Undecided",
}
"""Short name → import path."""
