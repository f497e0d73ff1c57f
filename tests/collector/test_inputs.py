"""Files of every form are read together, and what cannot be read is named."""

import gzip
import json
from pathlib import Path

import pytest

from ragtrace_collector import otlp
from ragtrace_collector.inputs import Inputs


def spans_request(question: str, trace: str = "ab" * 16) -> dict[str, object]:
    def attribute(key: str, value: str) -> dict[str, object]:
        return {"key": key, "value": {"stringValue": value}}

    def span(
        span_id: str, parent: str, kind: str, name: str, *attributes: dict[str, object]
    ) -> dict[str, object]:
        return {
            "traceId": trace,
            "spanId": span_id,
            "parentSpanId": parent,
            "name": name,
            "attributes": [attribute("openinference.span.kind", kind), *attributes],
        }

    return {
        "resourceSpans": [
            {
                "resource": {},
                "scopeSpans": [
                    {
                        "scope": {"name": "app"},
                        "spans": [
                            span(
                                "02" * 8,
                                "01" * 8,
                                "RETRIEVER",
                                "search",
                                attribute("input.value", question),
                                attribute("retrieval.documents.0.document.content", "the document"),
                                attribute("retrieval.documents.0.document.id", "d1"),
                            ),
                            span(
                                "01" * 8,
                                "",
                                "CHAIN",
                                "ask",
                                attribute("input.value", question),
                                attribute("output.value", "the answer"),
                            ),
                        ],
                    }
                ],
            }
        ]
    }


def read(*paths: Path) -> Inputs:
    inputs = Inputs()
    for path in paths:
        inputs.read(path)
    return inputs


def questions(inputs: Inputs) -> list[str | None]:
    return [interaction.question for interaction in inputs.interactions()]


def test_otlp_json_protobuf_gzip_and_rows_are_told_apart(tmp_path: Path) -> None:
    """Content decides, not the file's name; the order is that of the input."""
    request = spans_request("one?")
    (tmp_path / "a").write_text(json.dumps(request))
    (tmp_path / "b").write_bytes(otlp.trace_request_from_json(spans_request("two?", "cd" * 16)))
    (tmp_path / "c").write_bytes(gzip.compress(json.dumps(spans_request("three?", "ef" * 16)).encode()))
    (tmp_path / "d").write_text(json.dumps({"question": "four?", "contexts": ["x"], "answer": "y"}) + "\n")
    inputs = read(*(tmp_path / name for name in "abcd"))
    assert not inputs.problems
    assert sorted(map(str, questions(inputs))) == ["four?", "one?", "three?", "two?"]


def test_input_order_is_kept_over_rows_and_traces(tmp_path: Path) -> None:
    """Rows and traces come out in the order of their lines."""
    lines = [{"question": "1?"}, spans_request("2?"), {"question": "3?"}]
    (tmp_path / "a").write_text("\n".join(map(json.dumps, lines)))
    assert questions(read(tmp_path / "a")) == ["1?", "2?", "3?"]


def test_one_trace_over_two_files_is_one_interaction(tmp_path: Path) -> None:
    """Batches of one trace are read together, wherever they were written."""
    request = spans_request("q?")
    spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"]  # type: ignore[index]
    for name, part in (("a", spans[:1]), ("b", spans[1:])):
        one = {"resourceSpans": [{"scopeSpans": [{"spans": part}]}]}
        (tmp_path / name).write_text(json.dumps(one))
    (interaction,) = read(tmp_path / "a", tmp_path / "b").interactions()
    assert (interaction.question, interaction.answer) == ("q?", "the answer")
    assert [document.id for document in interaction.documents or ()] == ["d1"]


def test_a_document_over_many_lines_and_an_array_of_rows(tmp_path: Path) -> None:
    """Pretty-printed files are read like compact ones."""
    (tmp_path / "a").write_text(json.dumps(spans_request("q?"), indent=2))
    (tmp_path / "b").write_text(json.dumps([{"question": "r?"}, {"question": "s?"}], indent=2))
    assert questions(read(tmp_path / "a", tmp_path / "b")) == ["q?", "r?", "s?"]


def test_a_bad_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    """File, line and reason; nothing else is lost."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "1?"}\n{"question": \n[1, 2]\n{"foo": 1}\n\n{"question": "2?"}\n')
    inputs = read(path)
    assert questions(inputs) == ["1?", "2?"]
    places = [(problem.source, problem.line) for problem in inputs.problems]
    assert places == [(str(path), 2), (str(path), 3), (str(path), 3), (str(path), 4)]
    assert str(inputs.problems[0]).startswith(f"{path}:2: not JSON")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b"\xff\xfe\x00garbage", "neither JSON nor OTLP"),
        (b'{"question": "\xff"}', "not UTF-8"),
        (b"\x1f\x8bnot gzip", ""),
    ],
)
def test_an_unreadable_file_is_a_problem(tmp_path: Path, body: bytes, reason: str) -> None:
    """No content of any kind raises."""
    (tmp_path / "a").write_bytes(body)
    (problem,) = read(tmp_path / "a").problems
    assert reason in problem.reason


def test_a_missing_file_is_a_problem(tmp_path: Path) -> None:
    """The system's own words say why."""
    (problem,) = read(tmp_path / "nowhere").problems
    assert problem.reason == "No such file or directory"


def test_a_lone_surrogate_costs_only_itself(tmp_path: Path) -> None:
    """A character that can be written nowhere does not stop the file."""
    (tmp_path / "a").write_text('{"question": "q\\ud800?"}\n{"question": "r?"}\n')
    first, second = questions(read(tmp_path / "a"))
    assert first is not None
    first.encode()
    assert second == "r?"


def test_deep_nesting_and_foreign_bytes_cost_their_own_line(tmp_path: Path) -> None:
    """Each bad line is named; the line behind it is read."""
    (tmp_path / "a").write_bytes(b"[" * 100_000 + b'\n{"question": "caf\xe9"}\n{"question": "r?"}\n')
    inputs = read(tmp_path / "a")
    assert questions(inputs) == ["r?"]
    assert [(p.line, p.reason.split(";")[0]) for p in inputs.problems] == [
        (1, "not JSON: nested too deeply"),
        (2, "not UTF-8"),
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_files_with_a_byte_order_mark_are_read(tmp_path: Path, encoding: str) -> None:
    """Files from Windows need no conversion."""
    (tmp_path / "a").write_text('{"question": "退款？"}\n', encoding=encoding)
    assert questions(read(tmp_path / "a")) == ["退款？"]


def test_csv_by_mistake_is_told_what_to_do(tmp_path: Path) -> None:
    """The reason speaks of what the user has, not of protobuf."""
    (tmp_path / "a").write_text("question,answer\nq,a\n")
    (problem,) = read(tmp_path / "a").problems
    assert "CSV" in problem.reason
