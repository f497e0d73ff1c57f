"""Several destinations, of which one hangs, is away for longer than there is room, or is not named any more."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from collector.collector_rig import WITHIN, Backend, Rig, backend, eventually, running
from collector.otlp_peers import encoded_request

from ragtrace_collector.telemetry import Figure, unaccounted


def url(of: Backend) -> str:
    return f"http://127.0.0.1:{of.port}"


def times(behind: Backend) -> Counter[int]:
    """How often each span came, by its number."""
    return Counter(int.from_bytes(span.span_id, "big") for span in behind.spans)


def plain(number: int, size: int = 1) -> bytes:
    return encoded_request(text="x" * size, first_id=number)


def shelf_bytes(rig: Rig) -> float:
    return rig.collector.telemetry.value(Figure.SHELF_BYTES)


async def test_a_destination_that_hangs_delays_neither_the_other_nor_the_intake(
    judges: Path, tmp_path: Path
) -> None:
    """It accepts connections and never answers: after a second its spans wait on disk, and nobody for them."""
    async with backend() as good, backend() as hung:
        hung.gate = asyncio.Event()
        export = [url(good), {"url": url(hung), "timeout": 600}]
        async with running(good, spool=str(tmp_path / "spool"), export=export) as rig:
            async with asyncio.timeout(WITHIN):  # far less than all that time of waiting for an answer
                answers = [await rig.post(plain(number)) for number in range(1, 31)]
            assert answers == [200] * 30
            await good.until(lambda b: len(b.spans) == 30)
            await eventually(lambda: not rig.collector.telemetry.value(Figure.HELD))
            assert hung.spans == []
            assert shelf_bytes(rig) > 0
            _, page = await rig.ask("/metrics")
            assert f'ragtrace_collector_shelf_bytes{{destination="{url(hung)}"}}' in page
            hung.gate.set()
            await hung.until(lambda b: len(b.spans) >= 30)
            await eventually(lambda: not shelf_bytes(rig))
            assert unaccounted(rig.collector.telemetry) == 0
    once = Counter(range(1, 31))
    assert (times(good), times(hung)) == (once, once)


async def test_one_away_for_longer_than_its_disk_lasts_holds_up_the_others_and_loses_nothing(
    judges: Path, tmp_path: Path
) -> None:
    """Then requests wait in the spool, and when that is full senders are told to come again."""
    async with backend() as good, backend(status=503) as away:
        more = {
            "spool": {"dir": str(tmp_path / "spool"), "max_bytes": 40_000},
            "export": [url(good), {"url": url(away), "queue": 20_000}],
            "max_bytes": 20_000,
        }
        async with running(good, **more) as rig:
            answers = [await rig.post(plain(number, 5_000)) for number in range(1, 31)]
            assert set(answers) == {200, 429}
            assert rig.collector.telemetry.value(Figure.REFUSED, reason="spool_full") > 0
            assert 0 < shelf_bytes(rig) <= 40_000
            taken = Counter(number for number, answer in enumerate(answers, 1) if answer == 200)
            away.status = 200
            await away.until(lambda b: set(times(b)) == set(taken))
            await eventually(lambda: not rig.collector.telemetry.value(Figure.HELD))
            assert unaccounted(rig.collector.telemetry) == 0
    assert (times(good), times(away)) == (taken, taken)


def shelves(spool: Path) -> dict[str, Path]:
    """The folder of each destination's shelf, by the name that is written there."""
    return {path.read_text(): path.parent for path in spool.glob("away-*/destination")}


def folders(spool: Path) -> int:
    return len(list(spool.glob("away-*")))


async def left_behind(good: Backend, away: Backend, spool: Path) -> None:
    """A collector that ran while ``away`` was, until 20 spans waited for that."""
    async with running(good, spool=str(spool), export=[url(good), url(away)]) as rig:
        for number in range(1, 21):
            assert await rig.post(plain(number)) == 200
        await eventually(lambda: not rig.collector.telemetry.value(Figure.HELD))
    assert (len(good.spans), away.spans) == (20, [])


async def test_what_waits_for_a_destination_that_is_not_named_any_more_is_told_in_one_line(
    judges: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where, how many requests, for whom, what to do; counted; and sent once it is named again."""
    async with backend() as good, backend(status=503) as away:
        await left_behind(good, away, tmp_path)
        folder = shelves(tmp_path)[url(away)]
        with caplog.at_level(logging.WARNING, "ragtrace_collector.destinations"):
            async with running(good, spool=str(tmp_path)) as rig:
                assert rig.collector.telemetry.value(Figure.ORPHANED) == 20
        (line,) = (message for message in caplog.messages if "holds" in message)
        assert f"holds 20 requests for {url(away)}" in line
        assert line.startswith(str(folder))
        assert "name it under export again" in line
        away.status = 200
        async with running(good, spool=str(tmp_path), export=[url(good), url(away)]) as rig:
            await away.until(lambda b: len(b.spans) == 20)
            assert rig.collector.telemetry.value(Figure.ORPHANED) == 0
    assert times(away) == Counter(range(1, 21))


async def test_a_destination_that_is_the_only_one_now_still_gets_what_waited_for_it(
    judges: Path, tmp_path: Path
) -> None:
    """From the time when it was one of several, and away."""
    async with backend() as good, backend(status=503) as away:
        await left_behind(good, away, tmp_path)
        away.status = 200
        async with running(away, spool=str(tmp_path)):
            await away.until(lambda b: len(b.spans) == 20)
    assert len(good.spans) == 20


async def test_one_backend_may_be_named_twice_for_two_of_its_tenants(judges: Path, tmp_path: Path) -> None:
    """They differ in their headers alone; each has its own part of the disk."""
    async with backend() as both:
        export: list[dict[str, Any]] = [
            {"url": url(both), "headers": {"x-tenant": tenant}} for tenant in ("a", "b")
        ]
        async with running(both, spool=str(tmp_path), export=export) as rig:
            assert await rig.post(plain(1)) == 200
            await both.until(lambda b: len(b.spans) == 2)
    assert folders(tmp_path) == 2
