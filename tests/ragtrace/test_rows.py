"""Rows under the names of several tools become interactions; wrong ones are named."""

import math

import pytest

from ragtrace.errors import InputError
from ragtrace.rows import interaction_from_row


@pytest.mark.parametrize(
    "row",
    [
        {"question": "q", "contexts": ["d"], "answer": "a", "ground_truth": "r"},
        {"user_input": "q", "retrieved_contexts": ["d"], "response": "a", "reference": "r"},
        {"query": "q", "documents": [{"text": "d"}], "output": "a", "ground_truths": ["r"]},
        {"question": "q", "contexts": "d", "answer": "a", "expected_answer": "r"},
    ],
)
def test_the_names_of_other_tools_are_read(row: dict[str, object]) -> None:
    """One interaction, whatever the columns are called."""
    interaction = interaction_from_row(row)
    assert (interaction.question, interaction.answer, interaction.reference) == ("q", "a", "r")
    assert [document.text for document in interaction.documents or ()] == ["d"]


def test_ids_name_the_documents() -> None:
    """A parallel list of ids gives the documents theirs."""
    interaction = interaction_from_row({"question": "q", "contexts": ["x", "y"], "ids": ["a", 7]})
    assert [(d.id, d.id_source) for d in interaction.documents or ()] == [("a", "given"), ("7", "given")]


def test_empty_and_absent_documents_differ() -> None:
    """An empty list is a retrieval that found nothing; no list is no retrieval recorded."""
    assert interaction_from_row({"question": "q", "contexts": []}).documents == ()
    assert interaction_from_row({"question": "q"}).documents is None
    assert "documents" in interaction_from_row({"question": "q"}).missing


def test_documents_may_lack_text() -> None:
    """A document that has only an id is kept, without text."""
    (document,) = interaction_from_row({"question": "q", "documents": [{"id": "a"}]}).documents or ()
    assert (document.id, document.text) == ("a", None)


def test_several_references_are_kept_in_order() -> None:
    """The first reference is the reference, the others stand beside it."""
    interaction = interaction_from_row({"question": "q", "reference": ["a", "b", "c"]})
    assert (interaction.reference, interaction.other_references) == ("a", ("b", "c"))


def test_graded_and_plain_gold() -> None:
    """Plain gold counts as grade 1."""
    assert interaction_from_row({"question": "q", "gold": {"a": 3}}).gold == {"a": 3.0}
    assert interaction_from_row({"question": "q", "ground_truth_docs": ["a", "b"]}).gold == {
        "a": 1.0,
        "b": 1.0,
    }


def test_chat_messages_are_history() -> None:
    """Messages pair up to turns."""
    messages = [{"role": "user", "content": "1?"}, {"role": "assistant", "content": "1!"}]
    (turn,) = interaction_from_row({"question": "q", "history": messages}).history
    assert (turn.question, turn.answer) == ("1?", "1!")


def test_other_keys_become_metadata() -> None:
    """Nothing that a row says is lost."""
    assert interaction_from_row({"question": "q", "difficulty": "hard"}).metadata == {"difficulty": "hard"}


def test_a_data_frames_missing_value_is_absent() -> None:
    """NaN stands for nothing in a data frame."""
    assert interaction_from_row({"question": "q", "reference": math.nan}).reference is None


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"difficulty": "hard"}, "no question and no answer"),
        ({"question": ["q"]}, "question must be text"),
        ({"question": "q", "contexts": 7}, "contexts must be a list"),
        ({"question": "q", "contexts": ["x"], "ids": ["a", "b"]}, "2 ids for 1 documents"),
        ({"question": "q", "gold": {"a": "high"}}, "gold must be"),
        ({"question": "q", "ground_truth": {"a": 1}}, "ground_truth must be text"),
    ],
)
def test_a_wrong_row_is_named_with_its_place(row: dict[str, object], words: str) -> None:
    """File, line, field and what would be right."""
    with pytest.raises(InputError, match=words) as caught:
        interaction_from_row(row, source="set.jsonl", line=3)
    assert str(caught.value).startswith("set.jsonl:3: ")
