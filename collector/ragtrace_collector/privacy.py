"""Nothing leaves that must not: requests without personal data, and no call elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import socket
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import urlsplit

from ragtrace.extract.classify import is_rag_key
from ragtrace_collector import otlp
from ragtrace_collector.stages import Signal, SpanBatch

_MORE_CONTENT = frozenset({"metadata", "exception.message", "exception.stacktrace", "body"})
_NO_CONTENT = re.compile(
    r"(?:^|[._])(?:ids?|name|kind|type|role|model|provider|system|score|language|revision)$", re.IGNORECASE
)
"""Ends of keys that name or count things. What they hold must stay comparable, so it is never replaced."""
_IN_THREAD = 2**14


def is_content(key: str, more: Sequence[str] = ()) -> bool:
    """Whether an attribute of this name may hold what users and documents said. ``more`` are names beside."""
    if key in more or key in _MORE_CONTENT:
        return True
    return is_rag_key(key.encode()) and not _NO_CONTENT.search(key)


@dataclass(frozen=True)
class Cleaner:
    """Redacts requests at intake: ``redact`` is applied to content, ``keys`` are more names of content."""

    redact: Callable[[str], str]
    keys: tuple[str, ...] = ()

    async def __call__(self, item: SpanBatch) -> SpanBatch:
        """The request without personal data; the same bytes where it held none.

        Raises:
            MalformedOtlp: it is none.
        """
        clean = otlp.redact_logs if item.signal is Signal.LOGS else otlp.redact_traces
        if len(item.body) < _IN_THREAD:
            return replace(item, body=clean(item.body, self.redact, self._is_content))
        return replace(item, body=await asyncio.to_thread(clean, item.body, self.redact, self._is_content))

    def _is_content(self, key: str) -> bool:
        return is_content(key, self.keys)


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine."""
    return _is_local(urlsplit(url).hostname or "")


def stay_local(but: Collection[str] = ()) -> None:
    """From now on let this process connect to and look up nothing but loopback. Cannot be undone.

    ``but`` are hosts that may be reached nevertheless. Seen is what goes through Python's sockets: what a
    library in C does with sockets of its own is not.

    Raises:
        PermissionError: later, wherever something tries to.
    """
    sys.addaudithook(partial(_forbid, frozenset(but)))


def _forbid(but: frozenset[str], event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect" or event.startswith("socket.sendto"):
        address = arguments[1]
        if isinstance(address, tuple) and not (
            _is_local(str(address[0])) or _is_one_of(but, str(address[0]))
        ):
            raise PermissionError("privacy is local_only: no connection elsewhere")
    elif event == "socket.getaddrinfo" and not (_is_local(str(arguments[0])) or str(arguments[0]) in but):
        raise PermissionError("privacy is local_only: no look-up of other machines")


def _is_one_of(hosts: Collection[str], address: str) -> bool:
    """Whether ``address`` is one of ``hosts``, or what one of their names stands for now."""
    if address in hosts:
        return True
    for host in hosts:
        with contextlib.suppress(OSError):
            if any(found[4][0] == address for found in socket.getaddrinfo(host, None)):
                return True
    return False


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
