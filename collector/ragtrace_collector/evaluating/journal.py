"""The journal of ``ragtrace evaluate``: what was paid for is kept, whatever ends the process.

An SQLite file with three tables: evaluations by content and judge revision, answers of the app by run, and
the judge's parts by their cache key, so that a row that was cut off between two requests pays for the second
only. It holds the texts of the set: only its owner may read it.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ragtrace.errors import ConfigError
from ragtrace.serialize import to_json

_SCHEMA = """
CREATE TABLE IF NOT EXISTS evaluations (key TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answers (run TEXT, key TEXT, record TEXT NOT NULL, PRIMARY KEY (run, key))
  WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS parts (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class Journal:
    """The journal in one file. Used from one thread; each write is durable against the end of the process."""

    def __init__(self, path: Path) -> None:
        """Open or create the file.

        Raises:
            ConfigError: it cannot be written, or is no journal.
        """
        try:
            if path.parent != Path():
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(path, timeout=30.0, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"cannot use the journal {path}: {error}", "journal") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._db.close()

    # --- evaluations --------------------------------------------------------------------------------------

    def evaluation(self, key: str) -> str | None:
        """The JSON record under ``key``."""
        return self._one("SELECT record FROM evaluations WHERE key = ?", key)

    def has_evaluation(self, key: str) -> bool:
        """Whether there is one."""
        return self._one("SELECT 1 FROM evaluations WHERE key = ?", key) is not None

    def add_evaluations(self, records: Iterable[tuple[str, str]]) -> None:
        """Keep (key, JSON record) pairs; a later one under the same key replaces the earlier."""
        self._write("INSERT OR REPLACE INTO evaluations VALUES (?, ?)", records)

    # --- answers of the app -------------------------------------------------------------------------------

    def answer(self, run: str, key: str) -> str | None:
        """The JSON record of the app's answer to the row ``key`` in the unfinished ``run``."""
        return self._one("SELECT record FROM answers WHERE run = ? AND key = ?", run, key)

    def add_answer(self, run: str, key: str, record: str) -> None:
        """Keep an answer until the run is finished."""
        self._write("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", [(run, key, record)])

    def forget_answers(self, run: str) -> None:
        """The run is finished, or is to begin anew: the app may have changed by the next one."""
        self._write("DELETE FROM answers WHERE run = ?", [(run,)])

    # --- parts of judgements (ragtrace.judges.chat.VerdictStore) ------------------------------------------

    def get(self, key: str) -> str | None:
        """The judged part under ``key``."""
        return self._one("SELECT value FROM parts WHERE key = ?", key)

    def put(self, key: str, value: str) -> None:
        """Keep a judged part."""
        self._write("INSERT OR REPLACE INTO parts VALUES (?, ?)", [(key, value)])

    def _one(self, query: str, *values: str) -> str | None:
        row = self._db.execute(query, values).fetchone()
        return None if row is None else row[0]

    def _write(self, statement: str, rows: Iterable[tuple[str, ...]]) -> None:
        self._db.execute("BEGIN")
        try:
            self._db.executemany(statement, rows)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


class Forgetful:
    """A store that gives nothing back: what ``--fresh`` judges with, while it still writes to ``journal``."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._mine = journal, set[str]()

    def get(self, key: str) -> str | None:
        """The part, where it was judged in this run."""
        return self._journal.get(key) if key in self._mine else None

    def put(self, key: str, value: str) -> None:
        """Keep a part."""
        self._mine.add(key)
        self._journal.put(key, value)


def content_key(content: Mapping[str, Any], *meaning: str) -> str:
    """Key of what a judge finds on ``content``, given all that decides what its numbers mean."""
    text = "\x1f".join([*meaning, to_json(content)])
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
