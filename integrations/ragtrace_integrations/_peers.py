"""Is another instrumentation already recording this framework?

Where one is, the collector reads its spans, and a second set of ours would make two interactions of one. So
the integrations stand back for instrumentations that record content, unless the user says ``always=True``.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from types import ModuleType

_LOG = logging.getLogger("ragtrace")

PEERS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "langchain": (
        ("openinference.instrumentation.langchain", "LangChainInstrumentor"),
        ("opentelemetry.instrumentation.langchain", "LangchainInstrumentor"),
    ),
    "llamaindex": (
        ("openinference.instrumentation.llama_index", "LlamaIndexInstrumentor"),
        ("opentelemetry.instrumentation.llamaindex", "LlamaIndexInstrumentor"),
    ),
    "haystack": (
        ("openinference.instrumentation.haystack", "HaystackInstrumentor"),
        ("opentelemetry.instrumentation.haystack", "HaystackInstrumentor"),
    ),
    "openai": (
        ("openinference.instrumentation.openai", "OpenAIInstrumentor"),
        ("opentelemetry.instrumentation.openai", "OpenAIInstrumentor"),
    ),
}
"""Framework → (module, class) of instrumentations whose spans hold question, documents and answer."""

_said: set[str] = set()


def recording_peer(framework: str, modules: Mapping[str, ModuleType] = sys.modules) -> str | None:
    """The module of an instrumentation that is switched on for ``framework``; ``None`` where there is none.

    Only what is imported already is looked at, so that this costs a dictionary look-up.
    """
    for module, name in PEERS[framework]:
        instrumentor = getattr(modules.get(module), name, None)
        if instrumentor is not None and getattr(instrumentor(), "is_instrumented_by_opentelemetry", False):
            _say_once(framework, module)
            return module
    return None


def _say_once(framework: str, module: str) -> None:
    if framework not in _said:
        _said.add(framework)
        _LOG.info(
            "%s is recorded by %s, whose spans the collector reads; ragtrace adds none (always=True does)",
            framework,
            module,
        )
