"""Traces that ``tests/data/record_traces.py`` recorded, oldest and newest versions, against what the app did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from captures import OWN, expected_turns, load, of_turn

from ragtrace.extract import interactions
from ragtrace.model import Interaction

_CAPTURES = sorted(
    path
    for path in OWN.glob("*.json")
    if path.name.count(".json") == 1 and ".expected" not in path.name and ".logs" not in path.name
)
_NOT_RECORDED: dict[str, set[str]] = {
    "openinference-langchain-0.1.12__": {"ids"},
    "openlit-langchain-1.45.0__": {"ids", "scores"},
    "trulens-2.16.0__": {"ids", "scores"},
    "traceloop-openai-0.10.0__error": {"texts"},
    "traceloop-openai-0.62.4__multi": {"texts", "order"},
    "pydantic-ai-0.1.0__error": {"question"},
}
"""What the spans do not hold. The order of fused lists is told by nothing where there are no texts."""


@pytest.fixture(params=_CAPTURES, ids=lambda path: path.stem)
def capture(request: pytest.FixtureRequest) -> Path:
    """One capture."""
    path: Path = request.param
    return path


def _lacks(capture: Path) -> set[str]:
    return next((lacks for name, lacks in _NOT_RECORDED.items() if capture.name.startswith(name)), set())


def _turns(capture: Path) -> list[tuple[Interaction, dict[str, Any]]]:
    """Each interaction that was read, with what the app really did: as many of the one as of the other."""
    found, turns = interactions(*load(capture)), expected_turns(capture)
    assert len(found) == len(turns)
    pairs = [(of_turn(found, turn), turn) for turn in turns]
    assert len({id(one) for one, _ in pairs}) == len(turns)
    return [(one, turn) for one, turn in pairs if one is not None]


def test_there_are_captures_of_two_versions_of_four_instrumentations() -> None:
    """The oldest and the newest version that run are both here."""
    versions: dict[str, set[str]] = {}
    for path in _CAPTURES:
        clothes, _, version = path.name.partition("__")[0].rpartition("-")
        versions.setdefault(clothes, set()).add(version)
    assert sum(len(found) > 1 for found in versions.values()) >= 4


def test_question_and_answer_are_the_apps(capture: Path) -> None:
    """The question as it was asked; the answer, or none where the app failed."""
    for one, turn in _turns(capture):
        assert one.question == (None if "question" in _lacks(capture) else turn["question"])
        assert one.answer == turn["answer"]
        assert (one.error is not None) == (turn["answer"] is None)


def test_documents_are_those_of_the_prompt(capture: Path) -> None:
    """Texts in prompt order with ids and scores, and nothing in place of what was not recorded."""
    for one, turn in _turns(capture):
        _check_documents(one, turn["contexts"], _lacks(capture))


def _check_documents(one: Interaction, contexts: list[dict[str, Any]], lacks: set[str]) -> None:
    documents = one.documents or ()
    texts = [document.text for document in documents]
    assert texts == [None if "texts" in lacks else context["text"] for context in contexts]
    if "order" in lacks:
        assert {d.id for d in documents} == {c["id"] for c in contexts}
        assert any(missing.startswith("documents.order") for missing in one.missing)
        return
    if "ids" in lacks:
        assert {d.id_source for d in documents} <= {"content_hash"}
    else:
        assert [d.id for d in documents] == [c["id"] for c in contexts]
    assert [d.score for d in documents] == [None if "scores" in lacks else c["score"] for c in contexts]


def test_the_entry_is_a_span_of_the_capture(capture: Path) -> None:
    """Scores have a place: the entry, in the trace that is named, and the retrievals are spans that were received."""
    known = {(span.trace_id, span.span_id) for span in load(capture)[0]}
    for one, _ in _turns(capture):
        assert (one.trace_id, one.entry_span_id) in known
        assert set(one.retrieval_span_ids) <= {span_id for _, span_id in known}
