"""What a failed validation says of settings, in words for whoever wrote them."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ragtrace.errors import ConfigError, ConfigErrors, one_or_all

if TYPE_CHECKING:
    from pydantic import ValidationError

Loc = tuple[int | str, ...]
_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})


def wrong_settings(
    error: ValidationError, path: str = "", known: Callable[[Loc], Iterable[str]] = lambda _: ()
) -> list[ConfigError]:
    """All that ``error`` found below ``path``, in order; ``known`` gives the keys beside an unknown one."""
    return [told for found in error.errors() for told in _told(found, path, known)]


def unknown_key(name: str, known: Iterable[str], path: str) -> ConfigError:
    """The error for the key ``path``, whose last part is ``name``, where only ``known`` ones are allowed."""
    names = list(known)
    if near := difflib.get_close_matches(name, names, n=1):
        return ConfigError(f"unknown key; did you mean {near[0]}?", path)
    return ConfigError(f"unknown key; known: {', '.join(names)}" if names else "unknown key", path)


def check_keywords(make: Callable[..., Any], options: Iterable[str], path: str) -> None:
    """Whether ``make`` takes all ``options`` as keyword arguments, as far as its signature tells.

    Raises:
        ConfigError: it does not know some of them.
    """
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):
        return
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    known = [each.name for each in parameters if each.kind is not each.VAR_POSITIONAL]
    if wrong := [unknown_key(name, known, f"{path}.{name}") for name in options if name not in known]:
        raise one_or_all(wrong)


def _told(found: Any, path: str, known: Callable[[Loc], Iterable[str]]) -> list[ConfigError]:
    loc: Loc = found["loc"]
    where = _joined(path, *map(str, loc))
    if found["type"] in _UNKNOWN:
        return [unknown_key(str(loc[-1]), known(loc), where)]
    raised = found.get("ctx", {}).get("error")
    if isinstance(raised, ConfigErrors):
        return [ConfigError(each.message, _within(where, each.path)) for each in raised.errors]
    if isinstance(raised, ConfigError):
        return [ConfigError(raised.message, _within(where, raised.path))]
    return [ConfigError(str(found["msg"]).removeprefix("Value error, "), where)]


def _within(where: str, path: str) -> str:
    """The path that an error gave itself, put where it was found: ``export.1`` and ``export.cert`` are
    ``export.1.cert``."""
    top, _, rest = path.partition(".")
    return _joined(where, rest) if where.partition(".")[0] == top else _joined(where, path)


def _joined(*parts: str) -> str:
    return ".".join(part for part in parts if part)
