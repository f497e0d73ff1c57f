"""The embedded judge: what it says, in which words, and that nothing makes it fail."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtrace.judges.base import Judge, JudgeReply, JudgeRequest, Want
from ragtrace.judges.embedded import EmbeddedJudge
from ragtrace.model import Interaction, RetrievedDocument, Support
from ragtrace.text.citations import parse
from ragtrace.text.language import detect_language
from ragtrace.text.segment import units

JUDGE = EmbeddedJudge()


def ask(question: str | None, documents: list[str] | None, answer: str | None, **fields) -> JudgeReply:
    read = None
    if documents is not None:
        read = tuple(RetrievedDocument(str(rank), rank, text) for rank, text in enumerate(documents, start=1))
    interaction = Interaction(question=question, documents=read, answer=answer, **fields)
    pieces = units(answer, parse(answer, read)) if answer else ()
    language = detect_language(question, answer)
    return JUDGE.reply(JudgeRequest(interaction, pieces, frozenset(Want), language))


def verdicts(reply: JudgeReply) -> list[Support]:
    return [claim.verdict.support for claim in reply.claims]


async def test_it_is_a_judge_like_any_other():
    """It has the protocol's parts, a stable revision, and an async reply equal to the plain one."""
    assert isinstance(JUDGE, Judge)
    assert (JUDGE.kind, JUDGE.model, JUDGE.revision) == ("embedded", None, EmbeddedJudge().revision)
    request = JudgeRequest(Interaction(question="Who?", answer="Me."), units("Me."), frozenset(Want))
    assert await JUDGE.judge(request) == JUDGE.reply(request)


def test_a_copied_claim_is_supported_with_its_quote():
    """The verdict names the document and quotes its sentence word for word."""
    documents = ["The pool is closed on Mondays.", "Refunds arrive within five days. Gift cards are final."]
    claim = ask("How long do refunds take?", documents, "Refunds arrive within five days [2].").claims[0]
    assert claim.verdict.support is Support.SUPPORTED
    assert claim.verdict.documents[0] == 2
    assert claim.verdict.quote == "Refunds arrive within five days."


def test_an_invented_claim_is_not_found():
    """A claim that shares nothing with the documents is not found, and nothing is quoted for it."""
    claim = ask("Refunds?", ["Refunds arrive within five days."], "Elephants migrate at dawn.").claims[0]
    assert claim.verdict.support is Support.NOT_FOUND
    assert claim.verdict.quote is None


