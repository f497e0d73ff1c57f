"""Why a trace was or was not scored, from a file and from a running collector."""

from __future__ import annotations

import asyncio
import string
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from collector.collector_rig import backend, running

from ragtrace.extract import interactions
from ragtrace.model import SpanRecord
from ragtrace.testing import make_trace
from ragtrace_collector import otlp
from ragtrace_collector.cli import run
from ragtrace_collector.stages import ReleaseReason, Verb
from ragtrace_collector.views.doctor import from_spans, from_story
from ragtrace_collector.words.doctor import FIELDS, PHRASES, RELEASE, STATES, VERBS
from ragtrace_collector.words.language import language_of

TRACE = make_trace()[0].trace_id


def words(lines: list[str]) -> str:
    return "\n".join(lines)


def test_a_file_with_a_whole_interaction_says_where_its_fields_are() -> None:
    """Dialect, fields with their places, nothing missing."""
    told = words(from_spans(make_trace(), interactions(make_trace())))
    assert "question ✓ documents ✓ answer ✓" in told
    assert "documents: 1 from retrieve:" in told


def test_a_retriever_without_documents_is_named_with_its_remedy() -> None:
    """The field that is missing, and what to do about it."""
    spans = [
        SpanRecord(s.trace_id, s.span_id, s.parent_id, s.name, scope=s.scope, attributes={
            key: value for key, value in s.attributes.items() if not key.startswith("retrieval.documents")
        }, start_ns=s.start_ns, end_ns=s.end_ns)
        for s in make_trace()
    ]  # fmt: skip
    told = words(from_spans(spans, interactions(spans)))
    assert "documents ✗" in told
    assert "missing: documents" in told


def test_a_plain_trace_says_so() -> None:
    """No span carries attributes of RAG."""
    told = words(from_spans([SpanRecord("ab" * 16, "01" * 8, None, "GET /")], []))
    assert "spans: 1, of RAG: 0" in told
    assert "none of its spans" in told


def test_a_trace_that_was_never_seen() -> None:
    """Two reasons are offered, none is claimed."""
    assert "not seen" in words(from_story({"trace_id": TRACE, "seen": False}))


def released(interaction: dict[str, Any]) -> dict[str, Any]:
    """The story of a trace whose one interaction was released by its entry, 2.1 s after it came."""
    came = {"entry_span_id": "01" * 8, "complete_after_seconds": 2.1, "release_reason": "entry"}
    story = {"trace_id": TRACE, "seen": True, "rag_spans": 3, "state": "released"}
    return story | {"interactions": [came | interaction]}


def test_a_trace_that_is_still_held() -> None:
    """It is said what it waits for."""
    story = {"trace_id": TRACE, "seen": True, "rag_spans": 1, "state": "held", "interactions": []}
    assert "still held" in words(from_story(story))


def test_a_trace_that_was_passed_by() -> None:
    """Nobody looked at its spans, and that is what is said."""
    decision = {"verb": "forward", "probability": 0.99, "rule": "share"}
    story = {"trace_id": TRACE, "seen": True, "rag_spans": None, "state": "forwarded", "decision": decision}
    told = words(from_story(story | {"interactions": []}))
    assert "forwarded unread" in told
    assert "by share, with probability 0.99" in told


def test_an_interaction_tells_its_decision_and_every_status() -> None:
    """Scores on one line, each reason for a missing one on its own."""
    told = words(
        from_story(
            released(
                {
                    "fields": {"question": True, "documents": False, "answer": True},
                    "explained": ["dialect: openinference-langchain"],
                    "decision": {"verb": "judge", "probability": 0.05, "rule": "share"},
                    "outcomes": {
                        "citation_presence": {"status": "scored", "value": 0.5},
                        "faithfulness": {"status": "not_applicable", "reason": "documents_not_recorded"},
                    },
                    "diagnosis": "undetermined",
                }
            )
        )
    )
    for part in (
        "complete after 2.1 s",
        "question ✓ documents ✗ answer ✓",
        "dialect: openinference-langchain",
        "judged: by share, with probability 0.05",
        "citation_presence 0.50",
        "not_applicable (documents_not_recorded): faithfulness",
        "diagnosis: undetermined",
    ):
        assert part in told


