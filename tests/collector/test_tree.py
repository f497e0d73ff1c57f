"""The tree shows what the judge found, in the interaction's language, in the width that there is."""

from dataclasses import replace

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ragtrace.model import (
    Cause,
    Citation,
    Claim,
    Diagnosis,
    Evaluation,
    Hop,
    Interaction,
    JudgedClaim,
    JudgeInfo,
    RetrievedDocument,
    Score,
    SpanRecord,
    Status,
    Support,
    Unscored,
    Verdict,
)
from ragtrace_collector.views.lines import shorten, wrap
from ragtrace_collector.views.tree import render

ANSWER = "Refunds take 7 days [1]. They go to the card [1]."
DOCUMENTS = (
    RetrievedDocument("kb-refunds", 1, "Refunds are paid within 3–5 business days.", score=0.82),
    RetrievedDocument("kb-gift", 2, "Gift cards are not exchanged.", score=0.12),
)
EVALUATION = Evaluation(
    interaction=Interaction(
        question="How long do refunds take?",
        answer=ANSWER,
        documents=DOCUMENTS,
        hops=(Hop("How long do refunds take?", DOCUMENTS, "02"),),
        entry_span_id="01",
        generation_span_id="03",
    ),
    outcomes={
        "faithfulness": Score("faithfulness", 0.5, n_judged=2, n_total=2),
        "context_precision": Score("context_precision", 1.0),
        "citation_correctness": Score("citation_correctness", 0.5, n_judged=2, n_total=2),
        "answer_relevancy": Unscored("answer_relevancy", Status.SKIPPED, "no_embedder"),
        "answer_correctness": Unscored("answer_correctness", Status.NOT_APPLICABLE, "no_reference"),
    },
    diagnosis=Diagnosis(Cause.CONTRADICTS_DOCUMENTS, "C", "generation", advice=("a stricter prompt",)),
    judge=JudgeInfo("embedded", "abc"),
    claims=(
        JudgedClaim(
            Claim("Refunds take 7 days", 1, 0, 19, (1,)),
            Verdict(Support.CONTRADICTED, (1,), "within 3–5 business days"),
        ),
        JudgedClaim(Claim("They go to the card", 2, 25, 44, (1,)), Verdict(Support.SUPPORTED, (1,))),
    ),
    citations=(Citation("1", 20, 23, (1,)), Citation("1", 45, 48, (1,))),
    relevance={1: 0.9, 2: 0.1},
)
SPANS = (
    SpanRecord("aa", "01", None, "ask"),
    SpanRecord("aa", "02", "01", "search"),
    SpanRecord(
        "aa", "03", "01", "generate", attributes={"llm.model_name": "gpt-x"}, start_ns=0, end_ns=412_000_000
    ),
)


def shown(evaluation: Evaluation, spans: tuple[SpanRecord, ...] = (), width: int = 110) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(render(evaluation, spans))
    return capture.get()


def test_the_head_names_question_path_and_cause() -> None:
    """The first line holds what a reader looks for first."""
    head = shown(EVALUATION, SPANS).splitlines()[0]
    assert head.startswith("● ask  “How long do refunds take?”")
    assert head.rstrip().endswith("C  contradicts_documents")


def test_a_contradicted_claim_shows_what_the_document_says() -> None:
    """The reader sees claim, marker and the quote that speaks against it on one line."""
    line = next(line for line in shown(EVALUATION).splitlines() if "✗" in line)
    assert "Refunds take 7 days [1]" in line
    assert "document 1 says “within 3–5 business days”" in line


def test_scores_are_shown_and_missing_ones_say_why() -> None:
    """A metric without a number shows its status; one that does not apply is left out."""
    text = shown(EVALUATION)
    assert "faithfulness 0.50 (1 of 2)" in text
    assert "citations 1/2 right" in text
    assert "relevancy skipped" in text
    assert "correctness" not in text


def test_stages_show_relevance_scores_model_and_time() -> None:
    """Retrieval and generation are the last branches of the tree."""
    text = shown(EVALUATION, SPANS)
    assert "├─ retrieve  2 documents  ● ○   kb-refunds 0.82 · kb-gift 0.12" in text
    assert "└─ generate  gpt-x  412 ms" in text


