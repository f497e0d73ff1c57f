"""OTLP/JSON lines appended to a file: what ``--out`` writes."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import BinaryIO

from ragtrace.errors import ConfigError, MalformedOtlp, PermanentExport, RetryableExport
from ragtrace_collector.otlp import logs_to_json, split, to_json
from ragtrace_collector.stages import Signal


class FileSender:
    """Appends each request as one line. A line is whole or not there, even where the disk is full."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._writing = asyncio.Lock()
        self.name = f"file:{path.name}"

    async def open(self) -> None:
        """Open the file.

        Raises:
            ConfigError: it cannot be written to.
        """
        try:
            self._file = self._path.open("ab")
        except OSError as error:
            raise ConfigError(f"cannot write {self._path}: {error.strerror}", "out") from error

    async def send(self, body: bytes, signal: Signal) -> int:
        """Append one line and flush. See :class:`~ragtrace_collector.exporters.sender.Sender`."""
        async with self._writing:
            try:
                await asyncio.to_thread(self._append, body, signal)
            except MalformedOtlp as error:
                raise PermanentExport(str(error), splittable=True) from error
            except OSError as error:
                raise RetryableExport(f"{self.name}: {error.strerror}") from error
        return 0

    def _append(self, body: bytes, signal: Signal) -> None:
        assert self._file is not None, "open() comes first"
        line = to_json(split(body)) if signal is Signal.TRACES else logs_to_json(body)
        end = self._file.tell()
        try:
            self._file.write(line.encode("utf-8") + b"\n")
            self._file.flush()
        except OSError:
            # What the buffer still holds must not follow later: the line will be written again as a whole.
            self._file = self._reopened(end)
            raise

    def _reopened(self, end: int) -> BinaryIO:
        with contextlib.suppress(OSError):
            os.truncate(self._path, end)
        return self._path.open("ab")

    async def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
