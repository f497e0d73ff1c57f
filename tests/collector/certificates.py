"""Certificate authorities of a test's own, made by openssl, and certificates that they sign."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, as files."""

    cert: Path
    key: Path


@dataclass(frozen=True)
class Authority:
    """Signs certificates."""

    folder: Path
    own: Pair

    @classmethod
    def make(cls, folder: Path, name: str) -> Authority:
        """A new one, that only its own files know."""
        own = Pair(folder / f"{name}.pem", folder / f"{name}.key")
        _openssl("req", "-x509", *_KEY, "-subj", f"/CN={name}", "-keyout", own.key, "-out", own.cert)
        return cls(folder, own)

    def sign(self, name: str) -> Pair:
        """A certificate for 127.0.0.1, of use to servers and clients."""
        made = Pair(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        _openssl(
            *("req", "-x509", *_KEY, "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-addext", "basicConstraints=critical,CA:FALSE", "-CA", self.own.cert, "-CAkey", self.own.key),
            *("-keyout", made.key, "-out", made.cert),
        )
        return made


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
