"""The spool's file: its schema, how it is opened, and what is done where it is damaged."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ragtrace.errors import ConfigError
from ragtrace_collector.settlement import Note, from_bytes

FILE = "spool.db"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
  number INTEGER PRIMARY KEY, signal TEXT NOT NULL, spans INTEGER NOT NULL, size INTEGER NOT NULL,
  body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS settled (number INTEGER NOT NULL, is_rest INTEGER NOT NULL, keys BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS settled_by_number ON settled (number);
CREATE TABLE IF NOT EXISTS verdicts (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, value BLOB NOT NULL);
"""
_log = logging.getLogger(__name__)


def sizes_of(connection: sqlite3.Connection) -> list[tuple[int, int, int]]:
    """Number, spans not settled yet and size of each request, the oldest first."""
    rows = connection.execute("SELECT number, spans, size FROM requests ORDER BY number").fetchall()
    noted = {number for (number,) in connection.execute("SELECT DISTINCT number FROM settled")}
    return [
        (number, _spans_left(connection, number, spans) if number in noted else spans, size)
        for number, spans, size in rows
    ]


def notes_of(connection: sqlite3.Connection, number: int) -> list[Note]:
    """What is noted on a request."""
    query = "SELECT is_rest, keys FROM settled WHERE number = ?"
    return [Note(bool(is_rest), from_bytes(keys)) for is_rest, keys in connection.execute(query, (number,))]


def _spans_left(connection: sqlite3.Connection, number: int, spans: int) -> int:
    notes = notes_of(connection, number)
    held = next((len(note.keys) for note in notes if note.is_rest), spans)
    return held - sum(len(note.keys) for note in notes if not note.is_rest)


def removed(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Forget requests and what is noted on them."""
    rows = [(number,) for number in numbers]
    connection.executemany("DELETE FROM requests WHERE number = ?", rows)
    connection.executemany("DELETE FROM settled WHERE number = ?", rows)


def opened(folder: Path, fsync: bool) -> sqlite3.Connection:
    """Open the spool in ``folder``, or make it. A damaged one is set aside, and what can be read of it saved.

    Raises:
        ConfigError: the folder cannot be written to, or another process uses the spool.
    """
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # The spool holds what users asked and were answered: for nobody else to read.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise ConfigError(f"cannot write to {folder}: {error.strerror}", "spool.dir") from error
    try:
        return _connected(path, fsync)
    except sqlite3.OperationalError as error:
        why = "another collector uses it" if "locked" in str(error) else str(error)
        raise ConfigError(f"cannot use {path}: {why}", "spool.dir") from error
    except sqlite3.DatabaseError as error:
        return _restored(path, fsync, error)


def count_requests(folder: Path) -> int | None:
    """How many requests a spool that nobody uses now holds; ``None`` where it cannot be read."""
    try:
        connection = sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True)
        try:
            found: int = connection.execute("SELECT count(*) FROM requests").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error:
        return None
    return found


def _connected(path: Path, fsync: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.5)
    try:
        # Large pages, for requests are large; nobody else may open the file, so no shared memory is needed.
        connection.execute("PRAGMA page_size = 32768")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if fsync else 'NORMAL'}")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        connection.executescript(_SCHEMA)
        # A number may come again once its request is gone: nothing may be noted on it before.
        connection.execute("DELETE FROM settled WHERE number NOT IN (SELECT number FROM requests)")
        if not sizes_of(connection):
            connection.execute("VACUUM")  # gives back what an outage took
    except BaseException:
        connection.close()
        raise
    return connection


def _restored(path: Path, fsync: bool, error: sqlite3.DatabaseError) -> sqlite3.Connection:
    """A new database with what can be read of a damaged one, which is kept beside it."""
    aside = path.with_name(f"{FILE}.damaged-{sum(1 for _ in path.parent.glob(f'{FILE}.damaged-*')) + 1}")
    for suffix in ("", "-wal"):
        old = path.with_name(path.name + suffix)
        if old.exists():
            old.rename(aside.with_name(aside.name + suffix))
    connection = _connected(path, fsync)
    saved = 0
    for row in _readable(aside):
        connection.execute("INSERT OR IGNORE INTO requests VALUES (?, ?, ?, ?, ?)", row)
        saved += 1
    _log.error(
        "%s was damaged (%s); %d requests were saved, the rest is kept in %s", path, error, saved, aside
    )
    return connection


def _readable(path: Path) -> Iterator[tuple[Any, ...]]:
    """The requests of a damaged database that can be read, from its beginning and from its end."""
    queries = ("SELECT * FROM requests ORDER BY number", "SELECT * FROM requests ORDER BY number DESC")
    for query in queries:
        try:
            connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            try:
                yield from connection.execute(query)
            finally:
                connection.close()
        except sqlite3.DatabaseError:
            continue
