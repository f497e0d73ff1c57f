"""Rows that wait on disk are the rows that were put there."""

import pytest

from ragtrace.model import Interaction, RetrievedDocument
from ragtrace_collector.evaluating.row_file import RowFile


def test_it_reads_back_what_was_appended() -> None:
    """In any order, also after more came, as often as wanted."""
    rows, kept = [], RowFile()
    for number in range(4):
        documents = (RetrievedDocument("a", 1, f"退款 {number}", metadata={"page": number}),)
        rows.append(Interaction(question=f"q{number}", documents=documents, gold={"a": 2.0}))
        kept.append(rows[-1])
        assert kept[0] == rows[0]
    assert list(kept) == rows
    assert (kept[-1], kept[1:3]) == (rows[3], rows[1:3])
    with pytest.raises(IndexError):
        kept[4]
