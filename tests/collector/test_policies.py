"""One table a policy, its cases named in words."""

from __future__ import annotations

import pytest

from ragtrace.errors import ConfigError
from ragtrace.model import (
    Cause,
    Claim,
    Diagnosis,
    Evaluation,
    Interaction,
    JudgedClaim,
    JudgeInfo,
    Outcome,
    Score,
    SpanRecord,
    Status,
    Support,
    Unscored,
    Verdict,
)
from ragtrace_collector.extensions import build
from ragtrace_collector.policies import BUILTIN, Candidate, Policy
from ragtrace_collector.policies.attribute import Attribute
from ragtrace_collector.policies.error import Error
from ragtrace_collector.policies.feedback import Feedback
from ragtrace_collector.policies.latency import Latency
from ragtrace_collector.policies.low_score import LowScore
from ragtrace_collector.policies.undecided import Undecided

SECOND = 10**9


def span(
    start: float = 0,
    end: float = 1,
    *,
    status: int = 0,
    resource: dict[str, object] | None = None,
    **attributes: object,
) -> SpanRecord:
    return SpanRecord(
        "t",
        "s",
        None,
        "n",
        status=status,
        start_ns=int(start * SECOND),
        end_ns=int(end * SECOND),
        attributes={key.replace("__", "."): value for key, value in attributes.items()},
        resource=resource or {},
    )


def of(*spans: SpanRecord, screens: tuple[Evaluation, ...] = ()) -> Candidate:
    return Candidate(spans, "s", screens)


def evaluation(*outcomes: Outcome, confidences: tuple[float | None, ...] = ()) -> Evaluation:
    claims = tuple(
        JudgedClaim(Claim("c", 1, 0, 1), None if p is None else Verdict(Support.SUPPORTED, confidence=p))
        for p in confidences
    )
    return Evaluation(
        Interaction(),
        {o.metric: o for o in outcomes},
        Diagnosis(Cause.OK),
        JudgeInfo("embedded", "r"),
        claims,
    )


@pytest.mark.parametrize(
    ("case", "policy", "candidate", "expected"),
    [
        ("no span failed", Error(), of(span(), span(status=1)), False),
        ("one of two spans failed", Error(), of(span(), span(status=2)), True),
        ("the key is there", Attribute("tenant"), of(span(tenant="a")), True),
        ("the key is nowhere", Attribute("tenant"), of(span(other="a")), False),
        ("the value is another", Attribute("tenant", equals="b"), of(span(tenant="a")), False),
        (
            "the second span has the value",
            Attribute("tenant", equals="b"),
            of(span(tenant="a"), span(tenant="b")),
            True,
        ),
        ("a boolean is compared as text", Attribute("vip", equals="true"), of(span(vip=True)), True),
        ("a number is compared as text", Attribute("n", equals="3"), of(span(n=3)), True),
        ("the pattern is found within", Attribute("q", pattern="refund|退款"), of(span(q="怎么退款?")), True),
        (
            "equal but the pattern is not found",
            Attribute("q", equals="a", pattern="b"),
            of(span(q="a")),
            False,
        ),
        ("the resource has it", Attribute("env", equals="prod"), of(span(resource={"env": "prod"})), True),
        ("nobody spoke", Feedback(), of(span(input__value="x")), False),
        ("feedback by our hooks", Feedback(), of(span(ragtrace__feedback="[]")), True),
        (
            "a human annotation",
            Feedback(),
            of(span(annotations__0__annotation__annotator_kind="HUMAN")),
            True,
        ),
        (
            "an annotation by a model",
            Feedback(),
            of(span(annotations__0__annotation__annotator_kind="LLM")),
            False,
        ),
        ("as long as the bound", Latency(2), of(span(0, 2)), True),
        ("longer as a whole than every single span", Latency(3), of(span(0, 2), span(2, 4)), True),
        (
            "one span within the band, the whole beyond it",
            Latency(1, below=3),
            of(span(0, 2), span(2, 9)),
            False,
        ),
        ("no span has ended", Latency(0), of(span(0, 0)), False),
        ("a low score", LowScore(below=0.5), of(screens=(evaluation(Score("faithfulness", 0.4)),)), True),
        (
            "a score at the bound",
            LowScore(below=0.5),
            of(screens=(evaluation(Score("faithfulness", 0.5)),)),
            False,
        ),
        ("another metric is low", LowScore(), of(screens=(evaluation(Score("context_recall", 0.1)),)), False),
        (
            "no score is not a low score",
            LowScore(),
            of(screens=(evaluation(Unscored("faithfulness", Status.ABSTAINED, "abstained")),)),
            False,
        ),
        ("no screen ran", LowScore(), of(span()), False),
        ("clear claims", Undecided(), of(screens=(evaluation(confidences=(0.9, 0.05)),)), False),
        (
            "half the claims unclear",
            Undecided(share=0.5),
            of(screens=(evaluation(confidences=(0.5, 0.9)),)),
            True,
        ),
        (
            "a claim without a verdict is unclear",
            Undecided(),
            of(screens=(evaluation(confidences=(None,)),)),
            True,
        ),
        ("no claims at all", Undecided(), of(screens=(evaluation(),)), False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_policy(case: str, policy: Policy, candidate: Candidate, expected: bool) -> None:
    """Each policy holds where its sentence holds, and not elsewhere."""
    assert policy.matches(candidate) is expected, case


@pytest.mark.parametrize("use", sorted(BUILTIN))
def test_every_built_in_name_leads_to_a_policy(use: str) -> None:
    """The table of names holds no dead entry."""
    options = {"attribute": {"key": "k"}, "latency": {"at_least": 1}}.get(use, {})
    assert isinstance(build(use, options, builtin=BUILTIN, path="rules.0"), Policy)


@pytest.mark.parametrize(
    ("use", "options", "path"),
    [
        ("erorr", {}, "sampling.rules.0.use"),
        ("no_such_module_x:Class", {}, "sampling.rules.0.use"),
        ("json:dumps", {}, "sampling.rules.0.use"),
        ("error", {"colour": 1}, "sampling.rules.0.colour"),
        ("attribute", {}, "sampling.rules.0.key"),
        ("latency", {"at_least": "long"}, "sampling.rules.0.at_least"),
        ("attribute", {"key": "k", "pattern": "("}, "sampling.rules.0"),
    ],
)
def test_a_wrong_part_of_the_config_is_named_by_its_path(
    use: str, options: dict[str, object], path: str
) -> None:
    """An unknown name, an unknown option, a lacking option and a wrong value are errors with their path."""
    with pytest.raises(ConfigError) as caught:
        build(use, options, builtin=BUILTIN, path="sampling.rules.0")
    assert caught.value.path == path
