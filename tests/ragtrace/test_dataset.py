"""Evaluation sets from files of every shape, and from other tools."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ragtrace
from ragtrace.dataset import is_unanswerable, read_row, read_set, row_key, set_row
from ragtrace.documents import content_id
from ragtrace.errors import InputError, MissingExtra
from ragtrace.model import Turn
from ragtrace.set_files import json_rows


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def to(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return to


RAGAS_01 = {
    "question": "q",
    "contexts": ["c"],
    "answer": "a",
    "ground_truth": "g",
    "evolution_type": "reasoning",
}
RAGAS_04 = {
    "user_input": "q",
    "retrieved_contexts": ["c"],
    "response": "a",
    "reference": "g",
    "reference_contexts": ["c"],
    "synthesizer_name": "multi_hop_abstract_query_synthesizer",
}
LANGSMITH_RESULT = {
    "inputs": {"question": "q"},
    "outputs": {"answer": "a", "contexts": ["c"]},
    "reference_outputs": {"answer": "g"},
    "metadata": {"type": "multi-hop"},
}
LANGSMITH_TABLE = {
    "input.question": "q",
    "outputs.answer": "a",
    "outputs.contexts": ["c"],
    "reference.answer": "g",
    "metadata.type": "multi-hop",
}
PHOENIX_SPANS = {
    "context.span_id": "1",
    "attributes.input.value": "q",
    "attributes.output.value": "a",
    "attributes.retrieval.documents": [{"document.content": "c", "content": "c"}],
    "ground_truth": "g",
    "category": "multi-hop",
}
TRULENS = {
    "query": "q",
    "expected_response": "g",
    "expected_chunks": ["c"],
    "output": "a",
    "contexts": ["c"],
    "query_type": "multihop",
}


@pytest.mark.parametrize(
    "row", [RAGAS_01, RAGAS_04, LANGSMITH_RESULT, LANGSMITH_TABLE, PHOENIX_SPANS, TRULENS]
)
def test_the_columns_of_other_tools_are_read(row: dict[str, Any]) -> None:
    """Question, documents, answer, reference and type come out the same, whoever made the set."""
    found = read_row(row)
    assert (found.question, found.answer, found.reference) == ("q", "a", "g")
    assert [document.text for document in found.documents or ()] == ["c"]
    assert found.metadata["question_type"] == "multi-hop"


def test_an_example_without_a_run_has_its_outputs_as_reference() -> None:
    """LangSmith and Phoenix keep the expected answer of an example in its outputs."""
    for names in (("inputs", "outputs"), ("input", "output")):
        found = read_row({names[0]: {"question": "q"}, names[1]: {"answer": "g"}})
        assert (found.question, found.answer, found.reference) == ("q", None, "g")


def test_phoenix_frames_have_the_retrieved_text_in_reference() -> None:
    """Where a column tells that it is such a frame, the text is a document and no reference."""
    found = read_row({"context.span_id": "1", "input": "q", "reference": "text", "output": "a"})
    assert found.reference is None
    assert [document.text for document in found.documents or ()] == ["text"]


def test_right_documents_that_are_named_by_text_get_the_ids_of_texts() -> None:
    """Ragas and TruLens name gold documents by their texts; equal retrieved texts are found again."""
    for column in ("reference_contexts", "expected_chunks"):
        found = read_row({"question": "q", "contexts": ["x", "c"], "answer": "a", column: ["c"]})
        assert found.gold == {content_id("c"): 1.0}
        assert [document.id in found.gold for document in found.documents or ()] == [False, True]


def test_a_conversation_in_place_of_a_question() -> None:
    """The last question is asked; what came before is history, what comes behind is the answer."""
    messages = [
        {"type": "human", "content": "a?"},
        {"type": "ai", "content": "A."},
        {"type": "human", "content": "b?"},
        {"type": "ai", "content": "B."},
    ]
    found = read_row({"user_input": messages, "retrieved_contexts": ["c"]})
    assert (found.question, found.answer, found.history) == ("b?", "B.", (Turn("a?", "A."),))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        *[
            ("事实型", "factual"),
            ("总结型", "summary"),
            ("多跳推理", "multi-hop"),
            ("无答案", "unanswerable"),
        ],
        *[
            ("Multi Hop", "multi-hop"),
            ("multi_hop", "multi-hop"),
            ("No-Answer", "unanswerable"),
            ("对比", "对比"),
        ],
    ],
)
def test_question_types_mean_the_same_in_both_languages(given: str, wanted: str) -> None:
    """Known types have one name; a value of the user's own stays."""
    found = read_row({"question": "q", "answer": "a", "question_type": given})
    assert found.metadata["question_type"] == wanted
    assert is_unanswerable(found) == (wanted == "unanswerable")


