"""An integration without its framework."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("extra", "package"),
    [
        ("langchain", "langchain_core"),
        ("llamaindex", "llama_index_instrumentation"),
        ("haystack", "haystack"),
    ],
)
def test_a_missing_framework_names_its_extra(extra: str, package: str) -> None:
    """The last line of the error says what to install."""
    program = f"import sys; sys.modules[{package!r}] = None; import ragtrace_integrations.{extra}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    said = done.stderr.strip().splitlines()[-1]
    assert f'ragtrace_integrations.{extra} needs an extra: pip install "ragtrace[{extra}]"' in said
