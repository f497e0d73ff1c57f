"""What the embedded judge makes of curt, restricted, mixed-up and evasive answers, and how sure it sounds."""

from __future__ import annotations

import pytest

from ragtrace.evaluation import Evaluator
from ragtrace.judges.base import JudgeReply, JudgeRequest, Want
from ragtrace.judges.embedded import EmbeddedJudge
from ragtrace.model import Cause, Interaction, RetrievedDocument, Support
from ragtrace.text.citations import parse
from ragtrace.text.language import detect_language
from ragtrace.text.segment import units

JUDGE = EmbeddedJudge()


def interaction(question: str, documents: list[str], answer: str) -> Interaction:
    read = tuple(RetrievedDocument(str(rank), rank, text) for rank, text in enumerate(documents, start=1))
    return Interaction(question=question, documents=read, answer=answer)


def ask(question: str, documents: list[str], answer: str) -> JudgeReply:
    one = interaction(question, documents, answer)
    pieces = units(answer, parse(answer, one.documents))
    return JUDGE.reply(JudgeRequest(one, pieces, frozenset(Want), detect_language(question, answer)))


async def cause_of(question: str, documents: list[str], answer: str) -> Cause:
    return (await Evaluator(JUDGE).evaluate(interaction(question, documents, answer))).diagnosis.cause


@pytest.mark.parametrize(
    ("question", "document", "answer", "support"),
    [
        ("Can I pay by bank transfer?", "We accept bank transfers.", "Yes.", Support.SUPPORTED),
        ("Can I pay by bank transfer?", "We do not accept bank transfers.", "Yes.", Support.CONTRADICTED),
        ("Can I pay by bank transfer?", "We do not accept bank transfers.", "No.", Support.SUPPORTED),
        ("Are pets allowed?", "Pets are allowed in the garden.", "No, they are not.", Support.CONTRADICTED),
        ("Is the pool heated?", "The gym opens at nine.", "Yes.", Support.NOT_FOUND),
        ("可以使用银行转账吗？", "支持银行转账和信用卡付款。", "是的。", Support.SUPPORTED),
        ("可以带宠物吗？", "园区内禁止携带宠物。", "不可以。", Support.SUPPORTED),
        ("可以带宠物吗？", "园区内禁止携带宠物。", "可以。", Support.CONTRADICTED),
        ("是否支持单点登录？", "系统支持单点登录。", "不支持。", Support.CONTRADICTED),
        ("泳池有加热吗？", "健身房九点开门。", "有的。", Support.NOT_FOUND),
    ],
)
def test_a_bare_yes_or_no_takes_its_content_from_the_question(question, document, answer, support):
    """The claim of a curt answer is what was asked, affirmed or denied."""
    reply = ask(question, [document], answer)
    assert [claim.verdict.support for claim in reply.claims] == [support]
    assert reply.needs[0].answered


@pytest.mark.parametrize(
    ("question", "document", "answer"),
    [
        ("How can I pay?", "Only bank transfers are accepted.", "Only credit cards are accepted."),
        ("How can I pay?", "Only bank transfers are accepted.", "Only credit cards."),
        ("Who may enter?", "Entry is for registered members only.", "Entry is for invited guests only."),
        ("可以怎么付款？", "本店仅支持银行转账。", "仅支持信用卡。"),
        ("谁可以报名？", "活动只限注册会员报名。", "活动只限受邀嘉宾报名。"),
    ],
)
async def test_only_this_contradicts_only_that(question, document, answer):
    """Two restrictions of the same to different things cannot both be true, and the cause is path C."""
    assert ask(question, [document], answer).claims[0].verdict.support is Support.CONTRADICTED
    assert await cause_of(question, [document], answer) is Cause.CONTRADICTS_DOCUMENTS


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ("SSO is included in Enterprise only.", "SSO is only included in Enterprise."),
        ("单点登录仅企业版支持。", "单点登录只有企业版支持。"),
        ("The pool is only open on Mondays.", "Only members may enter the pool."),
    ],
)
def test_the_same_restriction_in_other_words_is_no_contradiction(document, answer):
    """Where the word for only stands does not matter, nor that something else is restricted elsewhere."""
    assert ask("?", [document], answer).claims[0].verdict.support is not Support.CONTRADICTED


