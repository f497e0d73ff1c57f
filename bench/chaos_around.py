"""What stands around the collector in the chaos run, and breaks: its judge, its clock, its own process."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import psutil
from servers.openai_chat import Answer, Http, Seen, good_reply

START_WITHIN = 60.0
_SETTLES = 0.2
"""Seconds in which a backend has read what a process that ended had sent."""
_TRACE = re.compile(r"refunds take, ([0-9a-f]{32})")
_ENTRY, _RETRIEVER = re.compile(r"as ([0-9a-f]{16}) says"), re.compile(r"Policy of ([0-9a-f]{16})")


@dataclass(frozen=True, slots=True)
class Ask:
    """The judge was asked about an interaction (trace and entry, hex) in this ``life`` of the collector."""

    about: str
    life: int
    at: float


@dataclass
class Judge:
    """Answers as an honest model, or as ``mode`` says; notes what it is asked about documents."""

    life: Callable[[], int]
    mode: str = "ok"
    released: threading.Event = field(default_factory=threading.Event)
    asks: list[Ask] = field(default_factory=list)

    def __call__(self, seen: Seen) -> Answer:
        if (about := asked_about(seen)) is not None:
            self.asks.append(Ask(about, self.life(), time.monotonic()))
        match self.mode:
            case "429":
                return Http(429, headers=(("retry-after", "1"),))
            case "500":
                return Http(500)
            case "garbage":
                return "I think the answer is mostly fine."
            case "hang":
                return Http(500, hold=self.released)
        return good_reply(seen)


def asked_about(seen: Seen) -> str | None:
    """The interaction that a request to the judge is about; ``None`` where it is about an answer alone."""
    trace = _TRACE.search(seen.user)
    entry = _ENTRY.search(" ".join(seen.units.values())) or _RETRIEVER.search(seen.user)
    return None if trace is None or entry is None else f"{trace[1]}/{entry[1]}"


@dataclass(frozen=True)
class WallClock:
    """The time of day as the collector sees it, by libfaketime; the machine's is left alone."""

    library: Path
    offset: Path

    @classmethod
    def found(cls, folder: Path) -> WallClock | None:
        """One whose offset stands in ``folder``; ``None`` where libfaketime is not installed."""
        libraries = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
        if not libraries:
            return None
        clock = cls(libraries[0], folder / "clock")
        clock.set(0)
        return clock

    def set(self, seconds: int) -> None:
        """Let it go ``seconds`` before or behind from now on."""
        new = self.offset.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        new.replace(self.offset)

    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(self.offset),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }


class Figures(dict[str, float]):
    """A metrics page: values by name and labels, as they stand there."""

    def total(self, name: str, *labels: str) -> float:
        """The sum over everything of that name with these labels (``key="value"``)."""
        return sum(
            value
            for key, value in self.items()
            if key.partition("{")[0] == name and all(label in key for label in labels)
        )


@dataclass
class Victim:
    """The collector process, started again whenever it was ended by us."""

    config: Path
    folder: Path
    http: int
    grpc: int
    admin: int
    clock: WallClock | None = None
    kills: int = 0
    ends: int = 0
    died: int = 0
    most_rss: float = 0.0
    unaccounted: float = 0.0
    """The furthest from 0 that its law of conservation ever was when it was looked at."""
    process: asyncio.subprocess.Process | None = None
    ended_at: list[float] = field(default_factory=list)
    """When each of its lives ended."""
    judged: list[frozenset[str]] = field(default_factory=list)
    """The interactions (trace and entry) whose verdicts were on disk then."""

    @property
    def life(self) -> int:
        return len(self.ended_at)

    async def start(self) -> None:
        more: Mapping[str, str] = {} if self.clock is None else self.clock.environment()
        with (self.folder / "log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "ragtrace_collector", "collector", "--config", str(self.config),
                stdout=log, stderr=log, env={**os.environ, **more},
            )  # fmt: skip

    async def up(self) -> None:
        """Wait until it answers."""
        async with asyncio.timeout(START_WITHIN):
            while await self.figures() is None:
                await self.revive()
                await asyncio.sleep(0.1)

    async def revive(self) -> None:
        """Start it where it ended without being told to, which is a failure of the run."""
        if self.process is not None and self.process.returncode is not None:
            self.died += 1
            await self._bury(time.monotonic())
            await self.start()

    async def figures(self) -> Figures | None:
        """Its metrics; ``None`` while it does not answer."""
        url, found = f"http://127.0.0.1:{self.admin}/metrics", Figures()
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
                text = await (await session.get(url)).text()
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None
        for line in text.splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                found[name.removeprefix("ragtrace_collector_")] = float(value)
        self.unaccounted = max(self.unaccounted, found["unaccounted_spans"], key=abs)
        return found

    def main(self) -> psutil.Process:
        assert self.process is not None
        return psutil.Process(self.process.pid)

    async def kill(self, garbage: bytes) -> None:
        assert self.process is not None
        at = time.monotonic()
        self.process.kill()
        await self.process.wait()
        self.kills += 1
        await self._bury(at)
        journal = self.folder / "spool" / "spool.db-wal"
        if garbage and journal.exists():
            with journal.open("ab") as out:
                out.write(garbage)
        await self.start()

    async def end(self) -> None:
        assert self.process is not None
        self.process.terminate()
        await asyncio.wait_for(self.process.wait(), 30)
        self.ends += 1
        await self._bury(time.monotonic())
        await self.start()

    async def _bury(self, at: float) -> None:
        await asyncio.sleep(_SETTLES)
        judged = await asyncio.to_thread(stored_verdicts, self.folder / "spool")
        self.judged.append(judged)
        self.ended_at.append(at)


def stored_verdicts(spool: Path) -> frozenset[str]:
    """The interactions (trace/entry) whose verdicts a spool holds, read from a copy of it."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("spool.db", "spool.db-wal"):
            if (spool / name).exists():
                shutil.copy(spool / name, Path(folder) / name)
        connection = sqlite3.connect(Path(folder) / "spool.db")
        try:
            keys = connection.execute("SELECT key FROM verdicts").fetchall()
        except sqlite3.DatabaseError:
            return frozenset()
        finally:
            connection.close()
    return frozenset(key.rpartition("/")[0] for (key,) in keys)
