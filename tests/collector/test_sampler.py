"""Sampling decisions and their probabilities."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from ragtrace.model import SpanRecord
from ragtrace_collector.policies import Candidate
from ragtrace_collector.policies.error import Error
from ragtrace_collector.sampler import Sampler, is_drawn, threshold
from ragtrace_collector.stages import Decision, HeldInteraction, ReleaseReason, Verb

LOW, HIGH = "00" * 16, "ff" * 16


def held(trace_id: str) -> HeldInteraction:
    return HeldInteraction(trace_id, "e" * 16, (), ReleaseReason.ENTRY, 0.0, 2.0)


def failed(_: HeldInteraction) -> tuple[SpanRecord, ...]:
    return (SpanRecord("t", "s", None, "n", status=2),)


def fine(_: HeldInteraction) -> tuple[SpanRecord, ...]:
    return (SpanRecord("t", "s", None, "n", status=1),)


@dataclass(frozen=True)
class Broken:
    """A rule with a bug."""

    def matches(self, candidate: Candidate) -> bool:
        raise RuntimeError("bug")


@pytest.mark.parametrize("probability", [0.0, 0.05, 0.5, 1.0])
def test_the_share_is_met_over_random_trace_ids(probability: float) -> None:
    """Of 20,000 random traces the share is drawn, within five standard deviations."""
    rng, n = random.Random(7), 20_000
    drawn = sum(is_drawn(f"{rng.getrandbits(128):032x}", threshold(probability)) for _ in range(n))
    assert abs(drawn - n * probability) <= 5 * (n * probability * (1 - probability)) ** 0.5


def test_a_larger_share_holds_the_smaller_one() -> None:
    """Consistent sampling: what 5 % draws, 50 % draws too."""
    rng = random.Random(3)
    ids = [f"{rng.getrandbits(128):032x}" for _ in range(2000)]
    small = {i for i in ids if is_drawn(i, threshold(0.05))}
    assert small <= {i for i in ids if is_drawn(i, threshold(0.5))}


def test_only_the_last_56_bits_of_the_trace_id_decide() -> None:
    """As the OpenTelemetry specification says, so that every collector decides alike."""
    assert is_drawn("00" * 9 + "ff" * 7, threshold(0.5))
    assert not is_drawn("ff" * 9 + "00" * 7, threshold(0.5))


def test_an_unsampled_trace_is_decided_at_its_first_span() -> None:
    """Without screen or rules it is neither held nor changed."""
    sampler = Sampler(0.25)
    assert sampler.early(LOW) == Decision(Verb.FORWARD, 0.75, "share")
    assert sampler.early(HIGH) is None


@pytest.mark.parametrize("sampler", [Sampler(0.25, screen=True), Sampler(0.25, {"error": Error()})])
def test_a_screen_or_a_rule_needs_the_whole_interaction(sampler: Sampler) -> None:
    """Then nothing is decided early."""
    assert sampler.early(LOW) is None


@pytest.mark.parametrize(
    ("case", "sampler", "trace_id", "expected"),
    [
        ("everything is judged", Sampler(1.0), LOW, Decision(Verb.JUDGE, 1.0, "share")),
        ("drawn", Sampler(0.25), HIGH, Decision(Verb.JUDGE, 0.25, "share")),
        ("passed over", Sampler(0.25), LOW, Decision(Verb.FORWARD, 0.75, "share")),
        (
            "a rule holds",
            Sampler(0.25, {"failed": Error()}, read=failed),
            LOW,
            Decision(Verb.JUDGE, 1.0, "failed"),
        ),
        (
            "a rule holds for a drawn one: it was certain to be judged",
            Sampler(0.25, {"failed": Error()}, read=failed),
            HIGH,
            Decision(Verb.JUDGE, 1.0, "failed"),
        ),
        (
            "no rule holds",
            Sampler(0.25, {"failed": Error()}, read=fine),
            LOW,
            Decision(Verb.FORWARD, 0.75, "share"),
        ),
        ("screened", Sampler(0.25, screen=True), LOW, Decision(Verb.SCREEN, 1.0, "share")),
        ("nothing is judged", Sampler(0.0), HIGH, Decision(Verb.FORWARD, 1.0, "share")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_decision(case: str, sampler: Sampler, trace_id: str, expected: Decision) -> None:
    """The decision carries the probability in force and the rule."""
    assert sampler.decide(held(trace_id)) == expected, case


def test_a_rule_with_a_bug_counts_as_not_matched_and_is_reported() -> None:
    """A user's rule must not cost the spans."""
    failures: list[str] = []
    sampler = Sampler(0.0, {"mine": Broken()}, on_failure=failures.append)
    assert sampler.decide(held(HIGH)).verb is Verb.FORWARD
    assert failures == ["mine"]
