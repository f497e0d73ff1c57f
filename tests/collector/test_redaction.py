"""What a judge elsewhere gets to see."""

from __future__ import annotations

from ragtrace.model import Hop, Interaction, RetrievedDocument, Turn
from ragtrace.redact import Redactor
from ragtrace_collector.redaction import redacted

SECRET = "zhang.wei@example.com"


def test_every_text_is_redacted_alike_and_everything_else_is_kept() -> None:
    """Equal values get equal placeholders, so that a claim still matches its document."""
    document = RetrievedDocument("d1", 1, f"Write to {SECRET}.", score=0.5, metadata={"source": "kb"})
    interaction = Interaction(
        question=f"Who is {SECRET}?",
        rewritten_question=SECRET,
        history=(Turn(SECRET, SECRET), Turn("hello", None)),
        documents=(document,),
        hops=(Hop(SECRET, (document,), "02" * 8), Hop(None, None)),
        answer=f"Write to {SECRET} [1].",
        reference=SECRET,
        other_references=(SECRET,),
        trace_id="ab" * 16,
        entry_span_id="01" * 8,
    )
    seen = redacted(interaction, Redactor(key="k"))
    assert SECRET not in repr(seen)
    assert seen.answer is not None
    assert seen.documents is not None
    placeholder = seen.answer.removeprefix("Write to ").removesuffix(" [1].")
    assert seen.documents[0].text == f"Write to {placeholder}."
    assert (seen.documents[0].id, seen.documents[0].score, seen.documents[0].metadata) == (
        "d1",
        0.5,
        {"source": "kb"},
    )
    assert (seen.trace_id, seen.entry_span_id, seen.hops[0].span_id) == ("ab" * 16, "01" * 8, "02" * 8)


def test_what_is_not_there_stays_absent() -> None:
    """None and nothing retrieved are not confused."""
    empty = redacted(Interaction(documents=()), Redactor(key="k"))
    assert (empty.question, empty.documents, empty.answer) == (None, (), None)
    assert redacted(Interaction(), Redactor(key="k")).documents is None
