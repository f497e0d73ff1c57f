"""Reads the settings: arguments > environment > file > defaults, once, unknown keys refused.

The file is YAML; ``${NAME}`` (or ``${env:NAME}``) in its texts is replaced by the environment variable, and
``${file:PATH}`` by what a file holds, so that secrets need not stand in it. The environment's own settings
are ``RAGTRACE_COLLECTOR_<KEY>``, nested keys joined by two underscores
(``RAGTRACE_COLLECTOR_OTLP__GRPC=off``), values written as in YAML.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import yaml
from pydantic import BaseModel, ValidationError

from ragtrace.errors import ConfigError, one_or_all
from ragtrace.redact import MASK, without_credentials
from ragtrace.wrong_settings import wrong_settings
from ragtrace_collector.config import Config

ENVIRONMENT_PREFIX = "RAGTRACE_COLLECTOR_"
_REFERENCE = re.compile(r"\$\{(?:file:(?P<file>[^}]+)|(?:env:)?(?P<name>\w+))\}")
_SECRETS = frozenset(
    {"key", "apikey", "token", "secret", "password", "authorization", "credential", "credentials"}
)


def load(
    file: Path | None = None,
    arguments: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    parts: Callable[[Mapping[str, Any]], Sequence[ConfigError]] = lambda _: (),
) -> Config:
    """Read the settings.

    Args:
        file: YAML.
        arguments: settings that win over all, nested as in the file; without those that were not given.
        environment: by default the process's.
        parts: what is wrong with the parts that the settings name, told with all else that is.

    Raises:
        ConfigError: the file cannot be read, a key is unknown, a value is wrong; with the path of the key.
            Of keys and values, all that are wrong are told.
    """
    environment = os.environ if environment is None else environment
    layers = (_from_file(file, environment), _from_environment(environment), dict(arguments or {}))
    settings: dict[str, Any] = {}
    for layer in layers:
        settings = _merged(settings, layer)
    wrong = list(parts(settings))
    try:
        config = Config.model_validate(settings)
    except ValidationError as error:
        raise one_or_all([*wrong_settings(error, known=keys_beside), *wrong]) from None
    if wrong:
        raise one_or_all(wrong)
    return config


def keys_beside(loc: Sequence[int | str]) -> list[str]:
    """The keys that are allowed where the last of ``loc`` stands; none where nothing is known of it."""
    kind: object = Config
    for part in loc[:-1]:
        kind = kind if isinstance(part, int) else _kinds(kind).get(part)
    return list(_kinds(kind))


def _kinds(annotation: object) -> dict[str, object]:
    """Key → type of the settings' section that ``annotation`` holds, in whatever wrapping."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {name: found.annotation for name, found in annotation.model_fields.items()}
    if isinstance(annotation, type) and is_dataclass(annotation):
        hints = get_type_hints(annotation)
        return {each.name: hints[each.name] for each in fields(annotation) if each.init}
    return next((kinds for inner in get_args(annotation) if (kinds := _kinds(inner))), {})


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
        destination["headers"] = dict.fromkeys(destination["headers"], MASK)
        destination["url"] = without_credentials(destination["url"])
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
        raise ConfigError(f"{file} is no YAML: {_where(error)}") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigError(f"{file} holds no settings by name")
    wrong: list[ConfigError] = []
    expanded: dict[str, Any] = _expanded(found, environment, "", wrong)
    if wrong:
        raise one_or_all(wrong)
    return expanded


def _where(error: yaml.YAMLError) -> str:
    """What is wrong, and where. The parser's own words quote the line, which may hold a secret."""
    mark = getattr(error, "problem_mark", None)
    place = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"{getattr(error, 'problem', None) or 'it cannot be read'}{place}"


def _expanded(value: Any, environment: Mapping[str, str], path: str, wrong: list[ConfigError]) -> Any:
    """``value`` with each ``${NAME}`` and ``${file:PATH}`` in its texts replaced by what it stands for; what
    stands for nothing is added to ``wrong``."""
    if isinstance(value, dict):
        return {k: _expanded(one, environment, f"{path}.{k}".lstrip("."), wrong) for k, one in value.items()}
    if isinstance(value, list):
        return [_expanded(one, environment, f"{path}.{index}", wrong) for index, one in enumerate(value)]
    if not isinstance(value, str):
        return value

    def meant(match: re.Match[str]) -> str:
        if match["file"]:
            return read_secret(Path(match["file"]), path)
        if match["name"] not in environment:
            raise ConfigError(f"the environment has no {match['name']}", path)
        return environment[match["name"]]

    try:
        return _REFERENCE.sub(meant, value)
    except ConfigError as error:
        wrong.append(error)
        return value


def read_secret(file: Path, path: str) -> str:
    """What a file holds, without the white space around it.

    Raises:
        ConfigError: it cannot be read, or is empty; ``path`` is the setting that names it.
    """
    try:
        found = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise ConfigError(f"cannot read {file}: {why}", path) from None
    if not found:
        raise ConfigError(f"{file} is empty", path)
    return found


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


def _masked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a part, of whose names ours know nothing: what sounds secret is masked, at any depth."""
    return {key: _masked_option(key, value) for key, value in options.items()}


def _masked_option(name: str, value: Any) -> Any:
    words = re.split(r"[^a-z]+", name.lower())
    if isinstance(value, Mapping):
        return dict.fromkeys(value, MASK) if "headers" in words else _masked(value)
    if value is not None and words[-1] in _SECRETS:
        return MASK
    return without_credentials(value) if isinstance(value, str) and "://" in value else value
