"""A refusal is told from an answer, in both languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtrace.text._abstain_en import DECLINES as DECLINES_EN
from ragtrace.text._abstain_en import SIGNS
from ragtrace.text.abstain import is_abstention, says_not_in_documents

DECLINES = """
Sorry, I cannot find that.
IDK
I don't know.
I'm not sure.
I couldn't find that in the documents.
The provided documents do not mention the warranty period.
I'm sorry, but the context does not contain information about that. Please contact support.
Unfortunately, there is no information about refunds in the provided context.
The documents don't say.
The warranty is not mentioned in the provided documents.
I am unable to answer this question based on the given documents.
Not enough information.
No relevant information was found.
The handbook does not say how long the warranty lasts. You may want to ask HR.
I don't have enough information to answer that.
Based on the provided context, it is not possible to determine the answer.
The information provided does not cover parental leave.
Sorry, the handbook doesn't cover that topic.
I do not have that information.
抱歉，资料中没有相关信息。
抱歉,资料中没有相关信息。
根据提供的文档无法回答
根据提供的资料，无法回答该问题。
很抱歉，我不知道。
文档中没有提到保修期，建议您联系客服。
对不起，我无法回答这个问题。
未找到相关内容。
我在手册里没有找到关于保修的说明。
资料只提到了水泵的颜色，没有说明保修期。
抱歉，根据现有资料，我无法确定保修期的具体时长。如果您有其他问题，欢迎随时提问。
抱歉，我没有找到相关信息，请联系人事部门。
很抱歉，提供的文档中并未涉及您所询问的宠物政策。
这个问题在资料里没有答案。
There is no evidence of this in the provided documents.
抱歉，这个问题我不了解相关信息。请换个问题吧，我将继续努力为您解答。
I couldn’t find any information about that.
I'm sorry, the handbook says nothing about that.
Sorry, our policy documents say nothing about salaries.
There is nothing about that in the handbook.
Unfortunately, the documents contain no information on pets.
The knowledge base has no entry on this topic.
That is not covered in our FAQ.
The text gives no answer to that.
The leaflet is silent on this point.
手册里没有写这个。
这个问题超出了我的知识范围。
暂无相关资料。
""".strip().splitlines()

ANSWERS = """
The handbook says nothing is charged for returns.
Nothing in the manual prevents you from opening it.
The battery is not covered by the policy.
The guide includes no batteries.
The database has no limit on entries.
There is nothing to pay.
没有押金。
保修不包括电池。
The shift lead approves; I am not sure about weekends.
We do not provide refunds after 30 days.
The policy does not cover water damage.
Paris has 2.1M people.
The documents do not say how long. Generally refunds take 3-5 days.
The documents do not give the fee, but refunds take 3 days.
Sorry, refunds take 3 days.
Customers who cannot find their receipt get store credit.
No.
Please send the form within 7 days.
No data is shared with third parties.
If you cannot find the receipt, contact support.
The answer is 5.
There is currently not enough evidence to support face shields.
There is no clear evidence of trends in extreme events such as droughts.
If you need a refund, contact support within 7 days.
大部分人没有找到工作。
如需退款，请在7天内提交申请。
希望小学成立于1990年。
资料中没有提到退货费，退款需要3天。
资料没有说明手续费，但是退款需要3天。
未成年人需提供监护人信息。
用户不知道密码时，可以点击重置。
系统无法确认身份时，会拒绝登录。
对不起，退款需要7天。
没有收据不能退款。
本产品不包含电池。
资料没有说明。根据规定退款需要3天。
""".strip().splitlines()


@pytest.mark.parametrize("answer", DECLINES)
def test_a_refusal_is_an_abstention(answer: str) -> None:
    """Apologies, offers and where to ask instead do not make it an answer."""
    assert is_abstention(answer)


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_none(answer: str) -> None:
    """An answer that admits a gap, or speaks of people who cannot find things, is an answer."""
    assert not is_abstention(answer)


@pytest.mark.parametrize("answer", ["", "   ", "Hello!", "你好！"])
def test_saying_nothing_is_no_abstention(answer: str) -> None:
    """Nothing was declined."""
    assert not is_abstention(answer)


@pytest.mark.parametrize(
    "sentence", ["The passage does not say.", "This is not stated in the documents.", "文中没有提及这一点。"]
)
def test_a_sentence_that_only_reports_a_gap_says_so(sentence: str) -> None:
    """Such a sentence needs no citation."""
    assert says_not_in_documents(sentence)


@given(st.text(max_size=200))
def test_any_text_can_be_asked(answer: str) -> None:
    """No text raises."""
    assert is_abstention(answer) in (True, False)


@given(st.from_regex(DECLINES_EN))
def test_whatever_declines_has_a_sign_of_it(clause: str) -> None:
    """No clause that declines is passed over for want of the words that are looked for first."""
    assert any(sign in clause for sign in SIGNS)
