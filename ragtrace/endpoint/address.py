"""Where an endpoint is, and what is said to it with every request."""

from __future__ import annotations

import os
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from ragtrace.errors import ConfigError

_DEFAULT = "https://api.openai.com/v1"
_ACCOUNT = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}
"""Environment variable → header, as OpenAI's own client sends them."""


def chat_url(base_url: str | None) -> str:
    """The URL of chat completions: see :func:`api_url`."""
    return api_url(base_url, "/chat/completions", "judge.base_url")


def base_of(base_url: str | None) -> str:
    """``base_url``, where ``None`` ``OPENAI_BASE_URL``, else OpenAI's own."""
    return (base_url or os.environ.get("OPENAI_BASE_URL") or _DEFAULT).strip()


def api_url(base_url: str | None, path: str, option: str) -> str:
    """The URL of ``path`` below ``base_url``, or the base that :func:`base_of` puts in its place.

    A query stays behind the path, where some gateways want a version; a base that ends in ``path`` is taken
    as it is. ``option`` is what errors call the base.

    Raises:
        ConfigError: it is no URL of HTTP, or holds a password.
    """
    parts = urlsplit(base_of(base_url))
    if parts.username is not None:
        raise ConfigError("must hold no user or password; a key goes into api_key", option)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(
            "must be the http:// or https:// URL of an OpenAI-compatible endpoint, such as http://localhost:8000/v1",
            option,
        )
    base_path = parts.path.rstrip("/")
    whole = base_path if base_path.endswith(path) else base_path + path
    return urlunsplit(parts._replace(path=whole, fragment=""))


def headers(key: str) -> dict[str, str]:
    """The headers of a request that is allowed by ``key``; none for a ``key`` of no characters."""
    found = {"content-type": "application/json", "accept": "application/json"}
    found |= {name: value for variable, name in _ACCOUNT.items() if (value := os.environ.get(variable))}
    return found | ({"authorization": f"Bearer {key}"} if key else {})


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for ``url`` (``HTTPS_PROXY``, ``NO_PROXY`` …), ``None`` = none."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)
