"""Decides which interactions are judged; users keep all spans either way.

The share is drawn by the trace id, so that every collector decides alike, in constant time. It follows the
OpenTelemetry consistent probability sampling: the last 56 bits of the trace id are its randomness R, an
interaction is in when R ≥ T, the rejection threshold of the share.
(https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ragtrace.model import Evaluation, SpanRecord
from ragtrace_collector.policies import Candidate, Policy
from ragtrace_collector.stages import Decision, HeldInteraction, Verb

_RANGE = 1 << 56
SHARE = "share"
"""The rule of an interaction that was drawn, or passed over, by the share."""


def threshold(probability: float) -> int:
    """The share (0..1) → its rejection threshold, 0 (all are in) to 2**56 (none is)."""
    return round((1.0 - probability) * _RANGE)


def is_drawn(trace_id: str, rejection: int) -> bool:
    """Whether a trace (hex id) is in at that rejection threshold."""
    return int(trace_id[-14:], 16) >= rejection


@dataclass(frozen=True)
class Sampler:
    """Share, rules by name, and whether a screening judge sees what neither of them takes.

    ``read`` turns held spans into what rules look at; it is called only where there are rules. A rule that
    fails counts as not matched; ``on_failure`` is told its name.
    """

    probability: float
    rules: Mapping[str, Policy] = field(default_factory=dict)
    screen: bool = False
    read: Callable[[HeldInteraction], tuple[SpanRecord, ...]] = lambda held: ()
    on_failure: Callable[[str], None] = lambda rule: None

    def early(self, trace_id: str) -> Decision | None:
        """The decision that needs no more than the trace id (hex); ``None`` = see the whole interaction."""
        if self._sees_all or is_drawn(trace_id, self._rejection):
            return None
        return self._passed_over

    @cached_property
    def _sees_all(self) -> bool:
        return bool(self.rules) or self.screen

    @cached_property
    def _rejection(self) -> int:
        return threshold(self.probability)

    @cached_property
    def _passed_over(self) -> Decision:
        return Decision(Verb.FORWARD, 1.0 - self.probability, SHARE)

    def decide(self, held: HeldInteraction, screens: tuple[Evaluation, ...] = ()) -> Decision:
        """The decision on a whole interaction; with ``screens``, the one after screening."""
        if self.probability >= 1.0:
            return Decision(Verb.JUDGE, 1.0, SHARE)
        if self.rules:
            candidate = Candidate(self.read(held), held.entry_span_id, screens)
            rule = next(
                (name for name, policy in self.rules.items() if self._holds(name, policy, candidate)), None
            )
            if rule is not None:
                return Decision(Verb.JUDGE, 1.0, rule)
        if is_drawn(held.trace_id, self._rejection):
            return Decision(Verb.JUDGE, self.probability, SHARE)
        if self.screen and not screens:
            return Decision(Verb.SCREEN, 1.0, SHARE)
        return Decision(Verb.SCREEN if screens else Verb.FORWARD, 1.0 - self.probability, SHARE)

    def _holds(self, name: str, policy: Policy, candidate: Candidate) -> bool:
        try:
            return bool(policy.matches(candidate))  # here: a user's type may fail at this too
        except Exception:  # noqa: BLE001  # a user's rule must not cost the spans
            self.on_failure(name)
            return False
