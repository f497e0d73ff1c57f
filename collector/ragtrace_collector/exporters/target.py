"""Where spans go: what a user writes after ``--export``, and the options of one destination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, urlsplit, urlunsplit

from ragtrace.errors import ConfigError

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
    timeout: float = 10.0
    ca: Path | None = None
    """Certificates to trust instead of the system's."""
    max_request: int = 4_000_000
    """A little under the 4 MiB that gRPC servers take by default."""
    max_text: int | None = None
    """Longest text of one attribute; longer ones are cut. For backends that drop such attributes whole."""
    requests_at_once: int = 4
    queue: int = 64 * 2**20
    """Bytes that wait for this destination. Beyond, senders are told to come again."""

    def __post_init__(self) -> None:
        self.address()

    @property
    def name(self) -> str:
        """What the destination is called in figures and messages: scheme, host and port, nothing secret."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{_host(parts)}"

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
            raise ConfigError(f"{self.url!r} is no URL ({error})", "export") from None
        if parts.scheme in {"grpc", "grpcs"} and parts.hostname and has_port and parts.path in {"", "/"}:
            return _host(parts)
        if parts.scheme in {"http", "https"} and parts.hostname:
            path = "/v1/traces" if parts.path in {"", "/"} else parts.path
            return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
        raise ConfigError(
            f"{self.url!r} is neither http(s)://HOST[:PORT][/v1/traces] nor grpc(s)://HOST:PORT", "export"
        )

    def logs_address(self) -> str:
        """The URL of logs that belongs to the URL of traces; for gRPC the same HOST:PORT."""
        parts = urlsplit(self.address())
        if self.is_grpc:
            return self.address()
        path = parts.path.removesuffix("/").removesuffix("/v1/traces") + "/v1/logs"
        return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]
