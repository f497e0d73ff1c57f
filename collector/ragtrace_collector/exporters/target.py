"""Where spans go: what a user writes after ``--export``, and the options of one destination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import PositiveFloat, PositiveInt

from ragtrace.errors import ConfigError
from ragtrace.redact import host_of, without_credentials

Compression = Literal["none", "gzip"]


@dataclass(frozen=True, slots=True)
class Destination:
    """One backend.

    ``url`` is the OTLP/HTTP traces URL (``http://HOST:4318/v1/traces``), the base of one without a path, or
    ``grpc://HOST:PORT`` (``grpcs://`` with TLS). Sizes in bytes of the encoded, uncompressed request; times
    in seconds. ``headers`` may hold secrets and are never printed.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    compression: Compression = "none"
    timeout: PositiveFloat = 10.0
    ca: Path | None = None
    """Certificates to trust instead of the system's."""
    cert: Path | None = None
    """Our certificate, for a backend that wants to see one; ``key`` is its private key."""
    key: Path | None = None
    max_request: PositiveInt = 4_000_000
    """A little under the 4 MiB that gRPC servers take by default."""
    max_spans: PositiveInt = 512
    """Most spans that requests are joined up to; one that holds more as it comes in stays whole."""
    max_text: PositiveInt | None = None
    """Longest text of one attribute; longer ones are cut. For backends that drop such attributes whole."""
    max_attributes: PositiveInt | None = None
    """Most attributes of one span; of more, the least telling go. For backends that drop what comes last."""
    requests_at_once: PositiveInt = 4
    queue: PositiveInt = 64 * 2**20
    """Bytes that wait for this destination. Beyond, senders are told to come again."""

    def __post_init__(self) -> None:
        self.address()
        if (self.cert is None) != (self.key is None):
            raise ConfigError("a certificate of ours needs its key, and the other way round", "export.cert")
        if self.cert is not None and not self.is_secure:
            raise ConfigError(
                f"{self.name} speaks no TLS: a certificate goes with https or grpcs", "export.cert"
            )

    @property
    def name(self) -> str:
        """What the destination is called in figures and messages: scheme, host and port, nothing secret."""
        return f"{urlsplit(self.url).scheme}://{host_of(self.url)}"

    @property
    def is_grpc(self) -> bool:
        """Whether OTLP/gRPC is spoken there."""
        return urlsplit(self.url).scheme in {"grpc", "grpcs"}

    @property
    def is_secure(self) -> bool:
        """Whether TLS is spoken there."""
        return urlsplit(self.url).scheme in {"grpcs", "https"}

    def address(self) -> str:
        """The full URL of traces, or for gRPC HOST:PORT.

        Raises:
            ConfigError: the URL is none of the forms above.
        """
        try:
            parts = urlsplit(self.url)
            has_port = parts.port is not None
        except ValueError as error:
            raise ConfigError(f"a destination's url is no URL ({error})", "export") from None
        if parts.scheme in {"grpc", "grpcs"} and parts.hostname and has_port and parts.path in {"", "/"}:
            return host_of(self.url)
        if parts.scheme in {"http", "https"} and parts.hostname:
            path = "/v1/traces" if parts.path in {"", "/"} else parts.path
            return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
        shown = without_credentials(self.url)
        raise ConfigError(
            f"{shown!r} is neither http(s)://HOST[:PORT][/v1/traces] nor grpc(s)://HOST:PORT", "export"
        )

    def logs_address(self) -> str:
        """The URL of logs that belongs to the URL of traces; for gRPC the same HOST:PORT."""
        parts = urlsplit(self.address())
        if self.is_grpc:
            return self.address()
        path = parts.path.removesuffix("/").removesuffix("/v1/traces") + "/v1/logs"
        return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
