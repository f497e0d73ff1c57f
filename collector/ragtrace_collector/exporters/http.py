"""OTLP/HTTP out."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
import zlib
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import aiohttp
from aiohttp.abc import AbstractStreamWriter

from ragtrace.errors import ConfigError, PermanentExport, RetryableExport
from ragtrace_collector.exporters.sender import Misdirected, Oversize, ServerFault
from ragtrace_collector.exporters.target import Destination
from ragtrace_collector.otlp_replies import rejected_by
from ragtrace_collector.stages import Signal

RETRYABLE = frozenset({408, 425, 429, 502, 503, 504})
"""429, 502, 503 and 504 by the OTLP specification; 408 and 425 are proxies' words for the same."""
SPLITTABLE = frozenset({400, 422})
_CREDENTIALS = "see whether its headers hold a token that is valid and may write"
_ADDRESS = "see whether its url is the one for OTLP traces"
MISDIRECTED = {
    **dict.fromkeys((401, 402, 403, 407), _CREDENTIALS),
    **dict.fromkeys((404, 405, 421), _ADDRESS),
    **dict.fromkeys((301, 302, 303, 307, 308), "it redirects: set its url to where that leads"),
    415: "see whether it takes this compression",
}
"""Answers about who asks and where, with what to do about each. Redirects are not followed: headers with
secrets must not go where nobody meant them to."""
_NOT_TAKEN = frozenset({404, 405, 415})
"""A backend without logs says so in one of these ways."""
_LONGEST_REPLY = 2**16
_IN_THREAD = 2**16
_PIECE = 2**18


class HttpSender:
    """Sends to one OTLP/HTTP backend."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        self._urls = {Signal.TRACES: destination.address(), Signal.LOGS: destination.logs_address()}
        self._headers = {
            "content-type": "application/x-protobuf",
            "user-agent": "ragtrace",
            **({"content-encoding": "gzip"} if destination.compression == "gzip" else {}),
            **{name.lower(): value for name, value in destination.headers.items()},
        }
        self._session: aiohttp.ClientSession | None = None
        self.name = destination.name

    async def open(self) -> None:
        """Make the connection pool; connections come with the first request."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._destination.requests_at_once, ssl=self._tls()),
            timeout=aiohttp.ClientTimeout(total=self._destination.timeout),
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    def _tls(self) -> ssl.SSLContext | bool:
        ca, cert, key = self._destination.ca, self._destination.cert, self._destination.key
        if ca is None and cert is None:
            return True
        try:
            context = ssl.create_default_context(cafile=ca)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"cannot read {ca}: {error}", "export.ca") from None
        if cert is not None:
            try:
                context.load_cert_chain(cert, key)
            except (OSError, ssl.SSLError) as error:
                raise ConfigError(f"cannot use {cert} with {key}: {error}", "export.cert") from None
        return context

    async def send(self, body: bytes, signal: Signal) -> int:
        """One POST. See :class:`~ragtrace_collector.exporters.sender.Sender`."""
        assert self._session is not None, "open() comes first"
        if self._destination.compression == "gzip":
            body = await asyncio.to_thread(gzipped, body) if len(body) > _IN_THREAD else gzipped(body)
        try:
            async with self._session.post(
                self._urls[signal], data=_Body(body), allow_redirects=False
            ) as response:
                reply = await response.content.read(_LONGEST_REPLY)
                return _outcome(response.status, response.headers, reply, signal)
        except TimeoutError:
            raise RetryableExport(f"{self.name} did not answer in {self._destination.timeout:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise RetryableExport(f"{self.name} cannot be reached ({type(error).__name__})") from error

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


class _Body(aiohttp.Payload):
    """A request body that is written in pieces, so that the loop stays free, and is not copied before."""

    def __init__(self, body: bytes) -> None:
        super().__init__(body, content_type="application/x-protobuf")
        self._size = len(body)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return bytes(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        view = memoryview(self._value)
        for at in range(0, len(view), _PIECE):
            await writer.write(view[at : at + _PIECE])


def gzipped(body: bytes) -> bytes:
    """A request as one gzip member, at the speed of level 1: what it saves beyond is not worth its time."""
    machine = zlib.compressobj(level=1, wbits=31)
    return machine.compress(body) + machine.flush()


def _outcome(status: int, headers: Mapping[str, str], reply: bytes, signal: Signal) -> int:
    if 200 <= status < 300:
        return _rejected(headers.get("content-type", ""), reply)
    if status in RETRYABLE:
        raise RetryableExport(f"HTTP {status}", retry_after(headers.get("retry-after"), time.time()))
    if status >= 500:
        raise ServerFault(f"HTTP {status}")
    if status == 413:
        raise Oversize(f"HTTP {status}")
    if status in MISDIRECTED and not (signal is Signal.LOGS and status in _NOT_TAKEN):
        raise Misdirected(f"HTTP {status}", MISDIRECTED[status])
    raise PermanentExport(f"HTTP {status}", splittable=status in SPLITTABLE)


def _rejected(content_type: str, reply: bytes) -> int:
    if not content_type.startswith("application/json"):
        return rejected_by(reply)
    try:
        partial = json.loads(reply).get("partialSuccess") or {}
        return max(int(partial.get("rejectedSpans") or partial.get("rejectedLogRecords") or 0), 0)
    except (ValueError, TypeError, AttributeError):
        return 0


def retry_after(header: str | None, now: float) -> float | None:
    """A Retry-After header (seconds, or a date against ``now``) → seconds; ``None`` where it says none."""
    if header is None:
        return None
    if header.strip().isdigit():
        return float(header)
    try:
        return max(parsedate_to_datetime(header).timestamp() - now, 0.0)
    except ValueError:
        return None
