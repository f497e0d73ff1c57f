"""The hooks' settings: arguments over environment over defaults, read once.

====================  ========================  =========================================================
argument              environment               meaning, default
====================  ========================  =========================================================
``capture_content``   RAGTRACE_CAPTURE_CONTENT  write texts at all; ``true``
``redact``            RAGTRACE_REDACT           mask emails, phones, ids, keys, cards; ``false``
``redact_key``        RAGTRACE_REDACT_KEY       secret under which equal values get equal placeholders in
                                                several processes; random for each process
``max_text_length``   RAGTRACE_MAX_TEXT_LENGTH  characters of one text that are written; 200000, 0 = all
``enabled``           RAGTRACE_ENABLED          ``false`` turns every hook into a plain call; ``true``
====================  ========================  =========================================================

What OpenTelemetry has a variable for is read from there: OTEL_SERVICE_NAME, OTEL_EXPORTER_OTLP_ENDPOINT,
OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_HEADERS,
OTEL_TRACES_EXPORTER, OTEL_SDK_DISABLED, OTEL_(SPAN_)ATTRIBUTE_COUNT_LIMIT,
OTEL_(SPAN_)ATTRIBUTE_VALUE_LENGTH_LIMIT.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from ragtrace.errors import ConfigError
from ragtrace.redact import Redactor

DEFAULT_MAX_TEXT_LENGTH = 200_000
DEFAULT_ATTRIBUTE_LIMIT = 128
"""OpenTelemetry's own default for the attributes of a span."""

DEFAULT_QUEUE_SIZE = 2_048

_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off", ""})


@dataclass(frozen=True, slots=True)
class Settings:
    """What the hooks write, and how much of it.

    ``redactor`` is ``None`` when redaction is off. ``max_text_length`` is in characters, ``None`` = no limit.
    ``attribute_limit`` is the number of attributes that a span keeps where the span itself does not say;
    ``value_limit`` the characters of one attribute that the SDK keeps, ``None`` = all.
    """

    capture_content: bool = True
    redactor: Redactor | None = None
    max_text_length: int | None = DEFAULT_MAX_TEXT_LENGTH
    attribute_limit: int = DEFAULT_ATTRIBUTE_LIMIT
    value_limit: int | None = None
    enabled: bool = True
    text_limit: int | None = field(init=False)
    """Characters of one text that are written: ours or the SDK's limit, whichever is lower."""

    def __post_init__(self) -> None:
        limits = [limit for limit in (self.max_text_length, self.value_limit) if limit is not None]
        object.__setattr__(self, "text_limit", min(limits, default=None))


@dataclass(slots=True)
class _Current:
    """The settings in force: read on first use, replaced by :func:`use`."""

    settings: Settings | None = field(default=None)


_current = _Current()


def settings() -> Settings:
    """The settings in force; first read from the environment, where a wrong variable means its default."""
    if _current.settings is None:
        _current.settings = from_environment()
    return _current.settings


def use(new: Settings) -> None:
    """Put ``new`` in force for all hooks of the process."""
    _current.settings = new


def resolve(
    environ: Mapping[str, str],
    *,
    capture_content: bool | None = None,
    redact: bool | Redactor | None = None,
    redact_key: str | None = None,
    max_text_length: int | None = None,
    enabled: bool | None = None,
) -> Settings:
    """Settings from arguments, else from ``environ``, else the defaults.

    Raises:
        ConfigError: a variable does not hold what it should; ``path`` is its name.
    """
    if redact is None:
        redact = _flag(environ, "RAGTRACE_REDACT", False)
    if not isinstance(redact, Redactor):
        key = redact_key or environ.get("RAGTRACE_REDACT_KEY") or secrets.token_hex(16)
        redact = Redactor(key=key) if redact else None
    if capture_content is None:
        capture_content = _flag(environ, "RAGTRACE_CAPTURE_CONTENT", True)
    if enabled is None:
        enabled = _flag(environ, "RAGTRACE_ENABLED", True)
    if max_text_length is None:
        max_text_length = _count(environ, "RAGTRACE_MAX_TEXT_LENGTH", DEFAULT_MAX_TEXT_LENGTH)
    elif max_text_length < 0:
        raise ConfigError(f"must be 0 or more, not {max_text_length}", "max_text_length")
    return Settings(
        capture_content=capture_content,
        redactor=redact,
        max_text_length=max_text_length or None,
        attribute_limit=_sdk_limit(environ, "COUNT") or DEFAULT_ATTRIBUTE_LIMIT,
        value_limit=_sdk_limit(environ, "VALUE_LENGTH"),
        enabled=enabled,
    )


def from_environment() -> Settings:
    """As :func:`resolve`, but for hooks that run without ``configure``: they may not raise into the app."""
    environ = os.environ
    try:
        return resolve(environ)
    except ConfigError:
        ours = {name for name in environ if name.startswith("RAGTRACE_")}
        good = {name: value for name, value in environ.items() if name not in ours or _is_good(name, value)}
        return resolve(good)


def _is_good(name: str, value: str) -> bool:
    try:
        resolve({name: value})
    except ConfigError:
        return False
    return True


def _flag(environ: Mapping[str, str], name: str, default: bool) -> bool:
    if name not in environ:
        return default
    word = environ[name].strip().lower()
    if word not in _YES | _NO:
        raise ConfigError(f"must be true or false, not {environ[name]!r}", name)
    return word in _YES


def _count(environ: Mapping[str, str], name: str, default: int) -> int:
    word = environ.get(name, "").strip()
    if not word:
        return default
    if not word.isdecimal():
        raise ConfigError(f"must be a number of 0 or more, not {environ[name]!r}", name)
    return int(word)


def queue_size(environ: Mapping[str, str]) -> int:
    """Spans that may wait to be exported: OTEL_BSP_MAX_QUEUE_SIZE, else the SDK's own 2048."""
    word = environ.get("OTEL_BSP_MAX_QUEUE_SIZE", "").strip()
    return int(word) if word.isdecimal() and int(word) > 0 else DEFAULT_QUEUE_SIZE


def _sdk_limit(environ: Mapping[str, str], what: str) -> int | None:
    """The SDK's own rule: the span's limit, else the general one; what cannot be read is the SDK's matter."""
    for name in (f"OTEL_SPAN_ATTRIBUTE_{what}_LIMIT", f"OTEL_ATTRIBUTE_{what}_LIMIT"):
        if (word := environ.get(name, "").strip()).isdecimal():
            return int(word)
    return None
