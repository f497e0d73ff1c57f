"""The spool on a real disk: what was put is there, through kill -9, full disks and damage."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from collector.otlp_peers import encoded_request

from ragtrace.errors import ConfigError
from ragtrace_collector.spool import Spool
from ragtrace_collector.spool_file import FILE
from ragtrace_collector.stages import Refused, Signal, SpanBatch


@asynccontextmanager
async def opened(folder: Path, **options: object) -> AsyncIterator[Spool]:
    spool = Spool(folder, **options)  # type: ignore[arg-type]
    await spool.open()
    try:
        yield spool
    finally:
        await spool.close()


def batch(first_id: int = 1, size: int = 10) -> SpanBatch:
    return SpanBatch(encoded_request(2, "x" * size, first_id=first_id), count=2)


@pytest.mark.parametrize("fsync", [False, True])
async def test_what_was_put_is_there_after_a_restart(tmp_path: Path, fsync: bool) -> None:
    """Its bytes, its signal, its number of spans; what was removed is not."""
    log = SpanBatch(b"log", signal=Signal.LOGS)
    async with opened(tmp_path, fsync=fsync) as spool:
        kept, removed, logs = await asyncio.gather(spool.put(batch(1)), spool.put(batch(3)), spool.put(log))
        await spool.remove([removed])
    async with opened(tmp_path, fsync=fsync) as spool:
        assert spool.pending() == [(kept, 2), (logs, 0)]
        assert spool.bytes == len(batch().body) + 3
        found = await spool.get(kept)
        assert found is not None
        assert (found.body, found.signal, found.count) == (batch(1).body, Signal.TRACES, 2)
        assert await spool.get(logs) == log
        assert await spool.get(removed) is None
        assert await spool.put(batch(5)) > logs


KILLED = """
    import asyncio, sys
    from pathlib import Path
    from ragtrace_collector.spool import Spool
    from ragtrace_collector.stages import SpanBatch

    async def main():
        spool = Spool(Path(sys.argv[1]))
        await spool.open()
        async def put(number):
            await spool.put(SpanBatch(b"%d:" % number + b"x" * 100_000, count=1))
            print(number, flush=True)
        number = 0
        while True:
            await asyncio.gather(*(put(number + one) for one in range(8)))
            number += 8

    asyncio.run(main())
"""


def killed_after(lines: int, folder: Path) -> list[int]:
    """Run a process that puts and says what it put, kill it after so many ``lines`` → all that it said."""
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = [int(process.stdout.readline()) for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    said += [int(line) for line in process.stdout.read().split()]
    process.wait()
    return said


async def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Whatever number the process could say before it was killed is there, whole."""
    said = await asyncio.to_thread(killed_after, 100, tmp_path)
    async with opened(tmp_path) as spool:
        bodies = [(await spool.get(number)) for number, _ in spool.pending()]
    found = {int(item.body.partition(b":")[0]) for item in bodies if item and len(item.body) > 100_000}
    assert set(said) <= found


async def test_the_cap_refuses_and_removal_makes_room(tmp_path: Path) -> None:
    """Bytes of requests, not of the file."""
    async with opened(tmp_path, max_bytes=1_500) as spool:
        first = await spool.put(batch(size=500))
        with pytest.raises(Refused, match="spool_full"):
            await spool.put(batch(size=500))
        await spool.remove([first])
        assert spool.bytes == 0
        await spool.put(batch(size=500))


async def test_a_disk_that_fails_refuses_and_keeps_what_it_has(tmp_path: Path) -> None:
    """SQLite's own bound on the file plays the full disk; what fits still gets in, and it works again later."""
    async with opened(tmp_path) as spool:
        first = await spool.put(batch(1))
        await spool._ask(lambda db: db.execute("PRAGMA max_page_count = 40").fetchone())
        answers = await asyncio.gather(
            *(spool.put(batch(n, size=300_000)) for n in range(10, 18)), return_exceptions=True
        )
        taken = [answer for answer in answers if isinstance(answer, int)]
        refused = [answer for answer in answers if isinstance(answer, Refused)]
        assert taken
        assert refused
        assert len(taken) + len(refused) == 8
        await spool._ask(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone())
        again = await spool.put(batch(50, size=300_000))
    async with opened(tmp_path) as spool:
        assert [number for number, _ in spool.pending()] == [first, *taken, again]


