"""One POST and its whole answer, within bounds: no body without end, no text sent on to another host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import aiohttp

from ragtrace.endpoint.address import headers
from ragtrace.errors import JudgeError

MAX_REPLY_BYTES = 16 * 2**20
"""Unpacked bytes of an answer that are read; the longest honest completions stay far below."""

_MAX_HOPS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SAME_REQUEST = frozenset({307, 308})
"""Redirects that ask for the same method and body again; a POST must not become a GET."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer: HTTP status, headers (any letter case finds them), body without its compression."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def open_session(key: str, timeout: float) -> aiohttp.ClientSession:
    """Connections of the running event loop, whose requests show ``key`` and may take ``timeout`` seconds."""
    # No trust_env: it would send what a netrc file holds for the host, or refuse our own header.
    return aiohttp.ClientSession(
        headers=headers(key),
        timeout=aiohttp.ClientTimeout(total=timeout),
        connector=aiohttp.TCPConnector(limit=0),  # whoever asks limits
    )


async def post(
    session: aiohttp.ClientSession,
    url: str,
    body: bytes,
    proxy: str | None = None,
    most: int = MAX_REPLY_BYTES,
) -> Fetched:
    """POST ``body`` to ``url``, and read an answer of at most ``most`` bytes.

    A redirect is followed on the same scheme, host and port only: neither the key nor a user's texts go where
    nobody configured them to go.

    Raises:
        JudgeError: ``redirected`` elsewhere or in circles, or ``reply_too_large``.
        TimeoutError, aiohttp.ClientError: as aiohttp has them.
    """
    for _ in range(_MAX_HOPS):
        async with session.post(url, data=body, proxy=proxy, allow_redirects=False) as response:
            if response.status not in _REDIRECTS:
                return Fetched(response.status, response.headers, await _bounded(response, most))
            url = _next(url, response.status, response.headers.get("location", ""))
    raise JudgeError("redirected")


def _next(url: str, status: int, location: str) -> str:
    target = urljoin(url, location)
    if status not in _SAME_REQUEST or _origin(target) != _origin(url):
        raise JudgeError("redirected")
    return target


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


async def _bounded(response: aiohttp.ClientResponse, most: int) -> bytes:
    body = bytearray()
    async for part in response.content.iter_any():
        body += part
        if len(body) > most:
            response.close()
            raise JudgeError("reply_too_large")
    return bytes(body)
