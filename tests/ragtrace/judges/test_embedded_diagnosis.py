"""The embedded judge through the diagnosis table: interactions of every cause, half of them Chinese.

The cases marked ``held_out`` were not looked at while the judge was built.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from ragtrace.evaluation import Evaluator
from ragtrace.judges.embedded import EmbeddedJudge
from ragtrace.model import Cause, Interaction, RetrievedDocument

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "diagnosis_cases.jsonl").read_text("utf-8").splitlines()
]


async def diagnose(case: dict) -> Cause:
    documents = tuple(
        RetrievedDocument(str(rank), rank, text) for rank, text in enumerate(case["documents"], start=1)
    )
    interaction = Interaction(
        question=case["question"],
        documents=documents,
        answer=case["answer"],
        reference=case.get("reference"),
    )
    return (await Evaluator(EmbeddedJudge()).evaluate(interaction)).diagnosis.cause


async def share_right(cases: list[dict]) -> float:
    right = [await diagnose(case) == case["cause"] for case in cases]
    return sum(right) / len(right)


def test_every_cause_is_there_in_both_languages():
    """The cases hold each cause that can be told from one interaction, evenly in English and Chinese."""
    causes = {cause.value for cause in Cause} - {"undetermined"}
    assert {case["cause"] for case in CASES} == causes
    assert len(set(Counter(case["language"] for case in CASES).values())) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_most_causes_are_named_rightly(language):
    """At least nine of ten interactions that the judge was built with are diagnosed as they were written."""
    cases = [case for case in CASES if case["language"] == language and not case["held_out"]]
    assert await share_right(cases) >= 0.9


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_causes_that_nobody_looked_at_are_named_rightly(language):
    """At least four of five held-out interactions are diagnosed as they were written."""
    cases = [case for case in CASES if case["language"] == language and case["held_out"]]
    assert await share_right(cases) >= 0.8
