"""A claim that names one product takes nothing from what the documents say of another."""

from __future__ import annotations

import pytest

from ragtrace.model import Support

ROUTERS = [
    "The TL-900 router supports Wi-Fi 6E and has four 2.5 Gbit/s LAN ports. It draws at most 24 watts.",
    "The TL-700 router supports Wi-Fi 6 and has four 1 Gbit/s LAN ports. It draws at most 12 watts.",
]
ROBOTS = [
    "K30扫地机器人吸力为6000Pa，电池容量5200mAh，最长续航180分钟。",
    "K20扫地机器人吸力为4000Pa，电池容量3200mAh，最长续航120分钟。",
]
PLANS = [
    "The Pro plan costs $49 a month and comes with 1 TB of storage.",
    "The Starter plan costs $19 a month and comes with 100 GB of storage.",
]
PLANS_ZH = ["专业版每月299元，含1TB存储空间。", "企业版每月999元，含10TB存储空间。"]


@pytest.mark.parametrize(
    ("question", "documents", "answer"),
    [
        ("?", ROUTERS, "The TL-900 has four 1 Gbit/s LAN ports."),
        ("?", ROUTERS, "The TL-900 draws at most 24 watts and has four 1 Gbit/s LAN ports."),
        ("?", ROUTERS, "The TL-900 draws at most 12 watts."),
        ("How much does the TL-900 draw?", ROUTERS, "It draws at most 12 watts."),
        ("?", ROBOTS, "K30最长续航120分钟。"),
        ("?", ROBOTS, "K20电池容量5200mAh。"),
        ("?", PLANS, "Pro comes with 100 GB of storage."),
        ("?", PLANS_ZH, "专业版含10TB存储空间。"),
    ],
)
def test_the_value_of_another_product_is_a_contradiction(embedded, question, documents, answer):
    """Where the passage on the named product states another value of the same."""
    [claim] = embedded.ask(question, documents, answer).claims
    assert claim.verdict.support is Support.CONTRADICTED
    assert claim.verdict.documents == ((2,) if "K20" in answer else (1,))


@pytest.mark.parametrize(
    ("question", "documents", "answer", "rank"),
    [
        ("?", ROUTERS, "The TL-900 has four 2.5 Gbit/s LAN ports.", 1),
        ("?", ROUTERS, "The TL-700 draws at most 12 watts.", 2),
        ("How many LAN ports does the TL-700 have?", ROUTERS, "Four.", 2),
        ("?", ROBOTS, "K20最长续航120分钟。", 2),
        ("?", PLANS, "Starter comes with 100 GB of storage.", 2),
        ("?", PLANS_ZH, "企业版含10TB存储空间。", 2),
    ],
)
def test_the_value_of_the_product_itself_is_supported_by_its_passage(
    embedded, question, documents, answer, rank
):
    """And by no other, although another has a like one."""
    [claim] = embedded.ask(question, documents, answer).claims
    assert claim.verdict.support is Support.SUPPORTED
    assert claim.verdict.documents == (rank,)


@pytest.mark.parametrize(
    ("documents", "answer"),
    [
        (["The TL-900 has four LAN ports."], "The TL-700 has four LAN ports."),
        (["K30最长续航180分钟。"], "K20最长续航180分钟。"),
    ],
)
def test_a_product_that_no_document_speaks_of_has_no_evidence(embedded, documents, answer):
    """What is said of its neighbour supports nothing."""
    [claim] = embedded.ask("?", documents, answer).claims
    assert claim.verdict.support is not Support.SUPPORTED
    assert claim.verdict.confidence < 0.5


@pytest.mark.parametrize(
    "answer",
    [
        "The TL-900 draws 24 watts, the TL-700 draws 12 watts.",
        "Both routers have four LAN ports.",
    ],
)
def test_a_claim_on_both_or_on_none_is_held_against_all(embedded, answer):
    """Comparisons need both passages."""
    for claim in embedded.ask("?", ROUTERS, answer).claims:
        assert claim.verdict.support is not Support.CONTRADICTED
