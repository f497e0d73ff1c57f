"""Recorded traces of many instrumentation set-ups against what their apps really did.

``RECOVERABLE.tsv`` says of each field what the spans still hold: ``Y`` the value itself (it must be read), ``s``
a part of a longer text and ``p`` a part of the documents (four in five must be read), ``n`` nothing (it must be
reported as not recorded). Whatever is read must be right.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Any

import pytest
from captures import SHARED, expected_turns, load, of_turn, squeezed

from ragtrace.extract import interactions
from ragtrace.model import Interaction, RetrievedDocument

_TABLE = SHARED / "RECOVERABLE.tsv"
_ROWS = list(csv.DictReader(_TABLE.open(encoding="utf-8"), delimiter="\t")) if _TABLE.exists() else []
pytestmark = pytest.mark.skipif(not _ROWS, reason="the shared captures are not here")
_MUST, _PART, _NOWHERE = ("Y",), ("s", "p"), ("n", "-")


def _read(row: Mapping[str, str]) -> tuple[list[Interaction], list[dict[str, Any]]]:
    path = SHARED / f"{row['name']}.json"
    return interactions(*load(path)), expected_turns(path)


def _fields(one: Interaction | None, turn: Mapping[str, Any]) -> dict[str, bool]:
    """For each field whether what was read is what the app did."""
    documents = one.documents or () if one is not None else ()
    contexts = turn["contexts"]
    scores = [document.score for document in documents]
    return {
        "question": one is not None
        and squeezed(one.question) in {squeezed(turn["question"]), squeezed(turn.get("standalone_question"))},
        "answer": one is not None and squeezed(one.answer) == squeezed(turn.get("answer")),
        "text": [squeezed(d.text) for d in documents] == [squeezed(c["text"]) for c in contexts],
        "id": [d.id for d in documents] == [c["id"] for c in contexts],
        "score": None not in scores and scores == pytest.approx([c.get("score") for c in contexts], abs=1e-6),
    }


def _held(row: Mapping[str, str], turn: Mapping[str, Any]) -> dict[str, str]:
    """For each field how much of it the spans and logs hold."""
    held = {"question": row["Qany"], "answer": "Y" if "Y" in (row["Aany"], row["Alogs"]) else row["Aany"]}
    if turn["contexts"]:
        held |= {"text": row["text_any"], "id": row["id"], "score": row["score"]}
    if turn.get("answer") is None:
        del held["answer"]
    return held


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row["name"])
def test_what_the_spans_hold_is_read(row: Mapping[str, str]) -> None:
    """Question, answer, document texts in prompt order, ids and scores are read where the spans hold them."""
    found, turns = _read(row)
    for turn in turns:
        right = _fields(of_turn(found, turn), turn)
        assert [name for name, held in _held(row, turn).items() if held in _MUST and not right[name]] == []


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row["name"])
def test_nothing_is_invented(row: Mapping[str, str]) -> None:
    """What the spans do not hold is missing, and no field has another value than the app's."""
    found, turns = _read(row)
    assert len(found) == len(turns)
    for turn in turns:
        one = of_turn(found, turn)
        assert one is not None
        held = _held(row, turn)
        assert one.answer is None or squeezed(one.answer) == squeezed(turn.get("answer"))
        assert held.get("answer") not in _NOWHERE or one.answer is None
        assert not one.documents or turn["contexts"]
        for document in one.documents or ():
            _assert_true(document, turn["contexts"])


def _assert_true(document: RetrievedDocument, contexts: list[dict[str, Any]]) -> None:
    """A document is one of those that reached the prompt, and its score is not another number."""
    same = [c for c in contexts if c["id"] == document.id]
    if document.id_source == "content_hash":
        same = [c for c in contexts if squeezed(c["text"]) == squeezed(document.text)]
    assert same, document
    assert document.text is None or squeezed(document.text) == squeezed(same[0]["text"])
    assert document.score is None or document.score == pytest.approx(same[0].get("score"), abs=1e-6)
    assert document.distance is None or document.distance == pytest.approx(same[0].get("distance"), abs=1e-6)


def test_four_in_five_of_what_is_there_in_part_are_read() -> None:
    """Fields that the spans hold inside longer texts, or in part, are read in at least four of five captures."""
    right = [
        _fields(of_turn(found, turn), turn)[name]
        for row in _ROWS
        for found, turns in [_read(row)]
        for turn in turns
        for name, held in _held(row, turn).items()
        if held in _PART
    ]
    assert sum(right) / len(right) >= 0.8