@pytest.mark.parametrize(
    ("document", "answer", "words"),
    [
        (
            "Refunds take 3–5 days.",
            "Refunds take 7 days.",
            "the answer says 7 days, document [1] says 3–5 days",
        ),
        (
            "Refunds are paid within 3–5 days.",
            "Refunds take 7 days.",
            "the answer says 7 days, document [1] says 3–5 days",
        ),
        ("退款将在3–5天内到账。", "退款将在7天内到账。", "回答说 7天，文档[1]说 3–5天"),
        (
            "The shop opened in March 2019.",
            "The shop opened in March 2021.",
            "says March 2021, document [1] says March 2019",
        ),
        ("年利率为百分之三点八五。", "年利率为4.25%。", "4.25%"),
        ("The fee is 20 euros per night.", "The fee is 20 dollars per night.", "20 dollars"),
        (
            "An API key is not required for public endpoints.",
            "An API key is required for public endpoints.",
            "negation",
        ),
        ("承租人不得在房屋内饲养宠物。", "承租人可以在房屋内饲养宠物。", "相反"),
        ("Take the tablets before meals with water.", "Take the tablets after meals with water.", "opposite"),
        (
            "The bridge was designed by Ingrid Larsen.",
            "The bridge was designed by Pedro Alvarez.",
            "says Pedro Alvarez, document [1] says Ingrid Larsen",
        ),
        ("儿童一日一次，一次半片。", "儿童一日三次，一次半片。", "一日三次"),
        ("公司总部设在上海。", "公司总部设在深圳。", "回答说“深圳”，文档[1]说“上海”"),
        ("项目负责人是王芳，有问题请联系她。", "项目负责人是赵敏。", "赵敏"),
        ("该项目的项目经理是王芳。", "项目经理是王强。", "回答说“王强”，文档[1]说“王芳”"),
        ("公司总部位于深圳市南山区，成立于2010年。", "公司总部位于上海。", "回答说“上海”，文档[1]说“深圳”"),
        ("入职手续由人事部办理。", "入职手续由财务部办理。", "财务部"),
        ("请联系王医生预约。", "请联系李医生预约。", "“李”"),
        ("本店支持微信付款。", "本店支持支付宝付款。", "支付宝"),
        ("办事处位于浦东新区。", "办事处位于徐汇区。", "徐汇"),
        ("奖学金由建设银行发放。", "奖学金由工商银行发放。", "工商"),
        ("客户端支持Windows系统。", "客户端支持Linux系统。", "Linux"),
        ("Passwords have at least 8 characters.", "Passwords have at most 8 characters.", "at least 8"),
        ("密码至少8位字符。", "密码至多8位字符。", "至多8"),
        ("The discount is 30 percent.", "The discount is 30 dollars.", "30 percent"),
        ("每箱装30公斤苹果。", "每箱装30升苹果。", "30公斤"),
    ],
)
def test_a_conflict_is_named_in_the_language_of_the_interaction(document, answer, words):
    """Number, date, currency, negation, antonym and name conflicts are contradictions that say what clashes."""
    verdict = ask(None, [document], answer).claims[0].verdict
    assert verdict.support is Support.CONTRADICTED
    assert words in verdict.explanation
    assert verdict.confidence <= 0.15


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ("公司总部位于北京，成立于2010年。", "公司总部位于中国。"),
        ("他来自南京。", "他来自江苏。"),
        ("比赛在日本举行。", "比赛在亚洲举行。"),
    ],
)
def test_a_place_is_no_conflict_with_the_one_that_it_lies_in(document, answer):
    """The answer may say less exactly what the document says; it does not speak against it."""
    assert ask(None, [document], answer).claims[0].verdict.support is not Support.CONTRADICTED


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ("Refunds take 3–5 days after approval.", "Refunds take 3–5 working days after approval."),
        ("退款审核后3-5天到账。", "退款审核后3-5个工作日到账。"),
    ],
)
def test_working_days_against_days_is_told_but_is_no_contradiction(document, answer):
    """A nuance of unit is reported in the explanation of a supported claim."""
    verdict = ask(None, [document], answer).claims[0].verdict
    assert verdict.support is Support.SUPPORTED
    assert "unit" in verdict.explanation or "单位" in verdict.explanation


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ("The course lasts one week.", "The course lasts 7 days."),
        ("The hall holds 1,500 people.", "The hall holds 1500 people."),
        ("公司成立于二〇〇八年。", "公司成立于2008年。"),
        ("押金为三千五百元。", "押金为3500元。"),
        ("The lake is 12 km long.", "The lake is 12,000 m long."),
        ("Each file may be up to 1 GB.", "Each file may be up to 1024 MB."),
        ("每个文件最大1GB。", "每个文件最大1000MB。"),
        ("The fine is 0.50 euro a day, up to a maximum of 20 euro.", "The fine is never more than 20 euro."),
        ("The fine is at most 20 euro.", "The fine never exceeds 20 euro."),
        ("逾期费最高不超过20元。", "逾期费至多20元。"),
        ("每次预订至少住两晚。", "预订不少于两晚。"),
        ("逾期费上限为20元。", "逾期费不会超过20元。"),
        ("合同一年以上不满三年的，试用期不得超过两个月。", "两年的合同，试用期不得超过两个月。"),
    ],
)
def test_the_same_quantity_written_otherwise_is_no_conflict(document, answer):
    """Conversions, number words and Chinese numerals agree with what they mean."""
    assert verdicts(ask(None, [document], answer)) != [Support.CONTRADICTED]


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ("本药物适用于成人。", "该药品适用于成年人。"),
        ("员工可以购买商业保险。", "员工可以采购商业保险。"),
        ("该校位于北京，学校有三个校区。", "学校位于北京。"),
        ("本品由上市公司生产。", "本品由股份公司生产。"),
        ("会议由王芳主持，李明记录。", "会议由李明记录。"),
    ],
)
def test_other_words_in_the_place_of_a_chinese_word_are_no_contradiction(document, answer):
    """Only names that differ in the same place contradict, not wordings."""
    assert verdicts(ask(None, [document], answer)) != [Support.CONTRADICTED]


def test_a_quantity_from_the_wrong_clause_contradicts():
    """The number is in the document, but it belongs to another season."""
    documents = ["In winter the museum closes at 5 pm; in summer it closes at 8 pm."]
    assert verdicts(ask(None, documents, "In winter the museum closes at 8 pm.")) == [Support.CONTRADICTED]
    assert verdicts(ask(None, documents, "In summer the museum closes at 8 pm.")) == [Support.SUPPORTED]


def test_each_cited_document_is_judged_alone():
    """A marker that points to the wrong document fails its pair, while the claim itself holds."""
    documents = ["The sauna is heated to 90 degrees.", "Towels can be rented for three pounds."]
    claim = ask("Towels?", documents, "Towels can be rented for three pounds [1][2].").claims[0]
    assert claim.verdict.support is Support.SUPPORTED
    assert {rank: pair.support for rank, pair in claim.pairs.items()} == {
        1: Support.NOT_FOUND,
        2: Support.SUPPORTED,
    }


def test_talk_is_no_claim():
    """Greetings and offers of help are not judged."""
    reply = ask(
        "Hi", ["The shop opens at nine."], "Hello! The shop opens at nine. Let me know if you need more."
    )
    assert [claim.claim.text for claim in reply.claims] == ["The shop opens at nine."]


