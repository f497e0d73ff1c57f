"""One thing swapped in a true sentence: the judge must notice, and must not cry wolf at the sentence itself."""

from __future__ import annotations

import importlib.util
import json
import random
from collections import defaultdict
from pathlib import Path

import pytest

from ragtrace.judges._local.claims import read_claim
from ragtrace.judges._local.corpus import Corpus
from ragtrace.judges._local.passages import Reader
from ragtrace.judges._local.support import Finding, judge_claim
from ragtrace.model import Support

ROOT = Path(__file__).parents[3]
SPEC = importlib.util.spec_from_file_location("swaps", ROOT / "bench" / "swaps.py")
swaps = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(swaps)


@pytest.fixture(scope="module")
def findings(tmp_path_factory) -> dict[str, list[tuple[Finding, Finding]]]:
    """Kind of swap → findings on the original and on the swapped claim, over the documents of the test cases."""
    path = tmp_path_factory.mktemp("swaps") / "documents.jsonl"
    cases = (ROOT / "tests" / "data" / "diagnosis_cases.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.dumps({"contexts": json.loads(case)["documents"]}, ensure_ascii=False) for case in cases]
    path.write_text("\n".join(rows * 2), encoding="utf-8")
    found = defaultdict(list)
    for kind, claim, swapped, documents in swaps.pairs(path, random.Random(7)):
        corpus = Corpus([Reader(0).read(text, rank) for rank, text in enumerate(documents, start=1)])
        found[kind].append((judge_claim(read_claim(claim), corpus), judge_claim(read_claim(swapped), corpus)))
    return found


def test_swapped_claims_score_below_their_originals(findings):
    """Over all kinds at least 95 % of the swapped claims are held less likely than the true ones."""
    pairs = [pair for kind in findings.values() for pair in kind]
    assert len(pairs) >= 200
    assert sum(after.probability < before.probability for before, after in pairs) >= 0.95 * len(pairs)


@pytest.mark.parametrize("kind", ["number", "date"])
def test_swapped_numbers_and_dates_are_contradictions(findings, kind):
    """At least 80 % of the swapped numbers and dates come out CONTRADICTED."""
    pairs = findings[kind]
    assert sum(after.support is Support.CONTRADICTED for _, after in pairs) >= 0.8 * len(pairs)


def test_true_sentences_are_not_contradicted(findings):
    """At most 2 % of the sentences of a document contradict their own document."""
    pairs = [pair for kind in findings.values() for pair in kind]
    assert sum(before.support is Support.CONTRADICTED for before, _ in pairs) <= 0.02 * len(pairs)
