"""Right answers that the embedded judge must not accuse, and reasons that agree with their verdict."""

from __future__ import annotations

import pytest

from ragtrace.model import Cause, Status, Support

LEAVE = (
    "Full-time employees accrue 1.5 days of paid leave per month. "
    "Unused leave of up to five days may be carried over to the next year."
)
LEAVE_ZH = "正式员工入职满一年后享有带薪年假5天，满十年享有10天。"


@pytest.mark.parametrize(
    ("document", "answer", "contradicted"),
    [
        (LEAVE, "18 days: 1.5 days accrue each month.", False),
        (LEAVE, "2.5 days of paid leave accrue each month.", True),
        (LEAVE, "Up to seven days of unused leave may be carried over.", True),
        ("Refunds take 3 days.", "Refunds: 7 days.", True),
        (LEAVE_ZH, "您入职已满十年，享有10天带薪年假。", False),
        (LEAVE_ZH, "入职满一年享有5天带薪年假。", False),
        (LEAVE_ZH, "您入职已满十年，享有15天带薪年假。", True),
    ],
)
def test_a_number_is_held_against_those_of_the_same_thing(embedded, document, answer, contradicted):
    """Neither a number in other surroundings nor the value of another case is a contradiction."""
    [claim] = embedded.ask("?", [document], answer).claims
    assert (claim.verdict.support is Support.CONTRADICTED) is contradicted


@pytest.mark.parametrize(
    ("answer", "document"),
    [
        ("I'm not sure, but refunds take 3 days.", "Refunds take 3 days."),
        ("I think refunds take 3 days.", "Refunds take 3 days."),
        ("不太确定，但退款需要3天。", "退款需要3天。"),
        ("我觉得退款需要3天。", "退款需要3天。"),
    ],
)
def test_a_hedge_states_nothing(embedded, answer, document):
    """What stands behind it is judged as if it stood alone."""
    [claim] = embedded.ask("?", [document], answer).claims
    assert claim.verdict.support is Support.SUPPORTED
    assert document in claim.verdict.explanation
    assert not any(word in claim.verdict.explanation for word in ("closest", "最接近"))


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ("K20扫地机器人最长续航120分钟，附送滤网。", "K30扫地机器人最长续航120分钟，附送滤网。"),
        ("The tour is not guided on weekdays in winter.", "The tour is guided on weekdays, not in winter."),
    ],
)
def test_no_reason_names_a_bare_number_or_negator_as_missing(embedded, document, answer):
    """ "Does not mention 30" and "does not mention not" tell a reader nothing."""
    [claim] = embedded.ask("?", [document], answer).claims
    assert not any(quoted in claim.verdict.explanation for quoted in ("“30”", "“not”"))


@pytest.mark.parametrize(
    ("question", "document", "answer"),
    [
        ("退款要多久？", "Refunds take 3 business days.", "退款需要3个工作日。"),
        ("How long do refunds take?", "退款需要3个工作日。", "Refunds take 3 business days."),
    ],
)
async def test_across_languages_nothing_is_known(embedded, question, document, answer):
    """Question and answer in another language than the documents accuse neither retrieval nor answer."""
    evaluation = await embedded.evaluate(question, [document], answer)
    for metric in ("faithfulness", "context_recall", "context_precision"):
        outcome = evaluation.outcomes[metric]
        assert (outcome.status, outcome.reason) == (Status.SKIPPED, "other_language")
    assert evaluation.diagnosis.cause is Cause.UNDETERMINED
    assert evaluation.diagnosis.missing == ("faithfulness", "context_recall")


@pytest.mark.parametrize(
    ("question", "document", "answer", "cause"),
    [
        ("退款要多久？", "Refunds take 3 business days.", "Refunds take 3 business days.", Cause.OK),
        ("退款要多久？", "礼品卡概不退换。", "九天到账。", Cause.RETRIEVAL_MISSED),
        ("How long do refunds take?", "Gift cards are final.", "About nine weeks.", Cause.RETRIEVAL_MISSED),
    ],
)
async def test_within_a_language_and_where_a_claim_tells_it_is_known(
    embedded, question, document, answer, cause
):
    """A claim in the documents' language tells what the question cannot."""
    assert (await embedded.evaluate(question, [document], answer)).diagnosis.cause is cause
