"""Which needs of a question the embedded judge finds answered: of several, of lists, beside a neighbouring fact."""

from __future__ import annotations

import pytest

from ragtrace.model import Cause

PRO = "Pro costs $49 per month and includes SSO."
PRO_ZH = "专业版每月299元，支持单点登录。"
SPECS = "The TL-900 router supports Wi-Fi 6E and has four 2.5 Gbit/s LAN ports. It draws at most 24 watts."
K30 = "K30扫地机器人吸力为6000Pa，电池容量5200mAh，最长续航180分钟。"


@pytest.mark.parametrize(
    ("question", "document", "answer", "answered"),
    [
        ("What does Pro cost and does it include SSO?", PRO, "Pro costs $49 per month.", [True, False]),
        ("What does Pro cost and does it include SSO?", PRO, "Pro includes SSO.", [False, True]),
        ("What does Pro cost and does it include SSO?", PRO, "It is $49, with SSO.", [True, True]),
        ("What does Pro cost and does it include SSO?", PRO, "Pro costs $49 per month. Yes.", [True, True]),
        ("What does Pro cost and does it include SSO?", PRO, "Yes, it costs $49 per month.", [True, True]),
        ("专业版多少钱？支持单点登录吗？", PRO_ZH, "专业版每月299元。", [True, False]),
        ("专业版多少钱？支持单点登录吗？", PRO_ZH, "支持单点登录。", [False, True]),
        ("专业版多少钱？支持单点登录吗？", PRO_ZH, "专业版每月299元，支持单点登录。", [True, True]),
        (
            "How many watts does the TL-900 draw and how fast are its LAN ports?",
            SPECS,
            "24 watts and 2.5 Gbit/s.",
            [True, True],
        ),
    ],
)
def test_a_part_of_the_question_that_the_answer_leaves_out_is_unanswered(
    embedded, question, document, answer, answered
):
    """A need is met by a word of its own, by what its clause of the document says, or by a yes or no."""
    reply = embedded.ask(question, [document], answer)
    assert [need.answered for need in reply.needs] == answered
    if not all(answered):
        assert reply.answer_fit < 0.7


@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("What are the price, the storage limit and the support hours of Pro?", 3),
        ("What is the price and the storage limit of Pro?", 2),
        ("专业版的价格、存储空间和支持时间分别是多少？", 3),
        ("What are the terms and conditions?", 1),
        ("What is the difference between the plan and the tier?", 1),
        ("What are the symptoms of colds, flu and measles?", 1),
        ("北京、上海有哪些大学？", 1),
    ],
)
def test_things_that_are_asked_for_in_a_list_are_needs(embedded, question, needs):
    """Each thing of one subject is a need; other lists are no questions of their own."""
    assert len(embedded.ask(question, [PRO], "").needs) == needs


@pytest.mark.parametrize(
    ("question", "documents", "answer", "cause", "warnings"),
    [
        (
            "What does Pro cost and does it include SSO?",
            [PRO],
            "Pro costs $49 per month.",
            Cause.OK,
            (Cause.OFF_QUESTION,),
        ),
        ("专业版多少钱？支持单点登录吗？", [PRO_ZH], "专业版每月299元。", Cause.OK, (Cause.OFF_QUESTION,)),
        ("专业版多少钱？支持单点登录吗？", [PRO_ZH], PRO_ZH, Cause.OK, ()),
        (
            "What are the price, the storage limit and the support hours of Pro?",
            ["Pro costs $49, has 1 TB of storage, and support from 9 am to 5 pm."],
            "Pro costs $49.",
            Cause.OFF_QUESTION,
            (),
        ),
        (
            "专业版的价格、存储空间和支持时间分别是多少？",
            ["专业版价格为299元，存储空间1TB，支持时间为9:00至17:00。"],
            "专业版价格为299元。",
            Cause.OFF_QUESTION,
            (),
        ),
    ],
)
async def test_half_an_answer_is_a_warning_and_a_third_is_off_the_question(
    embedded, question, documents, answer, cause, warnings
):
    """What is left out shows: as a warning from half of the needs on, below as the failure."""
    diagnosis = (await embedded.evaluate(question, documents, answer)).diagnosis
    assert (diagnosis.cause, diagnosis.warnings) == (cause, warnings)


@pytest.mark.parametrize(
    ("question", "document", "answer"),
    [
        ("How many LAN ports does the TL-900 have?", SPECS, "The TL-900 router supports Wi-Fi 6E."),
        ("How many LAN ports does the TL-900 have?", SPECS, "It supports Wi-Fi 6E."),
        ("K30的续航有多久？", K30, "K30扫地机器人吸力为6000Pa。"),
        (
            "How long is the warranty of the X7?",
            "The X7 comes in red. Its warranty is 2 years.",
            "The X7 comes in red.",
        ),
    ],
)
async def test_a_neighbouring_fact_is_off_the_question(embedded, question, document, answer):
    """True, and from the right passage, but not what was asked for: the passage had that as well."""
    assert embedded.ask(question, [document], answer).answer_fit < 0.4
    assert (await embedded.evaluate(question, [document], answer)).diagnosis.cause is Cause.OFF_QUESTION


@pytest.mark.parametrize(
    ("question", "document", "answer"),
    [
        ("How many LAN ports does the TL-900 have?", SPECS, "Four."),
        ("How many LAN ports does the TL-900 have?", SPECS, "It has four LAN ports."),
        ("K30的续航有多久？", K30, "180分钟。"),
        ("How long is the warranty of the X7?", "The X7 comes in red. Its warranty is 2 years.", "2 years."),
    ],
)
async def test_what_was_asked_for_is_an_answer_however_short(embedded, question, document, answer):
    """The same questions, answered."""
    assert (await embedded.evaluate(question, [document], answer)).diagnosis.cause is Cause.OK


@pytest.mark.parametrize(
    ("question", "document", "answer", "cause"),
    [
        ("早餐包含在房费里吗？", "所有房价均含早餐。", "是的，含早餐。", Cause.OK),
        ("停车收费吗？", "酒店停车场免费。", "不，停车免费。", Cause.OK),
        (
            "Is breakfast included?",
            "Breakfast is included in all rates.",
            "Yes, breakfast is included.",
            Cause.OK,
        ),
    ],
)
async def test_yes_with_its_reason_answers_a_question_for_yes_or_no(
    embedded, question, document, answer, cause
):
    """What begins with yes or no meets the need, in whatever words it goes on."""
    assert (await embedded.evaluate(question, [document], answer)).diagnosis.cause is cause
