"""Citations are read by occurrence, in every form, and nothing else is taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtrace.model import GivenCitation, RetrievedDocument
from ragtrace.text.citations import parse, strip

REFUNDS = RetrievedDocument(
    "kb-refunds",
    1,
    "Refunds take 3 days.",
    metadata={"title": "Refund policy", "url": "https://kb.example.com/refunds"},
)
CARDS = RetrievedDocument(
    "kb-cards", 2, "Refunds go to the card.", metadata={"title": "卡片说明", "source": "docs/cards.md"}
)
FEES = RetrievedDocument("kb-fees", 3, "There is no fee.", metadata={"title": "Fees"})
DOCUMENTS = (REFUNDS, CARDS, FEES)

FORMS = {
    "square": ("[1]", "[2]"),
    "square behind a space": (" [1]", " [2]"),
    "full-width square": ("［1］", "［2］"),
    "full-width digits": ("［１］", "［２］"),
    "lenticular": ("【1】", "【2】"),
    "provider's own": ("【1†source】", "【2†source】"),
    "footnote": ("[^1]", "[^2]"),
    "circled": ("①", "②"),
    "superscript": ("¹", "²"),
    "superscript tag": ("<sup>1</sup>", "<sup>2</sup>"),
    "caret": ("^1", "^2"),
    "round": (" (1)", " (2)"),
    "full-width round": ("（1）", "（2）"),
    "document id": (" [kb-refunds]", " [kb-cards]"),
    "double square": ("[[1]]", "[[2]]"),
    "citation word": ("[citation:1]", "[citation:2]"),
    "document word": (" [Document 1]", " [Document 2]"),
    "Chinese document word": ("[文档1]", "[文档2]"),
    "cite tag": ("<cite>1</cite>", "<cite>2</cite>"),
    "ref tag": ("<ref>1</ref>", "<ref>2</ref>"),
    "empty ref tag": ('<ref id="1"/>', '<ref id="2"/>'),
    "source title": (" (Source: Refund policy)", " (Source: 卡片说明)"),
    "Chinese source title": ("（来源：Refund policy）", "（来源：卡片说明）"),
    "link to the document": (" [here](https://kb.example.com/refunds)", " [there](docs/cards.md)"),
    "round with a word": (" (doc 1)", " (doc 2)"),
}


@pytest.mark.parametrize(("first", "second"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(
    "template",
    ["Refunds take 3 days{}. They go to the card{}.", "退款需要3天{}。原路退回到银行卡{}。"],
    ids=["en", "zh"],
)
def test_every_form_cites_the_same_documents(template: str, first: str, second: str) -> None:
    """The form of a marker does not change what it cites."""
    found = parse(template.format(first, second), DOCUMENTS)
    assert [(c.documents, c.status) for c in found] == [((1,), "resolved"), ((2,), "resolved")]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_strip_takes_the_markers_out(form: tuple[str, str]) -> None:
    """Without its markers the answer reads as if it had never had any."""
    answer = "Refunds take 3 days{}. They go to the card{}.".format(*form)
    assert strip(answer, parse(answer, DOCUMENTS)) == "Refunds take 3 days. They go to the card."


@pytest.mark.parametrize(
    ("marker", "ranks"),
    [
        ("[1,2]", [1, 2]),
        ("[1, 3]", [1, 3]),
        ("[1、2]", [1, 2]),
        ("[1-3]", [1, 2, 3]),
        ("[1–3]", [1, 2, 3]),
        ("[1][2]", [1, 2]),
        ("([1], [2])", [1, 2]),
        ("(Source: [1])", [1]),
        ("来源：[1]", [1]),
        ("①②", [1, 2]),
        ("¹,²", [1, 2]),
        ("[Doc 1, Doc 2]", [1, 2]),
        ("[kb-refunds, kb-fees]", [1, 3]),
        ("(Sources: Refund policy; Fees)", [1, 3]),
    ],
)
def test_lists_and_ranges_cite_each_of_their_documents(marker: str, ranks: list[int]) -> None:
    """One marker may name several documents; each is one citation."""
    found = parse(f"Refunds take 3 days {marker}.", DOCUMENTS)
    assert [rank for c in found for rank in c.documents] == ranks


@pytest.mark.parametrize(
    "answer",
    [
        "Use `items[1]` for it.",
        "```python\nprint(items[1])\n```",
        "```\nitems[1] without an end",
        "See [our site](https://other.example.com) for more.",
        "![picture](https://kb.example.com/refunds)",
        "The room has 5 m² of floor, that is 10² tiles.",
        "E = mc²",
        "The area is 16 cm^2, the volume 64 cm^3.",
        "Call draw(1); then draw((2,3)); and f(2).",
        "It was in 1⑨84.",
        "Steps: (1) open it, (2) close it.",
        "1) Open it.\n2) Close it.",
        "步骤：①打开设置②点击确定。",
        "①打开设置\n②点击确定",
        "He [sic] said so, [redacted] as it was.",
        "It was founded in [2019].",
        "As section (2) says, three (3) items are free.",
        "- [ ] to do\n- [x] done",
        "Text.\n\nSources:\n[1] Refund policy\n[2] Cards",
        "Text.\n\n参考资料：\n[1] 退款政策",
        "Text.\n[^1]: Refund policy",
    ],
)
def test_what_is_no_citation_is_left_alone(answer: str) -> None:
    """Code, links that lead elsewhere, powers, steps, years, asides and source lists cite nothing."""
    assert parse(answer, DOCUMENTS) == ()


def test_numbers_in_round_brackets_count_only_when_the_answer_has_no_other_form() -> None:
    """Beside square markers, round ones are asides."""
    assert [c.label for c in parse("Refunds take 3 days [1], as agreed (2).", DOCUMENTS)] == ["1"]


def test_numbers_in_round_brackets_count_only_when_all_are_documents() -> None:
    """A round number beyond the documents shows that round numbers mean something else here."""
    assert parse("Refunds take 3 days (1). The team has members (12).", DOCUMENTS) == ()


def test_a_number_without_a_document_dangles() -> None:
    """A marker for a document that was never there is listed, not dropped."""
    (found,) = parse("Refunds take 3 days [9].", DOCUMENTS)
    assert (found.label, found.documents, found.status) == ("9", (), "dangling")


def test_a_fake_id_beside_a_valid_one_and_a_link_dangles() -> None:
    """Each occurrence stands for itself: valid ids beside it do not hide one that exists nowhere."""
    answer = "A [kb-refunds], B [kb-ghost], C [kb-cards](https://elsewhere.example.com)."
    assert [(c.label, c.status) for c in parse(answer, DOCUMENTS)] == [
        ("kb-refunds", "resolved"),
        ("kb-ghost", "dangling"),
        ("kb-cards", "resolved"),
    ]


def test_a_label_of_two_documents_is_ambiguous() -> None:
    """Where two documents carry one label, nobody knows which is meant."""
    twins = (RetrievedDocument("dup", 1, "a"), RetrievedDocument("dup", 2, "b"))
    (found,) = parse("So it is [dup].", twins)
    assert (found.documents, found.status) == ((), "ambiguous")


def test_numbers_are_ids_where_they_only_make_sense_so() -> None:
    """With documents 7 and 3, "[7]" is an id, and so is the "[3]" beside it."""
    documents = (
        RetrievedDocument("7", 1, "a"),
        RetrievedDocument("3", 2, "b"),
        RetrievedDocument("9", 3, "c"),
    )
    assert [c.documents for c in parse("A [7]. B [3].", documents)] == [(1,), (2,)]


def test_an_app_may_number_from_zero() -> None:
    """``first=0`` makes "[0]" the first document."""
    assert [c.documents for c in parse("A [0]. B [2].", DOCUMENTS, first=0)] == [(1,), (3,)]


def test_a_content_hash_is_no_label() -> None:
    """An id that we made ourselves was never in the prompt."""
    document = RetrievedDocument("ab12", 1, "a", id_source="content_hash")
    assert parse("So it is [ab12].", (document,)) == ()


def test_markers_dangle_where_documents_were_not_recorded() -> None:
    """A marker is a marker even if nobody knows the documents."""
    assert [c.status for c in parse("So it is [1].", None)] == ["dangling"]


def test_recorded_citations_stand_where_their_text_ends() -> None:
    """A citation that the app recorded needs no marker."""
    answer = "Refunds take 3 days. They go to the card."
    found = parse(answer, DOCUMENTS, (GivenCitation(1, 0, 19), GivenCitation("kb-cards", 21, 40)))
    assert [(c.documents, c.start, c.end) for c in found] == [((1,), 19, 19), ((2,), 40, 40)]


def test_a_recorded_citation_replaces_the_marker_that_it_covers() -> None:
    """Providers give the marker's own place: it is one citation, not two."""
    answer = "Refunds take 3 days【4:0†source】."
    found = parse(answer, DOCUMENTS, (GivenCitation("kb-cards", 19, 31),))
    assert [(c.documents, c.start, c.end) for c in found] == [((2,), 19, 31)]


@given(st.text(max_size=200))
def test_any_text_can_be_read(answer: str) -> None:
    """No text raises, and every marker lies inside it, in order."""
    found = parse(answer, DOCUMENTS)
    assert all(0 <= c.start <= c.end <= len(answer) for c in found)
    assert [c.start for c in found] == sorted(c.start for c in found)


@given(
    st.lists(
        st.sampled_from(
            [
                "Refunds ",
                "退款",
                "[1]",
                "【2】",
                "①",
                "² ",
                "(3)",
                "`",
                "```\n",
                "\n",
                ". ",
                "。",
                "[kb-fees]",
                "](",
                "http://x",
            ]
        )
    )
)
def test_any_mix_of_markers_can_be_read(parts: list[str]) -> None:
    """Broken markup is read as far as it goes."""
    answer = "".join(parts)
    stripped = strip(answer, parse(answer, DOCUMENTS))
    assert len(stripped) <= len(answer)
