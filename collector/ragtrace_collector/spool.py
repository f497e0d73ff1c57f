"""Requests on disk until every destination has answered for them, and verdicts that were paid for.

One SQLite database in WAL mode. A commit is in the operating system's hands before a request is acknowledged,
which survives the end of the process; ``fsync`` makes it survive power loss. One thread owns the connection:
whatever the loop asks for while a commit runs goes into the next commit together.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ragtrace_collector.settlement import Note, body_left, to_bytes
from ragtrace_collector.spool_file import notes_of, opened, removed, sizes_of
from ragtrace_collector.stages import Refused, Signal, SpanBatch, span_count

T = TypeVar("T")
_Work = Callable[[sqlite3.Connection], Any]
_Job = tuple[_Work, "asyncio.Future[Any]"]

_MOST_TOGETHER = 256
_VERDICTS = 50_000
"""Verdicts that are kept; the oldest go first."""
_PRUNE_EVERY = 1_000
_log = logging.getLogger(__name__)


class Spool:
    """Used by one loop, between :meth:`open` and :meth:`close`."""

    def __init__(self, folder: Path, *, max_bytes: int = 4 * 2**30, fsync: bool = False) -> None:
        self._folder, self._max_bytes, self._fsync = folder, max_bytes, fsync
        self._inbox: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._numbers = itertools.count(1)
        self._found: list[tuple[int, int]] = []
        self._sizes: dict[int, int] = {}
        self._not_removed: list[int] = []
        self._remembered = 0
        self._failing = False
        self.bytes = 0
        """Bytes of the requests on disk."""

    # --- life ---------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Open the database, or make it; what cannot be read of a damaged one is set aside, not deleted.

        Raises:
            ConfigError: the folder cannot be written to, or another collector uses it.
        """
        connection = await asyncio.to_thread(opened, self._folder, self._fsync)
        rows = await asyncio.to_thread(sizes_of, connection)
        self._found = [(number, spans) for number, spans, _ in rows]
        self._sizes = {number: size for number, _, size in rows}
        self._numbers = itertools.count(rows[-1][0] + 1 if rows else 1)
        self.bytes = sum(self._sizes.values())
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, args=(connection, loop), name="spool", daemon=True)
        self._thread.start()

    async def close(self) -> None:
        """Finish what was asked for, and close. May be called twice."""
        if self._thread is not None:
            thread, self._thread = self._thread, None
            self._inbox.put(None)
            await asyncio.to_thread(thread.join)

    def pending(self) -> list[tuple[int, int]]:
        """What an earlier process left: number and spans (0 for logs) of each request, the oldest first."""
        return list(self._found)

    # --- requests -----------------------------------------------------------------------------------------

    def fits(self, size: int) -> bool:
        """Whether ``size`` more bytes may be kept."""
        return self.bytes + size <= self._max_bytes

    async def put(self, item: SpanBatch) -> int:
        """Write a request down → its number. It is safe when this returns.

        Raises:
            Refused: the disk, or the part of it that may be used, is full, or it fails.
        """
        size = len(item.body)
        if not self.fits(size):
            raise Refused("spool_full")
        number = next(self._numbers)
        row = (number, item.signal.value, span_count(item), size, item.body)
        self.bytes += size
        self._sizes[number] = size
        written = self._ask(lambda db: db.execute("INSERT INTO requests VALUES (?, ?, ?, ?, ?)", row))
        try:
            await asyncio.shield(written)
        except asyncio.CancelledError:
            gone = self._free([number])
            self._ask(lambda db: removed(db, gone))  # nobody will ever ask for it
            raise
        except sqlite3.Error as error:
            self._free([number])
            self._complain(error)
            raise Refused("spool_failed") from error
        self._failing = False
        return number

    async def get(self, number: int) -> SpanBatch | None:
        """A request that was written down; ``None`` where it is not there, or is damaged.

        Raises:
            Refused: the disk fails; it may be read later.
        """
        query = "SELECT signal, spans, body FROM requests WHERE number = ?"

        def work(db: sqlite3.Connection) -> tuple[tuple[str, int, bytes] | None, list[Note]]:
            return db.execute(query, (number,)).fetchone(), notes_of(db, number)

        try:
            row, notes = await self._ask(work)
        except sqlite3.OperationalError as error:
            self._complain(error)
            raise Refused("spool_failed") from error
        except sqlite3.Error as error:
            self._complain(error)
            return None
        if row is None:
            return None
        signal, spans, body = row
        if notes:
            body, spans = body_left(body, notes)
        return SpanBatch(body, signal=Signal(signal), count=spans or None)

    async def note(self, notes: Sequence[tuple[int, Note]]) -> None:
        """Write down which spans of requests are settled while others are not, by number.

        A failing disk costs no more than sending them again after a restart.
        """
        rows = [
            (number, note.is_rest, to_bytes(note.keys)) for number, note in notes if number in self._sizes
        ]
        try:
            await self._ask(lambda db: db.executemany("INSERT INTO settled VALUES (?, ?, ?)", rows) and None)
        except sqlite3.Error as error:
            self._complain(error)

    async def remove(self, numbers: Sequence[int]) -> None:
        """Forget requests that every destination has answered for."""
        gone = [*self._not_removed, *self._free(numbers)]
        self._not_removed = []
        try:
            await self._ask(lambda db: removed(db, gone))
        except sqlite3.Error as error:
            # Tried again with the next ones. At worst they are sent once more after a restart: better than a
            # collector that stops here.
            self._not_removed += gone
            self._complain(error)

    def _free(self, numbers: Sequence[int]) -> Sequence[int]:
        self.bytes -= sum(self._sizes.pop(number, 0) for number in numbers)
        return numbers

    def _complain(self, error: sqlite3.Error) -> None:
        if not self._failing:
            _log.error("the spool in %s fails: %s", self._folder, error)
        self._failing = True

    # --- verdicts -----------------------------------------------------------------------------------------

    async def remember(self, key: str, value: bytes) -> None:
        """Keep what was paid for under ``key``. A failing disk costs no more than paying twice."""
        self._remembered += 1
        prune = self._remembered % _PRUNE_EVERY == 0

        def work(db: sqlite3.Connection) -> None:
            db.execute("INSERT OR REPLACE INTO verdicts (key, value) VALUES (?, ?)", (key, value))
            if prune:
                db.execute(
                    "DELETE FROM verdicts WHERE id <= (SELECT max(id) FROM verdicts) - ?", (_VERDICTS,)
                )

        try:
            await self._ask(work)
        except sqlite3.Error as error:
            self._complain(error)

    async def recall(self, key: str) -> bytes | None:
        """What was kept under ``key``."""
        query = "SELECT value FROM verdicts WHERE key = ?"
        try:
            row = await self._ask(lambda db: db.execute(query, (key,)).fetchone())
        except sqlite3.Error as error:
            self._complain(error)
            return None
        return None if row is None else row[0]

    # --- the thread ---------------------------------------------------------------------------------------

    def _ask(self, work: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        assert self._thread is not None, "open() comes first"
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._inbox.put((work, future))
        return future

    def _run(self, connection: sqlite3.Connection, loop: asyncio.AbstractEventLoop) -> None:
        open_ = True
        while open_:
            jobs: list[_Job] = []
            for job in self._waiting():
                if job is None:
                    open_ = False
                    break
                jobs.append(job)
            if jobs:
                results = _committed(connection, [work for work, _ in jobs])
                answers = list(zip([future for _, future in jobs], results, strict=True))
                loop.call_soon_threadsafe(_answer, answers)
        connection.close()

    def _waiting(self) -> Iterator[_Job | None]:
        """Wait for a job, then take those behind it."""
        yield self._inbox.get()
        for _ in range(_MOST_TOGETHER):
            try:
                yield self._inbox.get_nowait()
            except queue.Empty:
                return


def _answer(answers: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in answers:
        if future.done():
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)


def _committed(connection: sqlite3.Connection, works: Sequence[_Work]) -> list[Any]:
    """Do ``works`` in one transaction, or where that fails each in its own → their results or errors."""
    try:
        with connection:
            connection.execute("BEGIN")
            return [work(connection) for work in works]
    except sqlite3.Error as error:
        if len(works) == 1:
            return [error]
    return [result for work in works for result in _committed(connection, [work])]