@pytest.mark.parametrize(
    ("given", "wanted"), [("简单", "easy"), ("中等", "medium"), ("难", "hard"), ("L4", "L4")]
)
def test_difficulties_mean_the_same_in_both_languages(given: str, wanted: str) -> None:
    """As with types."""
    assert read_row({"question": "q", "answer": "a", "难度": given}).metadata["difficulty"] == wanted


def test_gold_is_plain_or_graded() -> None:
    """Ids alone count 1; grades are kept."""
    plain = read_row({"question": "q", "answer": "a", "ground_truth_docs": ["a", "b"]})
    graded = read_row({"question": "q", "answer": "a", "gold_ids": {"a": 3, "b": 0}})
    assert (plain.gold, graded.gold) == ({"a": 1.0, "b": 1.0}, {"a": 3.0, "b": 0.0})


def test_csv_cells_hold_lists_in_the_usual_ways(write: Callable[[str, str], Path]) -> None:
    """JSON lists, printed Python lists and separated ids; headings in either language and any case."""
    text = (
        "Question,contexts,Answer,ground_truth,gold_ids,问题类型\n"
        'q1,"[""c1"", ""c2""]",a1,g1,"k1; k2",无答案\n'
        "q2,\"['c3', 'c4']\",\"a2, with\nlines\",g2,k3,事实型\n"
    )
    found = read_set(write("set.csv", "\ufeff" + text))
    assert [[document.text for document in row.documents or ()] for row in found.rows] == [
        ["c1", "c2"],
        ["c3", "c4"],
    ]
    assert found.rows[0].gold == {"k1": 1.0, "k2": 1.0}
    assert found.rows[1].answer == "a2, with\nlines"
    assert [row.metadata["question_type"] for row in found.rows] == ["unanswerable", "factual"]


def test_csv_from_a_chinese_spreadsheet(tmp_path: Path) -> None:
    """GB18030 is read where the bytes are no UTF-8."""
    path = tmp_path / "set.csv"
    path.write_bytes("问题,回答,标准答案\n退款多久到账?,3天,3天\n".encode("gb18030"))
    (row,) = read_set(path).rows
    assert (row.question, row.answer, row.reference) == ("退款多久到账?", "3天", "3天")


def test_one_json_array_is_a_set_too(write: Callable[[str, str], Path]) -> None:
    """Whether or not it is spread over lines."""
    rows = [{"question": "q1", "answer": "a"}, {"question": "q2", "answer": "a"}]
    for text in (json.dumps(rows), json.dumps(rows, indent=1), json.dumps({"data": rows}, indent=1)):
        assert [row.question for row in read_set(write("set.json", text)).rows] == ["q1", "q2"]


BAD = (
    '{"question": "q", "answer": "a"}\n{"answer": "a"}\n{oops\n{"question": "q", "answer": "a", "gold": 7}\n'
)


def test_bad_rows_are_named_with_field_and_reason(write: Callable[[str, str], Path]) -> None:
    """All of them at once, so that a set is mended in one go."""
    path = write("set.jsonl", BAD)
    with pytest.raises(InputError) as error:
        read_set(path)
    assert f"{path}:2: question: missing" in str(error.value)
    assert f"{path}:3: not JSON" in str(error.value)
    assert f"{path}:4: gold must be a list of ids" in str(error.value)


def test_lenient_keeps_the_good_rows_and_the_reasons(write: Callable[[str, str], Path]) -> None:
    """What was left out is still told."""
    found = read_set(write("set.jsonl", BAD), lenient=True)
    assert (len(found.rows), [problem.line for problem in found.problems]) == (1, [2, 3, 4])


