"""Answers are cut into the pieces that claims and citations are told by."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtrace.model import RetrievedDocument
from ragtrace.text.citations import parse
from ragtrace.text.segment import detect_language, sentences, units

DOCUMENTS = (RetrievedDocument("a", 1, "x"), RetrievedDocument("b", 2, "y"))


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def pieces(answer: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(unit.text, unit.cites) for unit in units(answer, parse(answer, DOCUMENTS))]


def worthy(answer: str) -> list[str]:
    return [unit.text for unit in units(answer, parse(answer, DOCUMENTS)) if unit.check_worthy]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How long do refunds take?", "en"),
        ("退款需要多久？", "zh"),
        ("Kubernetes 集群的 Pod 一直 Pending 怎么办？", "zh"),
        ("The word 退款 is used for refunds in all of our Chinese documents.", "en"),
        ("", "en"),
        ("2026-11-30 !!!", "en"),
    ],
)
def test_language_is_told_by_the_share_of_chinese_letters(text: str, language: str) -> None:
    """English terms in a Chinese sentence do not make it English, nor the other way round."""
    assert detect_language(text) == language


def test_language_is_told_from_all_texts_together() -> None:
    """A question without letters leaves it to the answer."""
    assert detect_language("???", None, "退款需要三天。") == "zh"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It works. It is fast! Is it? Yes.", ["It works.", "It is fast!", "Is it?", "Yes."]),
        ("It costs 3.5 dollars. Fine.", ["It costs 3.5 dollars.", "Fine."]),
        ("Dr. Smith met Mr. Jones. They left.", ["Dr. Smith met Mr. Jones.", "They left."]),
        ("Use fruit, e.g. apples. Then stop.", ["Use fruit, e.g. apples.", "Then stop."]),
        ("J. R. Tolkien wrote it. Read it.", ["J. R. Tolkien wrote it.", "Read it."]),
        ("Choose plan B. Then pay.", ["Choose plan B.", "Then pay."]),
        ("The answer is no. Refunds are final.", ["The answer is no.", "Refunds are final."]),
        ("See No. 5 in the list. Done.", ["See No. 5 in the list.", "Done."]),
        ("Visit kb.example.com/a.html now. Thanks.", ["Visit kb.example.com/a.html now.", "Thanks."]),
        ("Wait... what? Ok.", ["Wait... what?", "Ok."]),
        ("He said “Stop. Now.” Then he left.", ["He said “Stop. Now.”", "Then he left."]),
        ("It is (see Fig. 3) big. Yes.", ["It is (see Fig. 3) big.", "Yes."]),
        ("This line is\nwrapped here. Next.", ["This line is\nwrapped here.", "Next."]),
        (
            "退款需要3天。原路退回！可以吗？可以；好",
            ["退款需要3天。", "原路退回！", "可以吗？", "可以；", "好"],
        ),
        ("价格是3.5元。很便宜……对吧", ["价格是3.5元。", "很便宜……", "对吧"]),
        ("他说：“不行。不同意。”然后走了。", ["他说：“不行。不同意。”", "然后走了。"]),
        ("“行。”，他说。", ["“行。”，他说。"]),
        ("请看「第1条。总则」的内容。完", ["请看「第1条。总则」的内容。", "完"]),
        ("使用 Python 3.12 版本。支持 API v2.0。", ["使用 Python 3.12 版本。", "支持 API v2.0。"]),
        ("可以吗?可以!好的", ["可以吗?", "可以!", "好的"]),
        ("共１２．５元。好", ["共１２．５元。", "好"]),
        ("- first\n- second\n\n1. third\n2. fourth", ["first", "second", "third", "fourth"]),
        ("一、开通条件\n二、办理流程", ["开通条件", "办理流程"]),
        ("# Title\nText here.", ["Title", "Text here."]),
        ("...\n---\n!!!", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    """A sentence ends where a reader would end it."""
    assert cut(text) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            "Refunds take 3 days [1]. They are free [2].",
            [("Refunds take 3 days", (1,)), ("They are free", (2,))],
        ),
        (
            "Refunds take 3 days. [1] They are free. [2]",
            [("Refunds take 3 days.", (1,)), ("They are free.", (2,))],
        ),
        (
            "Refunds take 3 days.[1][2] They are free.",
            [("Refunds take 3 days.", (1, 2)), ("They are free.", ())],
        ),
        (
            "They take 3 days [1] and go to the card [2].",
            [("They take 3 days", (1,)), ("and go to the card", (2,))],
        ),
        ("Refunds take 3 days [1] and [2].", [("Refunds take 3 days", (1, 2))]),
        ("退款需要3天[1]，原路退回银行卡[2]。", [("退款需要3天", (1,)), ("原路退回银行卡", (2,))]),
        ("退款需要3天。[1]原路退回。", [("退款需要3天。", (1,)), ("原路退回。", ())]),
        ("According to [1], refunds take 3 days.", [("refunds take 3 days.", (1,))]),
        ("根据[1]，退款需要3天。", [("退款需要3天。", (1,))]),
        ("Document [1] says that refunds take 3 days.", [("Document says that refunds take 3 days.", (1,))]),
        (
            "[1] Refunds take 3 days.\n[2] They are free.",
            [("Refunds take 3 days.", (1,)), ("They are free.", (2,))],
        ),
        (
            "- Refunds take 3 days [1]\n- They are free [2]",
            [("Refunds take 3 days", (1,)), ("They are free", (2,))],
        ),
        ("Refunds take 3 days [1] (see above).", [("Refunds take 3 days (see above).", (1,))]),
        ("| Item | Days |\n|---|---|\n| Refund | 3 [1] |", [("Item | Days", ()), ("Refund | 3", (1,))]),
        ("[1]", []),
    ],
)
def test_a_marker_run_belongs_to_the_unit_before_it(
    answer: str, expected: list[tuple[str, tuple[int, ...]]]
) -> None:
    """Unless it is spoken of in the sentence or opens the line."""
    assert pieces(answer) == expected


def test_a_unit_says_where_it_stands() -> None:
    """``start`` and ``end`` cut the unit's text out of the answer."""
    answer = "  Hello there. Refunds take 3 days [1]; they are free [2]."
    for unit in units(answer, parse(answer, DOCUMENTS)):
        assert answer[unit.start : unit.end] == unit.text


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Hi! Happy to help. UW is in Seattle. Anything else?", ["UW is in Seattle."]),
        ("你好！退款需要3天。希望对您有帮助。还有其他问题吗？", ["退款需要3天。"]),
        ("Sure! Here are the steps:\n- Open the app.", ["Open the app."]),
        ("Refunds take 3 days. The documents do not say what they cost.", ["Refunds take 3 days."]),
        ("退款需要3天。资料中没有说明费用。", ["退款需要3天。"]),
        ("## Refunds\nThey take 3 days.", ["They take 3 days."]),
        ("Run this:\n```\nmake refund\n```\nIt takes 3 days.", ["It takes 3 days."]),
        ("They take 3 days.\n\nReferences:\n- Refund policy", ["They take 3 days."]),
        ("Yes. Refunds are free.", ["Refunds are free."]),
        ("Yes.", ["Yes."]),
        ("以下是办理步骤：\n1. 打开应用。", ["打开应用。"]),
        ("如果您有其他问题，欢迎随时联系。退款免费。", ["退款免费。"]),
        ("Please let me know if you have any questions. Refunds are free.", ["Refunds are free."]),
        ("The fees are: 3 dollars.", ["The fees are: 3 dollars."]),
        ("Sorry, refunds take 3 days.", ["Sorry, refunds take 3 days."]),
        ("Please send the form within 7 days.", ["Please send the form within 7 days."]),
        ("Please contact HR by email.", ["Please contact HR by email."]),
        ("If you are healthy, you need no mask.", ["If you are healthy, you need no mask."]),
        ("请提供发票原件。", ["请提供发票原件。"]),
        ("希望小学有其他校区。", ["希望小学有其他校区。"]),
    ],
)
def test_only_statements_are_check_worthy(answer: str, expected: list[str]) -> None:
    """Greetings, offers, questions, announcements, headings and code state nothing."""
    assert worthy(answer) == expected


@given(st.text(max_size=300))
def test_any_text_can_be_cut(text: str) -> None:
    """Units are in order, do not overlap, and each holds a letter or a digit."""
    found = units(text, parse(text, DOCUMENTS))
    assert [unit.index for unit in found] == list(range(1, len(found) + 1))
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))
    assert all(any(map(str.isalnum, text[unit.start : unit.end])) for unit in found)


@given(
    st.lists(
        st.sampled_from(
            [
                "Refunds take 3 days",
                "退款",
                ". ",
                "。",
                "[1]",
                "\n",
                "“",
                "”",
                "- ",
                "e.g. ",
                "3.5",
                "! ",
                "| a |",
            ]
        )
    )
)
def test_sentences_lose_no_words(parts: list[str]) -> None:
    """All letters of the text are in some sentence."""
    text = "".join(parts)
    kept = "".join(text[start:end] for start, end in sentences(text))
    assert [c for c in kept if c.isalpha()] == [c for c in text if c.isalpha()]
