"""Base URLs as people write them."""

import pytest

from ragtrace.endpoint.address import chat_url, proxy_of
from ragtrace.errors import ConfigError
from ragtrace.judges.chat import ChatOptions


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://localhost:8000/v1", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1/chat/completions"),
        (" https://host/openai ", "https://host/openai/chat/completions"),
        ("https://host/v1/chat/completions", "https://host/v1/chat/completions"),
        ("https://host/d/m?api-version=2", "https://host/d/m/chat/completions?api-version=2"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1/chat/completions"),
    ],
)
def test_the_path_is_added_once_and_a_query_stays_behind_it(base: str, url: str) -> None:
    """Slash or none, with the whole path or without, behind a gateway that wants a version."""
    assert chat_url(base) == url


@pytest.mark.parametrize("base", ["localhost:8000/v1", "ftp://host/v1", "http://", "v1", "http:///v1"])
def test_what_is_no_url_is_told_before_the_first_request(base: str) -> None:
    """The error names the option and shows how it is written."""
    with pytest.raises(ConfigError, match=r"judge\.base_url: must be the http:// or https:// URL"):
        ChatOptions(base_url=base)


def test_a_password_in_the_url_is_told_and_not_shown() -> None:
    """It would end in logs and error messages; a key has a place of its own."""
    with pytest.raises(ConfigError, match="api_key") as told:
        ChatOptions(base_url="https://me:secret@host/v1")
    assert "secret" not in str(told.value)


def test_the_environment_names_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """As other clients read it: by scheme, but not for what it excepts."""
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    assert proxy_of("https://host/v1") == "http://proxy:3128"
    assert proxy_of("https://inside.example/v1") is None
    assert proxy_of("http://host/v1") is None
