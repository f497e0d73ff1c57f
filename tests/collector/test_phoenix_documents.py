"""What a real Phoenix understands of the hooks' spans: its own interface tells their documents."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

import ragtrace
from ragtrace import _steps
from ragtrace.errors import MissingExtra
from ragtrace_collector.demo.phoenix import phoenix

pytestmark = pytest.mark.slow

FOUND: list[dict[str, Any]] = [
    {
        "id": "kb-1",
        "text": "退款在3个工作日内到账。",
        "score": 0.9,
        "metadata": {"source": "退款.md", "page": 3},
    },
    {"id": "kb-2", "text": "Returns within 30 days.", "score": 0.5, "metadata": {"source": "returns.md"}},
]


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A Phoenix that the hooks' spans go to."""
    try:
        with phoenix(tmp_path) as url:
            provider = TracerProvider()
            provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{url}/v1/traces")))
            _steps.use_provider(provider)
            yield url
            _steps.use_provider(None)
    except MissingExtra as missing:
        pytest.skip(str(missing))


def spans(url: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{url}/v1/projects/default/spans?limit=100", timeout=30) as response:
        found: list[dict[str, Any]] = json.load(response)["data"]
    return found


def test_phoenix_tells_each_document_with_its_metadata(url: str) -> None:
    """Ids, texts, scores and metadata of a retrieval by the hooks, under the names that Phoenix itself gives them."""
    ragtrace.retriever(lambda question: FOUND, name="search")("退款多久到账？")
    found: list[dict[str, Any]] = []
    for _ in range(2_000):  # Phoenix stores what it took in batches, and tells nobody when
        found = spans(url)
        if found:
            break
    (span,) = found
    assert span["span_kind"] == "RETRIEVER"
    told = span["attributes"]
    for index, document in enumerate(FOUND):
        prefix = f"retrieval.documents.{index}.document"
        assert told[f"{prefix}.id"] == document["id"]
        assert told[f"{prefix}.content"] == document["text"]
        assert told[f"{prefix}.score"] == document["score"]
        for key, value in document["metadata"].items():
            assert told[f"{prefix}.metadata.{key}"] == value
