"""Where a receiver listens, who may come in, and how much."""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ragtrace.errors import ConfigError
from ragtrace_collector import open_files
from ragtrace_collector.stages import Refused


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address to listen on. Port 0 takes any free one.

    With ``token`` every request must carry it (``Authorization: Bearer TOKEN``, or as the password of
    ``Basic``, as Langfuse's SDK sends it). With ``client_ca`` every sender must show a certificate that one
    of these authorities signed. ``insecure`` allows an address other than loopback without either. ``name``
    is what the address is called in messages about it.
    """

    host: str = "127.0.0.1"
    port: int = 0
    name: str = "otlp"
    token: str | None = field(default=None, repr=False)
    cert: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None
    insecure: bool = False

    def check(self) -> None:
        """See that the settings are safe and complete.

        Raises:
            ConfigError: an open address without token, or half of a TLS pair.
        """
        if not (self.token or self.client_ca or self.insecure or _is_loopback(self.host)):
            raise ConfigError(
                f"{self.host} can be reached from outside: set a token, or allow it with --insecure-bind",
                self.name,
            )
        if self.client_ca is not None and self.cert is None:
            raise ConfigError("senders show certificates over TLS only: set tls_cert and tls_key", self.name)
        if (self.cert is None) != (self.key is None):
            raise ConfigError("TLS needs both a certificate and a key", self.name)
        for file in (self.cert, self.key, self.client_ca):
            if file is not None and not file.is_file():
                raise ConfigError(f"there is no file {file}", self.name)

    def bind(self) -> socket.socket:
        """A listening socket.

        Raises:
            ConfigError: the address is taken, or is none of this machine's.
        """
        self.check()
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            return socket.create_server((self.host, self.port), family=family, backlog=2048)
        except OSError as error:
            raise self.unusable(error.strerror or str(error)) from error

    def unusable(self, why: str) -> ConfigError:
        """The error that says why the address cannot be listened on."""
        return ConfigError(f"cannot listen on {self.host}:{self.port} ({why})", self.name)

    def admits(self, authorization: str | None) -> bool:
        """Whether a request with this Authorization header may come in. Compares in constant time."""
        if self.token is None:
            return True
        given = _credential(authorization or "")
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode("utf-8", "replace"))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _credential(authorization: str) -> str:
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one receiver takes at most. Sizes in bytes, times in seconds."""

    body: int = 64 * 2**20
    """One request, compressed or not (the OpenTelemetry SDK's own bound)."""
    json: int = 16 * 2**20
    """One request in JSON, which takes ten times its size while it is read."""
    in_flight: int = 256 * 2**20
    """All requests that are being read or have no answer yet."""
    body_time: float = 30.0
    """For the body of a request to arrive."""
    head_time: float = 30.0
    """For the head of a request to arrive, and for the first one after connecting."""
    header: int = 64 * 2**10
    """The head of a request: its line and header fields."""
    idle: float = 75.0
    """An open connection may be without a request. Longer than SDKs wait between batches, so that they rarely
    send into a closing connection."""
    connections: int = 4_096
    """At once; no more than a third of the files that the process may open, so that the spool and the
    destinations have theirs."""
    streams: int = 256
    """Requests at once on one gRPC connection."""

    def affordable(self) -> Limits:
        """The same with no more connections than this process can have."""
        return replace(self, connections=min(self.connections, max(open_files.limit() // 3, 16)))


DEFAULT_LIMITS = Limits()


class Admission:
    """Bounds the bytes of requests that are in work."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.held = 0

    @contextmanager
    def ticket(self) -> Iterator[Ticket]:
        """What one request may hold; given back at the end of the block."""
        ticket = Ticket(self)
        try:
            yield ticket
        finally:
            self.held -= ticket.held

    def fits(self, size: int) -> bool:
        """Whether ``size`` more bytes may come in. One request is always let in, whatever its size."""
        return self.held == 0 or self.held + size <= self._max_bytes


@dataclass(slots=True)
class Ticket:
    """One request's part of the bytes in work."""

    admission: Admission
    held: int = 0

    def grow(self, size: int) -> None:
        """Take ``size`` bytes more.

        Raises:
            Refused: too much is in work.
        """
        if self.admission.held > self.held and not self.admission.fits(size):
            raise Refused("intake_full", 0.5)
        self.held += size
        self.admission.held += size
