"""Reads the settings: arguments > environment > file > defaults, once, unknown keys refused.

The file is YAML; ``${NAME}`` in its texts is replaced by the environment variable, so that secrets need not
stand in it. The environment's own settings are ``RAGTRACE_COLLECTOR_<KEY>``, nested keys joined by two
underscores (``RAGTRACE_COLLECTOR_OTLP__GRPC=off``), values written as in YAML.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import yaml
from pydantic import ValidationError

from ragtrace.errors import ConfigError
from ragtrace_collector.config import Config

ENVIRONMENT_PREFIX = "RAGTRACE_COLLECTOR_"
_REFERENCE = re.compile(r"\$\{(\w+)\}")
_MASK = "**********"
_SECRETS = frozenset({"key", "token", "secret", "password"})


def load(
    file: Path | None = None,
    arguments: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Config:
    """Read the settings.

    Args:
        file: YAML.
        arguments: settings that win over all, nested as in the file; without those that were not given.
        environment: by default the process's.

    Raises:
        ConfigError: the file cannot be read, a key is unknown, a value is wrong; with the path of the key.
    """
    environment = os.environ if environment is None else environment
    layers = (_from_file(file, environment), _from_environment(environment), dict(arguments or {}))
    settings: dict[str, Any] = {}
    for layer in layers:
        settings = _merged(settings, layer)
    try:
        return Config.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        raise ConfigError(_in_words(first["type"], first["msg"]), path) from None


def as_yaml(config: Config) -> str:
    """The settings in force, secrets masked, in the form that :func:`load` reads."""
    shown = config.model_dump(mode="json")
    shown["sampling"]["share"] = config.share
    shown["scoring"] |= {
        "deadline": config.deadline,
        "max_pending": config.max_pending,
        "redact": config.redacts,
    }
    for part in ("judge", "embedder"):
        shown[part] = shown[part] and _masked(shown[part])
    for destination in shown["export"]:
        destination["headers"] = dict.fromkeys(destination["headers"], _MASK)
        destination["url"] = _without_credentials(destination["url"])
    shown["spool"]["dir"] = str(config.spool.folder() or "off")
    for section, keys in ((shown, ("admin",)), (shown["otlp"], ("grpc", "http"))):
        for key in keys:
            section[key] = section[key] or "off"
    return yaml.safe_dump(shown, allow_unicode=True, sort_keys=False)


def _from_file(file: Path | None, environment: Mapping[str, str]) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{file} is no YAML: {' '.join(str(error).split())}") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigError(f"{file} holds no settings by name")
    expanded: dict[str, Any] = _expanded(found, environment, "")
    return expanded


def _expanded(value: Any, environment: Mapping[str, str], path: str) -> Any:
    """``value`` with each ``${NAME}`` in its texts replaced by the environment variable."""
    if isinstance(value, dict):
        return {key: _expanded(one, environment, f"{path}.{key}".lstrip(".")) for key, one in value.items()}
    if isinstance(value, list):
        return [_expanded(one, environment, f"{path}.{index}") for index, one in enumerate(value)]
    if not isinstance(value, str):
        return value

    def variable(match: re.Match[str]) -> str:
        if match[1] not in environment:
            raise ConfigError(f"the environment has no {match[1]}", path)
        return environment[match[1]]

    return _REFERENCE.sub(variable, value)


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for name, text in environment.items():
        if not name.startswith(ENVIRONMENT_PREFIX):
            continue
        *parents, key = name.removeprefix(ENVIRONMENT_PREFIX).lower().split("__")
        try:
            value: Any = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ConfigError(f"{name} is no YAML value") from error
        for parent in reversed([*parents, key]):
            value = {parent: value}
        settings = _merged(settings, value)
    return settings


def _merged(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """``above`` over ``below``, mappings key by key. Another ``use`` leaves no options of the former part."""
    if "use" in above and above["use"] != below.get("use", above["use"]):
        return dict(above)
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, Mapping) else value
    return merged


def _in_words(kind: str, message: str) -> str:
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return "unknown key"
    return message.removeprefix("Value error, ")


def _without_credentials(url: str) -> str:
    """``url`` with user, password and the values of its query masked."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    netloc = f"{_MASK}@{host}" if host != parts.netloc else host
    query = "&".join(f"{pair.partition('=')[0]}={_MASK}" for pair in parts.query.split("&") if pair)
    return urlunsplit((parts.scheme, netloc, parts.path, query, ""))


def _masked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a part, of whose names ours know nothing: those that sound secret are masked."""
    return {
        key: _MASK if value is not None and key.lower().rpartition("_")[2] in _SECRETS else value
        for key, value in options.items()
    }
