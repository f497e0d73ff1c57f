"""OTLP/JSON lines appended to a file: what ``--out`` writes."""

from __future__ import annotations

import asyncio
import contextlib
from io import FileIO
from pathlib import Path

from ragtrace.errors import ConfigError, MalformedOtlp, PermanentExport, RetryableExport
from ragtrace_collector.otlp import logs_to_json, split, to_json
from ragtrace_collector.stages import Signal


class FileSender:
    """Appends each request as one line. A line is whole or not there, even where the disk is full."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: FileIO | None = None
        self._writing = asyncio.Lock()
        self.name = f"file:{path.name}"

    async def open(self) -> None:
        """Open the file.

        Raises:
            ConfigError: it cannot be written to.
        """
        try:
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            raise ConfigError(f"cannot write {self._path}: {error.strerror}", "out") from error

    async def send(self, body: bytes, signal: Signal) -> int:
        """Append one line. See :class:`~ragtrace_collector.exporters.sender.Sender`."""
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
        end = self._file.tell() if self._file.seekable() else None
        left = memoryview(line.encode("utf-8") + b"\n")
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            # The whole line will be written again, so nothing of it may stay.
            if end is not None:
                with contextlib.suppress(OSError):
                    self._file.truncate(end)
            raise

    async def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