async def test_a_request_whose_sender_hung_up_does_not_stay(tmp_path: Path) -> None:
    """Nobody knows its number, so nobody would remove it."""
    async with opened(tmp_path) as spool:
        put = asyncio.create_task(spool.put(batch()))
        await asyncio.sleep(0)
        put.cancel()
        with pytest.raises(asyncio.CancelledError):
            await put
        assert spool.bytes == 0
    async with opened(tmp_path) as spool:
        assert spool.pending() == []


async def test_one_collector_at_a_time(tmp_path: Path) -> None:
    """The second one says so and does not start."""
    async with opened(tmp_path):
        with pytest.raises(ConfigError, match="another collector"):
            await Spool(tmp_path).open()


async def test_a_folder_that_cannot_be_written_to_is_refused_at_start(tmp_path: Path) -> None:
    """With its path: a file stands where the folder should be."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write to"):
        await Spool(tmp_path / "file" / "spool").open()


async def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    """It holds what people asked."""
    async with opened(tmp_path / "new") as spool:
        await spool.put(batch())
        modes = {path.name: path.stat().st_mode & 0o077 for path in (tmp_path / "new").iterdir()}
    assert set(modes.values()) == {0}


async def test_a_damaged_file_is_set_aside_and_what_can_be_read_of_it_is_saved(tmp_path: Path) -> None:
    """The beginning and the end of it, here; the file itself is kept for whoever can do more."""
    async with opened(tmp_path) as spool:
        numbers = [await spool.put(batch(n, size=100_000)) for n in range(1, 40, 2)]
    path = tmp_path / FILE
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.write(b"\xff" * 32_768 * 2)
        file.seek(0)
        head = file.read(100)
    assert head.startswith(b"SQLite format 3")
    async with opened(tmp_path) as spool:
        found = [number for number, _ in spool.pending()]
        bodies = [await spool.get(number) for number in found]
        await spool.put(batch(99))
    assert len([body for body in bodies if body]) >= len(numbers) // 2


async def test_a_file_that_is_no_database_is_set_aside(tmp_path: Path) -> None:
    """The collector starts with an empty spool and says so."""
    (tmp_path / FILE).write_bytes(b"no database at all" * 1_000)
    async with opened(tmp_path) as spool:
        assert spool.pending() == []
        await spool.put(batch())
    assert (tmp_path / f"{FILE}.damaged-1").read_bytes().startswith(b"no database")


async def test_a_torn_tail_costs_only_the_last_commit(tmp_path: Path) -> None:
    """The log of commits is cut in the middle of its last one, as a power cut may do: all before it is there."""
    said = await asyncio.to_thread(killed_after, 100, tmp_path)
    wal = tmp_path / f"{FILE}-wal"
    os.truncate(wal, wal.stat().st_size - 10_000)
    async with opened(tmp_path) as spool:
        items = [await spool.get(number) for number, _ in spool.pending()]
    # At most eight were asked for at once, so no more are in one commit.
    assert set(sorted(said)[:-16]) <= {int(item.body.partition(b":")[0]) for item in items if item}


async def test_verdicts_outlive_the_process(tmp_path: Path) -> None:
    """Under their key; a second one replaces the first."""
    async with opened(tmp_path) as spool:
        await spool.remember("trace:span:rev", b"one")
        await spool.remember("trace:span:rev", b"two")
    async with opened(tmp_path) as spool:
        assert await spool.recall("trace:span:rev") == b"two"
        assert await spool.recall("trace:span:other") is None


async def test_only_so_many_verdicts_are_kept(tmp_path: Path) -> None:
    """The oldest go first."""
    async with opened(tmp_path) as spool:
        await asyncio.gather(*(spool.remember(str(number), b"v") for number in range(52_000)))
        assert await spool.recall("0") is None
        assert await spool.recall("51999") == b"v"
    with sqlite3.connect(tmp_path / FILE) as database:
        ((count,),) = database.execute("SELECT count(*) FROM verdicts")
    assert count <= 51_000
