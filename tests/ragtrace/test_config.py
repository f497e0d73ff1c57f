"""Settings: arguments over environment over defaults."""

from __future__ import annotations

import pytest

from ragtrace import config
from ragtrace.config import resolve
from ragtrace.errors import ConfigError


def test_the_defaults_capture_everything_and_redact_nothing() -> None:
    """What a user gets who sets nothing."""
    settings = resolve({})
    assert (settings.capture_content, settings.redactor, settings.enabled) == (True, None, True)
    assert (settings.max_text_length, settings.attribute_limit, settings.value_limit) == (200_000, 128, None)


def test_arguments_win_over_the_environment() -> None:
    """And the environment over the defaults."""
    environ = {"RAGTRACE_CAPTURE_CONTENT": "no", "RAGTRACE_MAX_TEXT_LENGTH": "0", "RAGTRACE_REDACT": "on"}
    settings = resolve(environ)
    assert (settings.capture_content, settings.max_text_length) == (False, None)
    assert settings.redactor is not None
    settings = resolve(environ, capture_content=True, max_text_length=10, redact=False)
    assert (settings.capture_content, settings.max_text_length, settings.redactor) == (True, 10, None)


def test_the_sdks_own_limits_are_read() -> None:
    """The span's limit before the general one; the lower length limit counts."""
    settings = resolve(
        {
            "OTEL_ATTRIBUTE_COUNT_LIMIT": "64",
            "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "32",
            "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "500",
        }
    )
    assert (settings.attribute_limit, settings.value_limit, settings.text_limit) == (32, 500, 500)


@pytest.mark.parametrize(
    ("name", "value"),
    [("RAGTRACE_CAPTURE_CONTENT", "maybe"), ("RAGTRACE_MAX_TEXT_LENGTH", "-1"), ("RAGTRACE_ENABLED", "2")],
)
def test_a_wrong_variable_is_named(name: str, value: str) -> None:
    """configure() says which."""
    with pytest.raises(ConfigError) as error:
        resolve({name: value})
    assert error.value.path == name


def test_without_configure_a_wrong_variable_does_not_reach_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that reads the environment by itself falls back to the default, and keeps the good variables."""
    monkeypatch.setenv("RAGTRACE_MAX_TEXT_LENGTH", "lots")
    monkeypatch.setenv("RAGTRACE_CAPTURE_CONTENT", "false")
    config.use(config.from_environment())
    assert config.settings().max_text_length == config.DEFAULT_MAX_TEXT_LENGTH
    assert config.settings().capture_content is False
    config.use(resolve({}))
