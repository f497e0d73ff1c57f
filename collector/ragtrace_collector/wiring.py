"""Parts that the settings name, built or described for the process that builds them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragtrace.errors import ConfigError
from ragtrace_collector.config import Config, Part
from ragtrace_collector.extensions import build
from ragtrace_collector.policies import BUILTIN, Policy
from ragtrace_collector.worker_messages import Bench, JudgeSetup, Setup


def build_rules(parts: Sequence[Part]) -> dict[str, Policy]:
    """Rules by name: their ``name``, or what they ``use``.

    Raises:
        ConfigError: a rule cannot be built, or two have one name.
    """
    rules: dict[str, Policy] = {}
    for index, part in enumerate(parts):
        path, options = f"sampling.rules.{index}", part.options
        name = str(options.pop("name", part.use))
        if name in rules:
            raise ConfigError(f"two rules are called {name!r}; give one a name", f"{path}.name")
        rules[name] = build(part.use, options, builtin=BUILTIN, path=path)
    return rules


def worker_setup(config: Config) -> Setup:
    """What the scoring worker shall be.

    Raises:
        ConfigError: the key file of the judge cannot be read.
    """
    options = config.judge.options
    if (file := options.pop("api_key_file", None)) is not None:
        options["api_key"] = _secret(Path(file))
    embedder = config.embedder or Part(use="embedded")
    judge = JudgeSetup(
        config.judge.use,
        options,
        embedder=None if embedder.use == "off" else embedder.use,
        embedder_options=embedder.options,
        redact=config.redacts,
    )
    judges = {Bench.JUDGE: judge}
    if config.screens:
        judges[Bench.SCREEN] = JudgeSetup("embedded")
    scoring = config.scoring
    return Setup(judges, scoring.metrics, scoring.language, scoring.concurrency)


def _secret(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}", "judge.api_key_file") from error
