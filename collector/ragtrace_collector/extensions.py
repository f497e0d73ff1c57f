"""Parts named in the config: ``use: error`` or ``use: my_pkg.mod:Class`` → an instance.

A part is a frozen dataclass whose fields are its options.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any

from ragtrace.errors import ConfigError, one_or_all
from ragtrace.wrong_settings import unknown_key, wrong_settings


def build(use: str, options: Mapping[str, Any], *, builtin: Mapping[str, str], path: str) -> Any:
    """Make the part that ``use`` names, with ``options`` checked against its fields.

    ``builtin`` maps short names to import paths, ``path`` is where the part stands in the config.

    Raises:
        ConfigError: no such part, an option that it does not have, lacks or cannot take.
    """
    import pydantic

    kind = _find(use, builtin, path)
    names = [field.name for field in dataclasses.fields(kind)]
    wrong = [unknown_key(name, names, f"{path}.{name}") for name in options if name not in names]
    try:
        made = pydantic.TypeAdapter(kind).validate_python(
            {name: value for name, value in options.items() if name in names}, strict=False
        )
    except pydantic.ValidationError as error:
        raise one_or_all([*wrong, *wrong_settings(error, path)]) from None
    if wrong:
        raise one_or_all(wrong)
    return made


def _find(use: str, builtin: Mapping[str, str], path: str) -> type[Any]:
    target = builtin.get(use, use)
    module_name, colon, name = target.partition(":")
    if not colon:
        known = ", ".join(sorted(builtin))
        raise ConfigError(f"{use!r} is neither one of {known} nor a path my_pkg.mod:Class", f"{path}.use")
    try:
        kind = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"cannot load {target!r}: {error}", f"{path}.use") from error
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        raise ConfigError(f"{target!r} is no dataclass", f"{path}.use")
    return kind