@pytest.mark.parametrize(
    ("question", "documents", "answer"),
    [
        (
            "Who pays for exchange shipping?",
            ["Return shipping is paid by the buyer.", "Exchange shipping is paid by the shop."],
            "Exchange shipping is paid by the buyer.",
        ),
        (
            "换货运费谁承担？",
            ["退货运费由买家承担。", "换货产生的运费由商家承担。"],
            "换货运费由买家承担。",
        ),
    ],
)
def test_a_claim_put_together_from_two_like_statements_is_contradicted(question, documents, answer):
    """The subject of one document with what another says of something like it."""
    verdict = ask(question, documents, answer).claims[0].verdict
    assert verdict.support is Support.CONTRADICTED
    assert verdict.documents == (2,)


@pytest.mark.parametrize(
    ("question", "document", "answer"),
    [
        ("多久能收到钱？", "退款审核通过后3-5个工作日到账。", "退款审核通过后3-5个工作日到账。"),
        (
            "List the plans and prices",
            "Basic is 10 dollars a month, Pro is 20 dollars a month.",
            "Basic is 10 dollars a month and Pro is 20 dollars a month.",
        ),
        (
            "How long does a refund take?",
            "退款审核通过后3-5个工作日到账。",
            "退款审核通过后3-5个工作日到账。",
        ),
        (
            "退款要多久？",
            "Refunds arrive within 3-5 working days.",
            "Refunds arrive within 3-5 working days.",
        ),
    ],
)
async def test_a_supported_answer_in_other_words_than_the_question_had_its_evidence(
    question, document, answer
):
    """Question and documents share no word: the claims tell that retrieval did not miss."""
    reply = ask(question, [document, "Gift cards are final."], answer)
    assert [need.covered for need in reply.needs] == [True]
    assert reply.relevance[1] > 0.5 > reply.relevance[2]
    assert await cause_of(question, [document], answer) is Cause.OK


async def test_an_invented_answer_in_other_words_than_the_question_has_no_evidence():
    """The benefit of the doubt is for claims that the documents support."""
    documents = ["礼品卡概不退换。", "商店九点开门。"]
    assert await cause_of("多久能收到钱？", documents, "三天到账。") is Cause.RETRIEVAL_MISSED


@pytest.mark.parametrize(
    "question",
    [
        "What does Pro cost and does it include SSO?",
        "What does Pro cost, and is SSO included?",
        "专业版多少钱，支持单点登录吗？",
        "专业版的价格以及是否支持单点登录？",
    ],
)
def test_two_parts_of_a_question_are_two_needs(question):
    """A second part is a need of its own, with or without a comma."""
    assert len(ask(question, [], "").needs) == 2


@pytest.mark.parametrize(
    ("documents", "answer"),
    [
        (
            ["The sauna is heated to 90 degrees.", "Towels can be rented for three pounds at the sauna."],
            "Towels can be rented for three pounds [1][2].",
        ),
        (["桑拿房温度为90度。", "毛巾可以三元租用。"], "毛巾可以三元租用[1][2]。"),
    ],
)
def test_a_claim_names_the_documents_that_its_pairs_name(documents, answer):
    """What a claim is told to rest on is what its citations are told to support."""
    claim = ask("Towels? 毛巾？", documents, answer).claims[0]
    supporting = tuple(r for r, pair in claim.pairs.items() if pair.support is Support.SUPPORTED)
    assert claim.verdict.documents == supporting == (2,)


@pytest.mark.parametrize(
    ("documents", "answer", "words"),
    [
        (["本药物适用于成人。"], "该药品适用于成年人。", "最接近"),
        (
            ["Return shipping is paid by the buyer."],
            "Exchange shipping is paid by the buyer.",
            "does not mention “exchange”",
        ),
        (
            ["Pro has 5 seats."],
            "Pro has 5 seats and comes with a dedicated success manager.",
            "not “and comes with a dedicated success manager”",
        ),
        (["专业版包含5个席位。"], "专业版包含5个席位，并配有专属客户经理。", "没有“并配有专属客户经理”"),
        (["The fee is 20 euros."], "The fee is 20 euros.", "says so"),
    ],
)
def test_an_explanation_sounds_no_surer_than_the_judge_is(documents, answer, words):
    """A middle probability is told to be close, with what is missing; only what is there is told to be said."""
    assert words in ask("?", documents, answer).claims[0].verdict.explanation


