"""The examples of the framework integrations, run as a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["langchain_app", "llamaindex_app", "haystack_app", "openai_client"])
def test_an_example_runs_and_records_one_interaction(name, fake_openai):
    """It prints an answer and exports a retrieval and a generation below one interaction."""
    environment = {
        **os.environ,
        "OTEL_TRACES_EXPORTER": "console",
        "OPENAI_BASE_URL": fake_openai.base_url,
        "OPENAI_API_KEY": "none",
    }
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "How long do refunds take?"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    exported = done.stdout
    assert exported.count('"ragtrace.kind": "interaction"') == 1
    for kind in ("RETRIEVER", "LLM"):
        assert exported.count(f'"openinference.span.kind": "{kind}"') == 1
    assert exported.count('"input.value": "How long do refunds take?"') == 2