def test_claims_lie_where_their_units_lie():
    """start and end of a claim cut its text out of the answer."""
    answer = "The shop opens at nine [1]. It closes at six [1]."
    for claim in ask("When?", ["The shop opens at nine. It closes at six."], answer).claims:
        assert answer[claim.claim.start : claim.claim.end].startswith(claim.claim.text[:10])


def test_the_document_that_answers_is_the_relevant_one():
    """Relevance tells the answering document from one of the same house that does not answer."""
    documents = [
        "Meeting rooms are booked in the calendar.",
        "Overtime is approved by the head of department.",
    ]
    relevance = ask("Who approves overtime?", documents, None).relevance
    assert relevance[2] > 0.5 > relevance[1]


def test_two_questions_are_two_needs():
    """Each part of a question is a need of its own, covered and answered on its own."""
    documents = ["The subscription costs 12 dollars a month."]
    reply = ask(
        "What does the subscription cost, and how do I cancel it?",
        documents,
        "The subscription costs 12 dollars a month.",
    )
    assert [need.covered for need in reply.needs] == [True, False]
    assert reply.needs[0].answered is True


def test_an_answer_from_elsewhere_does_not_fit():
    """A true sentence about something else fits the question worse than the one that answers it."""
    documents = ["A contract is cancelled in writing.", "Yoga classes take place on Tuesday evenings."]
    question = "How is a contract cancelled?"
    fits = ask(question, documents, "It is done in writing.").answer_fit
    misses = ask(question, documents, "Yoga classes take place on Tuesday evenings.").answer_fit
    assert fits > 0.5 > misses


def test_without_documents_nothing_is_said_of_coverage():
    """documents=None leaves coverage open; an empty retrieval covers nothing."""
    assert ask("When does it open?", None, "At nine.").needs[0].covered is None
    assert ask("When does it open?", [], "At nine.").needs[0].covered is False


def test_a_reference_is_found_in_answer_and_documents():
    """The reference's claims are looked up on both sides; a swapped number is not found in the answer."""
    documents = ["公司支持7天无理由退款。", "退款将在3-5天内到账，原路返回。"]
    reference = "支持 7 天无理由退,3-5 天到账"
    right = ask(
        "公司的退款政策是什么?", documents, "支持 7 天无理由退款,发起后 3-5 天到账。", reference=reference
    )
    wrong = ask(
        "公司的退款政策是什么?", documents, "支持 7 天无理由退款,发起后 9-12 天到账。", reference=reference
    )
    assert [claim.in_answer for claim in right.reference_claims] == [True]
    assert [claim.in_answer for claim in wrong.reference_claims] == [False]
    assert right.reference_similarity > wrong.reference_similarity


def test_elaboration_is_no_error_against_a_bare_reference():
    """A long answer that holds a one-word reference adds nothing that the reference could refute."""
    reply = ask(
        "Who wrote Emma?",
        None,
        "Emma was written by Jane Austen. It appeared in 1815.",
        reference="Jane Austen",
    )
    assert reply.unsupported_answer_claims == ()


def test_documents_seen_before_are_judged_alike():
    """The cache of read documents changes nothing in the reply, whatever is dropped from it."""
    small = EmbeddedJudge(remember=1)
    documents = tuple(RetrievedDocument(str(r), r, f"Rule {r}: the fee is {r}0 euros.") for r in (1, 2, 3))
    request = JudgeRequest(
        Interaction(question="What is the fee?", documents=documents, answer="The fee is 20 euros."),
        units("The fee is 20 euros."),
        frozenset(Want),
    )
    assert small.reply(request) == JUDGE.reply(request) == JUDGE.reply(request) == small.reply(request)


TEXT = st.one_of(
    st.text(max_size=300),
    st.lists(
        st.sampled_from(
            [
                "7天",
                "3-5",
                "$",
                "%",
                "第",
                "年",
                "月",
                "不",
                "[1]",
                "1,0",
                "½",
                "...",
                "?",
                "是",
                "a.",
                "�",
                "\u200b",
                "点",
                "half",
                "one",
                "to",
                "and",
                "2020-13-45",
            ]
        ),
        max_size=40,
    ).map(" ".join),
)


@settings(max_examples=150, deadline=None)
@given(question=TEXT, document=TEXT, answer=TEXT, reference=TEXT)
def test_no_text_makes_it_raise(question, document, answer, reference):
    """Any text gives a reply whose probabilities are probabilities."""
    reply = ask(question, [document, ""], answer, reference=reference)
    found = [claim.verdict.confidence for claim in reply.claims] + [
        p for p in reply.relevance.values() if p is not None
    ]
    assert all(0.0 <= p <= 1.0 for p in found)


def test_a_very_long_document_is_read():
    """A document of 200 KB without a single sentence end is judged like any other."""
    document = "word " * 20_000 + "the fee is 20 euros " + "word " * 20_000
    assert ask("Fee?", [document], "The fee is 20 euros.").claims[0].verdict.support is Support.SUPPORTED