def test_a_chinese_interaction_is_shown_in_chinese() -> None:
    """Labels, statuses and the cause follow the interaction's language."""
    text = shown(replace(EVALUATION, language="zh"), SPANS)
    assert "忠实度 0.50 (1/2)" in text
    assert "与文档矛盾" in text
    assert "检索  2 篇文档" in text
    assert "faithfulness" not in text


def test_unrecorded_and_empty_retrievals_differ() -> None:
    """Nothing recorded and nothing found are told apart."""
    unknown = replace(EVALUATION, interaction=replace(EVALUATION.interaction, documents=None, hops=()))
    nothing = replace(EVALUATION, interaction=replace(EVALUATION.interaction, documents=(), hops=()))
    assert "documents not recorded" in shown(unknown)
    assert "nothing retrieved" in shown(nothing)


def test_each_hop_has_its_own_branch() -> None:
    """An agent that searched twice shows two retrievals."""
    hops = (Hop("a", DOCUMENTS[:1], "02"), Hop("b", DOCUMENTS[1:], "04"))
    text = shown(replace(EVALUATION, interaction=replace(EVALUATION.interaction, hops=hops)))
    assert text.count("retrieve  1 document") == 2


def test_markup_in_content_is_shown_as_it_is() -> None:
    """Square brackets of the user's text are no styling."""
    odd = replace(EVALUATION, interaction=replace(EVALUATION.interaction, question="[bold]why[/bold] [red]?"))
    assert "[bold]why[/bold] [red]?" in shown(odd)


def test_shortening_counts_terminal_cells() -> None:
    """A Chinese character takes two cells, so a cut text never overflows its column."""
    short = shorten("退款会在三到五个工作日内原路退回", 11)
    assert cell_len(short) <= 11
    assert short.endswith("…")
    assert shorten("short", 10) == "short"


def test_a_narrow_terminal_loses_nothing() -> None:
    """At 60 columns every line fits, and scores, evidence and advice are all there on further lines."""
    advice = "prompt the model to say only what the documents say, and to copy numbers; lower the temperature"
    narrow = replace(EVALUATION, diagnosis=replace(EVALUATION.diagnosis, advice=(advice,)))
    text = shown(narrow, SPANS, width=60)
    flat = " ".join(text.replace("│", " ").split())
    assert all(cell_len(line.rstrip()) <= 60 for line in text.splitlines())
    assert "…" not in text
    for part in ("citations 1/2 right", "document 1 says “within 3–5 business days”", "kb-gift 0.12", advice):
        assert part in flat


def test_short_claims_show_their_own_markers_only() -> None:
    """The marker of the next claim, a few characters on, is not shown behind this one."""
    answer = "十五天到账【1】。节假日顺延【2】。"
    claims = (Claim("十五天到账", 1, 0, 5, (1,)), Claim("节假日顺延", 2, 9, 14, (2,)))
    chinese = replace(
        EVALUATION,
        language="zh",
        interaction=replace(EVALUATION.interaction, answer=answer),
        claims=tuple(JudgedClaim(claim, Verdict(Support.SUPPORTED, claim.cites)) for claim in claims),
        citations=(Citation("1", 5, 8, (1,)), Citation("2", 14, 17, (2,))),
    )
    text = shown(chinese)
    assert "十五天到账 【1】 " in text
    assert "节假日顺延 【2】 " in text


def test_chinese_text_wraps_between_characters_and_keeps_marks_in_place() -> None:
    """Lines are filled, none begins with a closing mark, none ends with an opening one, nothing is lost."""
    sentence = "少取几篇文档（调小 k），或设定分数下限；重排序，只把最好的几篇送入模型。"
    lines = [line.plain for line in wrap(Text(sentence), 24)]
    assert "".join(lines).replace(" ", "") == sentence.replace(" ", "")
    assert all(cell_len(line) <= 24 for line in lines)
    assert not any(line[0] in "，。；）" or line[-1] == "（" for line in lines)
    assert all(cell_len(line) >= 18 for line in lines[:-1])


def test_a_word_longer_than_the_line_is_broken() -> None:
    """A URL of 50 characters neither overflows nor disappears."""
    url = "https://example.org/" + "a" * 50
    lines = [line.plain for line in wrap(Text(f"see {url} there"), 30)]
    assert max(map(len, lines)) <= 30
    assert "".join(lines).replace(" ", "") == f"see{url}there"
