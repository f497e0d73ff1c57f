"""A user's own attribute mapping, read from YAML."""

from __future__ import annotations

from pathlib import Path

import yaml

from ragtrace.errors import ConfigError
from ragtrace.extract import AttributeMapping


def read_mapping(path: Path) -> AttributeMapping:
    """Read a mapping file.

    Raises:
        ConfigError: the file cannot be read, is no YAML, or has a key that no mapping has.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the mapping {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is no YAML: {error}") from error
    return AttributeMapping.from_dict(document)