@pytest.mark.parametrize(
    ("question", "answer", "cause"),
    [
        ("How long does delivery take?", "It depends.", Cause.OFF_QUESTION),
        ("How long does delivery take?", "That depends on many factors.", Cause.OFF_QUESTION),
        ("How long does delivery take?", "It varies. Please contact support.", Cause.OFF_QUESTION),
        ("配送要多久？", "视情况而定。", Cause.OFF_QUESTION),
        ("配送要多久？", "这要看具体情况。", Cause.OFF_QUESTION),
        ("How long does delivery take?", "Which country are you in?", Cause.OK),
        ("配送要多久？", "请问您在哪个城市？", Cause.OK),
        ("How long does delivery take?", "Hello! How can I help you today?", Cause.OFF_QUESTION),
        (
            "How long does delivery take?",
            "Thanks for reaching out! What can I do for you?",
            Cause.OFF_QUESTION,
        ),
        ("Hi, how long does delivery take?", "Good morning!", Cause.OFF_QUESTION),
        ("配送要多久？", "您好！请问有什么可以帮您？", Cause.OFF_QUESTION),
        ("配送要多久？", "很高兴为您服务。", Cause.OFF_QUESTION),
        ("How long does delivery take?", "Hello! Could you tell me your order number?", Cause.OK),
        ("配送要多久？", "您好！请问您的订单号是多少？", Cause.OK),
        ("Hi", "Hello! How can I help you?", Cause.OK),
        ("Good morning, can you help me?", "Of course! What can I do for you?", Cause.OK),
        ("Thanks!", "You're welcome! Is there anything else?", Cause.OK),
        ("你好", "你好！有什么可以帮您？", Cause.OK),
        ("How long does delivery take?", "It depends: delivery takes 3 days.", Cause.OK),
    ],
)
async def test_an_evasive_answer_is_off_the_question(question, answer, cause):
    """ "It depends" and hello leave a need unmet; a question back, and hello to hello, do not claim to meet one."""
    assert await cause_of(question, ["Delivery takes 3 days.", "配送需要3天。"], answer) is cause


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ("Some 235 , 000 people watched the match .", "The match was watched by 235,000 people."),
        ("The player rejected $ 100 , 000 a week .", "The player rejected $100,000 a week."),
        ("His weight fell to 102 . 5 kg .", "His weight fell to 102.5 kg."),
        ("They have 23,768 locations worldwide.", "They have 23 , 768 locations worldwide ."),
        ("The composer left 443 works behind.", "The composer left over 400 works behind."),
        ("The festival is held each June in a mild climate.", "The festival is held each June in Oregon."),
        ("The bridge opened in May as the longest of its kind.", "The bridge opened in May as Tower Bridge."),
    ],
)
def test_what_is_written_otherwise_is_no_contradiction(document, answer):
    """Numbers cut by a tokeniser, counts rounded down, and a name where the document has none do not conflict."""
    assert ask("?", [document], answer).claims[0].verdict.support is not Support.CONTRADICTED


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ("Some 235 , 000 people watched the match .", "The match was watched by 335,000 people."),
        ("The composer left 443 works behind.", "The composer left over 500 works behind."),
        ("The cable of the lamp weighs 1.5 kg.", "The cable of the lamp weighs 1.5 g."),
        ("Notice is to be given 30 hours before.", "Notice is to be given at least 25 hours before."),
        ("The festival is held each June in Oregon.", "The festival is held each June in Idaho."),
    ],
)
def test_another_number_or_name_in_the_same_place_is_a_contradiction(document, answer):
    """Neither spaces in a number nor a bound make two values one."""
    assert ask("?", [document], answer).claims[0].verdict.support is Support.CONTRADICTED
