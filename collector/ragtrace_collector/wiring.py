"""Parts that the settings name, built or described for the process that builds them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragtrace.errors import ConfigError, one_or_all
from ragtrace.redact import Redactor, named
from ragtrace_collector.config import Config, Part
from ragtrace_collector.extensions import build
from ragtrace_collector.policies import BUILTIN, Policy
from ragtrace_collector.privacy import Cleaner
from ragtrace_collector.settings import read_secret
from ragtrace_collector.worker_messages import Bench, JudgeSetup, Setup


def build_rules(parts: Sequence[Part]) -> dict[str, Policy]:
    """Rules by name: their ``name``, or what they ``use``.

    Raises:
        ConfigError: a rule cannot be built, or two have one name; told of all that cannot.
    """
    rules: dict[str, Policy] = {}
    wrong: list[ConfigError] = []
    for index, part in enumerate(parts):
        path, options = f"sampling.rules.{index}", part.options
        name = str(options.pop("name", part.use))
        if name in rules:
            wrong.append(ConfigError(f"two rules are called {name!r}; give one a name", f"{path}.name"))
            continue
        try:
            rules[name] = build(part.use, options, builtin=BUILTIN, path=path)
        except ConfigError as error:
            wrong.append(error)
    if wrong:
        raise one_or_all(wrong)
    return rules


def judge_options(part: Part) -> dict[str, Any]:
    """The options of a judge, its key read from the file that holds it.

    Raises:
        ConfigError: the file cannot be read, or is empty.
    """
    options = part.options
    if (file := options.pop("api_key_file", None)) is not None:
        options["api_key"] = read_secret(Path(file), "judge.api_key_file")
    return options


def worker_setup(config: Config) -> Setup:
    """What the scoring worker shall be.

    Raises:
        ConfigError: the key file of the judge cannot be read.
    """
    embedder = config.embedder or Part(use="embedded")
    judge = JudgeSetup(
        config.judge.use,
        judge_options(config.judge),
        embedder=None if embedder.use == "off" else embedder.use,
        embedder_options=embedder.options,
        redact=config.redacts,
    )
    judges = {Bench.JUDGE: judge}
    if config.screens:
        judges[Bench.SCREEN] = JudgeSetup("embedded")
    scoring = config.scoring
    return Setup(
        judges,
        scoring.metrics,
        scoring.language,
        scoring.concurrency,
        patterns=config.redaction.patterns,
        local_only=config.privacy == "local_only",
        mapping=config.attribute_mapping,
        thresholds=config.diagnosis.in_force,
    )


def cleaner(config: Config) -> Cleaner | None:
    """What redacts requests at intake; ``None`` where it is switched off."""
    redaction = config.redaction
    if not redaction.intake:
        return None
    key = redaction.key.get_secret_value() if redaction.key else secrets.token_hex()
    mapped = config.attribute_mapping.attribute_names if config.attribute_mapping else ()
    return Cleaner(Redactor(key=key, more=named(redaction.patterns)), (*redaction.keys, *mapped))


def intake_token(config: Config) -> str | None:
    """What senders must show; ``None`` = nothing.

    Raises:
        ConfigError: its file cannot be read, or is empty.
    """
    if config.otlp.token_file is not None:
        return read_secret(config.otlp.token_file, "otlp.token_file")
    return config.otlp.token.get_secret_value() if config.otlp.token else None
