"""A user's own attribute mapping, read from YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ragtrace.errors import ConfigError
from ragtrace.extract import AttributeMapping


def read_mapping(path: Path) -> AttributeMapping:
    """Read a mapping file.

    Raises:
        ConfigError: the file cannot be read, is no YAML, or has a key that no mapping has.
    """
    return AttributeMapping.from_dict(read_document(path))


def read_document(path: Path) -> Any:
    """What a mapping file holds.

    Raises:
        ConfigError: the file cannot be read, or is no YAML.
    """
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8"
        raise ConfigError(f"cannot read the mapping {path}: {reason}", "mapping") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is no YAML: {error}", "mapping") from error
