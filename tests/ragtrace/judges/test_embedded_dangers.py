"""Claims that hold most words of a document and say something else, which must not come out as supported."""

from __future__ import annotations

import pytest

from ragtrace.model import Support


def support(embedded, documents, answer, question="?"):
    [claim] = embedded.ask(question, documents, answer).claims
    return claim.verdict.support


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ("妊娠晚期妇女禁用。", "妊娠晚期妇女可以使用。"),
        ("妊娠晚期妇女禁用。对阿司匹林过敏的哮喘患者禁用。", "可以，妊娠晚期妇女可以服用。"),
        ("成人可以服用本品。", "成人禁用本品。"),
        ("孕妇慎用。", "孕妇可以放心使用。"),
        ("馆内不得使用闪光灯。", "馆内可以使用闪光灯。"),
        ("酒店禁止携带宠物入住。", "酒店允许携带宠物入住。"),
        ("It is contraindicated in pregnant women.", "Pregnant women may take it."),
        ("Visitors must not park overnight.", "Visitors may park overnight."),
        ("Flash photography is prohibited in the hall.", "You can use flash photography in the hall."),
    ],
)
def test_what_is_forbidden_is_not_allowed(embedded, document, answer):
    """A permission against a prohibition of the same, in whatever words, is a contradiction."""
    assert support(embedded, [document], answer) is Support.CONTRADICTED


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ("儿童禁用，成人可以使用。", "成人可使用。"),
        ("对阿司匹林过敏的哮喘患者禁用。", "哮喘患者可以使用。"),
        ("连续服用不得超过3日。", "可以连续服用3日。"),
        ("妊娠晚期妇女禁用。", "妊娠晚期妇女不得使用。"),
        ("Smoking is prohibited except on the balcony.", "You can smoke on the balcony."),
        ("Do not take more than 1200 mg a day.", "You can take 1200 mg a day."),
        ("Parking is prohibited in the yard.", "You may park in the street."),
    ],
)
def test_what_is_forbidden_to_others_or_in_excess_contradicts_nothing(embedded, document, answer):
    """Another subject, an exception and an upper bound leave the thing allowed."""
    assert support(embedded, [document], answer) is not Support.CONTRADICTED


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ("采购审批由王芳负责。", "采购审批由刘芳负责。"),
        ("产假须向人力资源部张敏提出书面申请。", "产假须向人力资源部李敏提出书面申请。"),
        ("会议由陈建国主持。", "会议由周建国主持。"),
    ],
)
def test_another_surname_is_another_person(embedded, document, answer):
    """The given name alone makes nobody the same."""
    assert support(embedded, [document], answer) is Support.CONTRADICTED


SSO_ZH = ["专业版每位用户每月299元，按年付费。", "单点登录（SSO）仅企业版支持。"]
SSO = ["The Pro plan costs $49 a month.", "SSO is only available on the Enterprise plan."]


@pytest.mark.parametrize(
    ("documents", "answer"),
    [
        (SSO_ZH, "专业版支持单点登录。"),
        (SSO_ZH, "专业版每位用户每月299元，支持单点登录。"),
        (SSO, "Pro includes SSO."),
        (SSO, "The Pro plan costs $49 a month, and SSO is included."),
        (
            ["Priority support is on the Gold plan only.", "Silver costs $5."],
            "Silver includes priority support.",
        ),
    ],
)
def test_what_is_reserved_for_one_is_not_had_by_another(embedded, documents, answer):
    """ "Only on Enterprise" contradicts that Pro has it."""
    assert support(embedded, documents, answer) is Support.CONTRADICTED


@pytest.mark.parametrize(
    ("documents", "answer"),
    [
        (SSO_ZH, "企业版支持单点登录。"),
        (SSO_ZH, "专业版不支持单点登录。"),
        (SSO_ZH, "专业版每位用户每月299元。"),
        (SSO, "The Enterprise plan has SSO."),
        (SSO, "Pro has no SSO."),
        (SSO, "Pro costs $49 a month."),
    ],
)
def test_who_has_it_and_who_has_it_not_is_no_contradiction(embedded, documents, answer):
    """Naming the right one, denying it of the other, and saying something else of the other agree with it."""
    assert support(embedded, documents, answer) is not Support.CONTRADICTED


@pytest.mark.parametrize(
    ("document", "answer", "contradicted"),
    [
        ("房价不含早餐。", "含早餐。", True),
        ("所有房价均含早餐。", "不含早餐。", True),
        ("门票包括午餐。", "不包括午餐。", True),
        ("标准房不含早餐，豪华房含早餐。", "含早餐。", False),
        ("所有房价均含早餐。", "含早餐。", False),
        ("房价不含早餐。", "不含早餐。", False),
    ],
)
def test_a_curt_claim_that_differs_by_a_negator_is_contradicted(embedded, document, answer, contradicted):
    """Word for word but for 不: however short the claim, and although its words all stand there."""
    found = support(embedded, [document], answer) is Support.CONTRADICTED
    assert found is contradicted