def test_rows_keep_the_numbers_that_they_have_in_the_file(write: Callable[[str, str], Path]) -> None:
    """Bad rows and empty lines are counted, so that an editor finds the row; in an array it is the place."""
    good = '{"question": "q", "answer": "a"}'
    lines = write("set.jsonl", f'{good}\n{{oops\n\n{good}\n{{"answer": "a"}}\n{good}\n')
    assert list(read_set(lines, lenient=True).numbers) == [1, 4, 6]
    table = write("set.csv", "question,answer\nq1,a\n,a\nq2,a\n")
    assert list(read_set(table, lenient=True).numbers) == [2, 4]
    whole = write("set.json", f'[\n{good},\n{{"answer": "a"}},\n{good}\n]')
    assert list(read_set(whole, lenient=True).numbers) == [1, 3]


def test_no_more_of_a_file_is_read_than_rows_are_asked_for(tmp_path: Path) -> None:
    """A set may be larger than the memory: what is no UTF-8 far behind is not met with the first row."""
    row = b'{"question": "q", "answer": "a"}\n'
    path = tmp_path / "set.jsonl"
    path.write_bytes(row * 20_000 + b"\xff\n")
    rows = json_rows(path)
    assert next(rows) == (1, {"question": "q", "answer": "a"})
    with pytest.raises(InputError, match="not UTF-8"):
        list(rows)


def test_answers_may_be_made_later(write: Callable[[str, str], Path]) -> None:
    """Without an app, a row without an answer is bad."""
    path = write("set.jsonl", '{"question": "q"}')
    assert read_set(path, needs_answers=False).rows[0].answer is None
    with pytest.raises(InputError, match="answer: missing"):
        read_set(path)


def test_gold_ids_may_name_what_chunks_come_from(write: Callable[[str, str], Path]) -> None:
    """``--id-field metadata.source``; a field that no document has is an error."""
    documents = [{"text": "x", "metadata": {"source": "a.md"}}, {"text": "y", "id": "own"}]
    path = write("set.jsonl", json.dumps({"question": "q", "answer": "a", "documents": documents}))
    (row,) = read_set(path, id_field="metadata.source").rows
    assert [document.id for document in row.documents or ()] == ["a.md", "own"]
    with pytest.raises(InputError, match=r"no document has metadata\.page"):
        read_set(path, id_field="metadata.page")


def test_the_fingerprint_is_of_questions_and_references_alone(write: Callable[[str, str], Path]) -> None:
    """Another answer is another run of the same set; another reference is another set."""
    rows = [
        {"question": "q", "answer": "a", "reference": "g"},
        {"question": "q", "answer": "b", "reference": "g"},
    ]
    other = {"question": "q", "answer": "a", "reference": "h"}
    same = [read_set(write("s.jsonl", json.dumps(row))).fingerprint for row in rows]
    assert same[0] == same[1] != read_set(write("s.jsonl", json.dumps(other))).fingerprint


def test_a_recorded_interaction_becomes_a_row_and_comes_back() -> None:
    """Growing a set from live traffic loses nothing that a set has."""
    row = read_row(RAGAS_04 | {"difficulty": "hard", "ids": ["k"]})
    again = read_row(json.loads(json.dumps(set_row(row))))
    assert row_key(again) == row_key(row)
    assert (again.answer, again.metadata["difficulty"]) == ("a", "hard")
    assert [document.id for document in again.documents or ()] == ["k"]


def test_a_hugging_face_set_says_what_it_needs(tmp_path: Path) -> None:
    """Without the library there is one clear line."""
    pytest.importorskip("click")
    try:
        import datasets  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtra, match="datasets"):
            read_set(tmp_path)
    else:
        pytest.skip("datasets is installed")


def test_ragtrace_evaluate_takes_a_ragas_data_set_as_it_is() -> None:
    """Rows of either naming, labels included."""
    results = ragtrace.evaluate([RAGAS_01, RAGAS_04], metrics=["context_recall"], progress=False)
    assert [row.interaction.metadata["question_type"] for row in results.rows] == ["multi-hop", "multi-hop"]
