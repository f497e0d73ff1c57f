"""What ``import ragtrace`` loads, and what it offers."""

from __future__ import annotations

import json
import subprocess
import sys

import ragtrace

PUBLIC = {
    *("configure", "trace", "retriever", "reranker", "generator"),
    *("start_interaction", "start_retrieval", "start_generation"),
    *("record_question", "record_rewritten_question", "record_history", "record_documents", "record_answer"),
    *("record_reference", "record_gold", "record_citations", "record_feedback", "record_session"),
}


def test_importing_loads_the_standard_library_and_the_opentelemetry_api_only() -> None:
    """A user's app pays for nothing that it does not use; the API's own needs are the API's."""
    code = (
        "import sys, json, opentelemetry.trace, opentelemetry.context; before = set(sys.modules);"
        "import ragtrace; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    roots = {name.partition(".")[0] for name in loaded}
    assert roots - set(sys.stdlib_module_names) <= {"ragtrace", "opentelemetry"}
    assert not [name for name in loaded if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))]


def test_the_public_names_are_these() -> None:
    """A name that comes or goes is a decision."""
    assert set(ragtrace.__all__) == PUBLIC
    assert all(hasattr(ragtrace, name) for name in PUBLIC)


def test_lazy_names_are_there_when_asked_for() -> None:
    """Each one that dir() shows can be had."""
    assert callable(ragtrace.hit_at_k)
    assert "evaluate" in dir(ragtrace)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As of any module."""
    assert not hasattr(ragtrace, "no_such_name")
