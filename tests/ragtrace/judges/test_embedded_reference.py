"""The embedded judge on brief answers and references in whole sentences."""

from __future__ import annotations

import pytest

from ragtrace.evaluation import Evaluator
from ragtrace.judges._local.claims import read_claim
from ragtrace.judges._local.likeness import is_taken_from
from ragtrace.judges.embedded import EmbeddedJudge
from ragtrace.model import Interaction

HAMLET = "Hamlet is a tragedy that was written by William Shakespeare between 1599 and 1601."
CANBERRA = "The capital of Australia is Canberra, not Sydney as many people think."
HOURS = "The shop opens at 9 am on weekdays and at 10 am on Saturdays."
REFUND = "Refunds are paid back within 3 days of the day on which the parcel came back to our warehouse."
NOVEL = "《红楼梦》是清代作家曹雪芹创作的章回体长篇小说。"
REFUND_ZH = "退款将在仓库收到退回的包裹之日起 3 天内原路退回到付款账户。"


async def correctness(question: str, answer: str, reference: str) -> float:
    interaction = Interaction(question=question, answer=answer, reference=reference)
    outcome = (await Evaluator(EmbeddedJudge()).evaluate(interaction)).outcomes["answer_correctness"]
    assert outcome.value is not None
    return outcome.value


@pytest.mark.parametrize(
    ("question", "right", "wrong", "reference"),
    [
        ("Who wrote Hamlet?", "William Shakespeare", "Christopher Marlowe", HAMLET),
        ("What is the capital of Australia?", "Canberra", "Sydney", CANBERRA),
        ("When does the shop open?", "At 9 am.", "At 8 am.", HOURS),
        ("How long do refunds take?", "3 days", "7 days", REFUND),
        ("公司的退款政策是什么?", "支持 7 天无理由退款", "支持 9 天无理由退款", "支持 7 天无理由退"),
        (
            "公司的退款政策是什么?",
            "支持 7 天无理由退款,发起后 3-5 个工作日到账。",
            "支持 7 天无理由退款,发起后 6-8 个工作日到账。",
            "支持 7 天无理由退,3-5 天到账",
        ),
        ("谁写了《红楼梦》?", "曹雪芹", "吴承恩", NOVEL),
        ("退款多久到账?", "3 天", "7 天", REFUND_ZH),
    ],
)
async def test_a_brief_right_answer_is_right(question: str, right: str, wrong: str, reference: str) -> None:
    """It need not repeat the sentence that the reference is; another name, number or what is denied is wrong."""
    assert await correctness(question, right, reference) > 0.8
    assert await correctness(question, wrong, reference) < 0.2


async def test_the_questions_own_words_are_no_answer() -> None:
    """What was asked stands in the reference too."""
    assert await correctness("Who wrote Hamlet?", "Hamlet", HAMLET) < 0.5


def test_a_part_of_a_reference_stands_there_in_its_order() -> None:
    """The same words the other way round are another statement."""
    nothing = read_claim("")
    reference = read_claim("In that year Alice Miller hired Bob Stone as a driver for the northern depot.")
    assert is_taken_from(read_claim("Alice Miller hired Bob Stone"), reference, nothing)
    assert not is_taken_from(read_claim("Bob Stone hired Alice Miller"), reference, nothing)