async def test_a_running_collector_is_asked(judges: Path) -> None:
    """Exit code 0 for a trace that it knows, 1 for one that it does not."""
    async with backend() as behind, running(behind) as rig:
        await rig.post(otlp.join(otlp.encode_span(span) for span in make_trace()))
        await behind.until(lambda b: len(b.spans) == 3)
        admin = f"127.0.0.1:{rig.running.admin}"
        assert await asyncio.to_thread(run, ["doctor", TRACE, "--admin", admin]) == 0
        assert await asyncio.to_thread(run, ["doctor", "0" * 32, "--admin", admin]) == 1


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ("xyz", "xyz is neither a file nor a trace id: a trace id has 32 hex digits, this has 3 characters"),
        ("missing.jsonl", "no such file: missing.jsonl"),
        (".", ". is a folder"),
        ("4bf92f3577b34da6", "that is a span id"),
        ("4bf92f35-77b3-4da6-a3ce-929d0e0e4736", "no collector answers at http://127.0.0.1:9"),
    ],
)
def test_each_trouble_says_what_it_is_and_what_to_do(
    subject: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2; a trace id is known with dashes too, as some backends show it."""
    assert run(["doctor", subject, "--lang", "en", "--admin", "127.0.0.1:9"]) == 2
    assert said in capsys.readouterr().err


def test_a_file_without_spans_says_how_to_get_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of an evaluation set are no spans."""
    (tmp_path / "rows.jsonl").write_text('{"question": "q", "answer": "a"}\n')
    assert run(["doctor", str(tmp_path / "rows.jsonl"), "--lang", "en"]) == 0
    assert "ragtrace collector --out FILE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LC_ALL": "en_US.UTF-8", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"LC_ALL": "", "LANG": "zh_TW"}, "zh"),
        ({}, "en"),
    ],
)
def test_the_locale_chooses_the_language(environment: dict[str, str], language: str) -> None:
    """As POSIX orders them; without one it is English."""
    assert language_of(environment) == language


def test_chinese_throughout() -> None:
    """Every line of a failed interaction, of a trace that was not seen and of one that waits is Chinese."""
    spans = [replace(s, attributes={"openinference.span.kind": "CHAIN"}) for s in make_trace()[:1]]
    assert "没有交互" in words(from_spans(spans, [], "zh"))
    told = words(from_spans(make_trace(), interactions(make_trace()), "zh"))
    assert "问题 ✓ 文档 ✓ 回答 ✓" in told
    assert "文档：1 篇，来自 retrieve:" in told
    assert "未收到" in words(from_story({"trace_id": TRACE, "seen": False}, "zh"))
    held = {"trace_id": TRACE, "seen": True, "rag_spans": 1, "state": "held", "interactions": []}
    assert "仍在等待" in words(from_story(held, "zh"))


def test_chinese_has_its_own_punctuation_and_reasons() -> None:
    """No half-width colon between Chinese words, no code in place of a reason."""
    told = from_story(
        released(
            {
                "decision": {"verb": "judge", "probability": 1.0, "rule": "share"},
                "outcomes": {
                    "citation_correctness": {"status": "not_applicable", "reason": "no_citations"},
                    "citation_coverage": {"status": "not_applicable", "reason": "no_citations"},
                },
                "diagnosis": "ok",
            }
        ),
        "zh",
    )
    assert "    已评判：规则 share，概率 1" in told
    assert "    不适用（没有引用标记）：引用、引用覆盖" in told
    assert "诊断：正常" in words(told)
    assert "埋点格式：" in words(from_spans(make_trace(), interactions(make_trace()), "zh"))


def test_every_phrase_is_there_in_both_languages() -> None:
    """One table, complete, with the same values in either language."""
    fields = string.Formatter()
    for table in (PHRASES, RELEASE, VERBS, STATES, FIELDS):
        for key, phrase in table.items():
            named = {
                language: {name for _, name, _, _ in fields.parse(text) if name}
                for language, text in phrase.items()
            }
            assert set(phrase) == {"en", "zh"}, key
            assert named["en"] == named["zh"], key
    assert set(RELEASE) == {reason.value for reason in ReleaseReason}
    assert set(VERBS) == {verb.value for verb in Verb}
