"""Parts that the settings name, checked before anything is started: judge, embedder, rules, metrics.

Nothing is built that calls anyone or loads a user's own judge: that one is checked where it is built, in the
scoring worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from ragtrace import judges
from ragtrace.errors import ConfigError
from ragtrace.wrong_settings import check_keywords
from ragtrace_collector.config import JudgePart, Part
from ragtrace_collector.wiring import build_rules, judge_options

Read = TypeVar("Read")

_JUDGE: TypeAdapter[Part] = TypeAdapter(JudgePart)
_EMBEDDER: TypeAdapter[Part] = TypeAdapter(Part)
_RULES: TypeAdapter[tuple[Part, ...]] = TypeAdapter(tuple[Part, ...])
_METRICS: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])
_EMBEDDERS = ("embedded", "openai", "off")


def wrong_parts(settings: Mapping[str, Any]) -> list[ConfigError]:
    """All that is wrong with the parts of ``settings``, nested as in the file. A part that is none at all (no
    mapping, no ``use``) is left to the validation of the whole."""
    found = list(_wrong(_judge, _read(_JUDGE, settings.get("judge"))))
    found += _wrong(_embedder, _read(_EMBEDDER, settings.get("embedder")))
    found += _wrong(build_rules, _read(_RULES, _below(settings, "sampling", "rules")))
    found += _wrong(_metrics, _read(_METRICS, _below(settings, "scoring", "metrics")))
    return found


def _wrong(check: Callable[[Read], object], part: Read | None) -> Iterator[ConfigError]:
    if part is not None:
        try:
            check(part)
        except ConfigError as error:
            yield error


def _read(kind: TypeAdapter[Read], value: object) -> Read | None:
    try:
        return None if value is None else kind.validate_python(value)
    except ValidationError:
        return None


def _below(settings: Mapping[str, Any], section: str, key: str) -> object:
    found = settings.get(section)
    return found.get(key) if isinstance(found, Mapping) else None


def _judge(part: Part) -> None:
    judges.check(part.use, judge_options(part))


def _embedder(part: Part) -> None:
    if part.use not in _EMBEDDERS:
        raise ConfigError(f"{part.use!r} is none of {', '.join(_EMBEDDERS)}", "embedder.use")
    if part.use == "openai":
        from ragtrace.embedders.openai import OpenAIEmbedder

        check_keywords(OpenAIEmbedder, part.options, "embedder")


def _metrics(names: tuple[str, ...]) -> None:
    from ragtrace.metrics import by_name

    try:
        by_name(name for name in names if ":" not in name)
    except ConfigError as error:
        raise ConfigError(error.message, "scoring.metrics") from None
