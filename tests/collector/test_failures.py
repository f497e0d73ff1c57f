"""A bug in the collector's own thinking, or in what users plug in, costs a score and no span."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
from collector.collector_rig import WITHIN, Backend, Rig, backend, eventually, settings

from ragtrace.errors import MalformedOtlp
from ragtrace.model import LogRecord
from ragtrace.testing import make_trace
from ragtrace_collector import otlp
from ragtrace_collector.assembler import AssemblerOptions
from ragtrace_collector.config import Config
from ragtrace_collector.disk_queue import DiskQueue
from ragtrace_collector.exporters import Exporters
from ragtrace_collector.fenced import FencedTriage
from ragtrace_collector.outgoing import Outgoing
from ragtrace_collector.rescue import Rescue
from ragtrace_collector.roles import Roles
from ragtrace_collector.service import Collector
from ragtrace_collector.settings import load
from ragtrace_collector.stages import JudgedInteraction
from ragtrace_collector.stitcher import StitchOptions
from ragtrace_collector.stories import Stories
from ragtrace_collector.telemetry import Figure, Telemetry, unaccounted
from ragtrace_collector.triage import Triage

SECRET = "ada@example.org asked"

RULES = """
from dataclasses import dataclass


class Unclear:
    def __bool__(self):
        raise ZeroDivisionError("ada@example.org asked")


@dataclass
class NoAnswer:
    def matches(self, candidate):
        return Unclear()
"""


class Broken(Exception):
    """What the tests' own parts raise."""


def broken() -> NoReturn:
    raise Broken(SECRET)


class NeverQuiet(float):
    """A time that cannot be added to another."""

    def __radd__(self, other: float) -> NoReturn:
        broken()


class NeverFull(int):
    """A bound that nothing but 0 can be compared with."""

    def __lt__(self, other: int) -> bool:
        return broken() if other else False


class Unreadable(Roles):
    """Roles that cannot tell which keys they look for."""

    def is_rag_key(self, key: bytes) -> NoReturn:
        broken()


class NeverWaits(float):
    """A time that cannot be multiplied."""

    def __rmul__(self, other: float) -> NoReturn:
        broken()


@dataclass(frozen=True)
class Failing:
    """What to break: settings, the configuration that came of them, or what is shown of judgements."""

    stage: str
    more: Mapping[str, Any]
    config: Mapping[str, Any]
    shows: bool = True


FAILING = {
    "assembler": Failing("assembler", {}, {"assembly": AssemblerOptions(quiet=NeverQuiet(0.1), idle=0.1)}),
    "stitcher": Failing("stitcher", {}, {"stitch": StitchOptions(by="calls", wait=NeverWaits(0.1))}),
    "show": Failing("judging", {}, {}, shows=False),
}


def request(seed: str, only: int | None = None) -> bytes:
    spans = make_trace(seed=seed)
    return otlp.join(otlp.encode_span(span) for span in (spans if only is None else spans[only : only + 1]))


async def delivered(
    behind: Backend, config: Config, body: bytes, spans: int, show: Any, stage: str | None
) -> Collector:
    """Run a collector until ``spans`` have come out of it, and everything is settled."""
    collector = Collector(config, show)
    rig = Rig(collector, await asyncio.wait_for(collector.start(), WITHIN))
    try:
        assert await rig.post(body) == 200
        await behind.until(lambda b: len(b.spans) >= spans)
        await eventually(lambda: not collector.telemetry.value(Figure.HELD))
        if stage is not None:
            assert collector.telemetry.value(Figure.FAILURES, stage=stage) > 0
        assert collector.telemetry.value(Figure.FORWARDED) == spans
        assert unaccounted(collector.telemetry) == 0
    finally:
        await collector.stop(5.0)
    return collector


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("spooled", [False, True])
async def test_spans_leave_once_and_are_not_repeated_whatever_stage_raises(
    judges: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, spooled: bool
) -> None:
    """Each span arrives once, the spool is empty, the failure is counted and told by its type alone."""
    failing = FAILING[name]
    more = {**failing.more, "spool": str(tmp_path / "spool") if spooled else "off"}
    body = request(name, only=1 if name == "stitcher" else None)
    spans = len(otlp.split(body))

    def show(item: JudgedInteraction) -> None:
        if not failing.shows:
            broken()

    async with backend() as behind:
        assembly = {"quiet": 0.1, "idle": 0.1}
        config = load(None, settings(behind, assembly=assembly, **more), {})
        config = config.model_copy(update=dict(failing.config))
        with caplog.at_level(logging.ERROR):
            await delivered(behind, config, body, spans, show, failing.stage)
        assert sorted(span.span_id for span in behind.spans) == sorted(
            raw.span_id for raw in otlp.split(body)
        )
        assert "Broken" in caplog.text
        assert SECRET not in caplog.text
        if spooled:
            again = Collector(load(None, settings(behind, **more), {}))
            await asyncio.wait_for(again.start(), WITHIN)
            await again.stop(5.0)
            assert again.telemetry.value(Figure.REPLAYED) == 0


async def test_a_rule_whose_answer_is_no_truth_value_counts_as_not_matched(
    judges: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its failure is counted under its name, and the interaction goes on without it."""
    (judges / "odd_rules.py").write_text(RULES)
    monkeypatch.syspath_prepend(judges)
    sampling = {"share": 0.0, "rules": [{"use": "odd_rules:NoAnswer", "name": "odd"}]}
    async with backend() as behind:
        config = load(None, settings(behind, sampling=sampling), {})
        collector = await delivered(behind, config, request("odd"), 3, lambda item: None, None)
    assert collector.telemetry.value(Figure.RULE_FAILURES, rule="odd") == 1


def log_request(trace_id: str) -> bytes:
    return otlp.encode_log(LogRecord(trace_id, "02" * 8, "gen_ai.choice", body="secret words"))


@pytest.mark.parametrize("spooled", [False, True])
async def test_log_records_that_cannot_be_kept_go_on_as_they_came(
    judges: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, spooled: bool
) -> None:
    """They are on disk by then, and the sender has its answer: counted, settled, and not sent again."""
    more = {"spool": str(tmp_path / "spool") if spooled else "off"}
    body = log_request("01" * 16)
    async with backend() as behind:
        config = load(None, settings(behind, **more), {})
        config = config.model_copy(update={"assembly": AssemblerOptions(max_log_bytes=NeverFull(1))})
        collector = Collector(config)
        rig = Rig(collector, await asyncio.wait_for(collector.start(), WITHIN))
        try:
            assert await rig.post(body, "/v1/logs") == 200
            await behind.until(lambda b: bool(b.log_bodies))
            await eventually(lambda: not collector.telemetry.value(Figure.SPOOL_BYTES))
        finally:
            await collector.stop(5.0)
    assert behind.log_bodies == [body]
    assert collector.telemetry.value(Figure.FAILURES, stage="logs") == 1
    assert "Broken" in caplog.text
    assert SECRET not in caplog.text


def fenced(**parts: Any) -> tuple[FencedTriage, Telemetry]:
    telemetry = Telemetry()
    rescue = Rescue(Outgoing(Exporters([]), None, telemetry), telemetry)
    triage = Triage(lambda trace_id: None, lambda trace_id: False, Stories(), parts.pop("roles", Roles()))
    return FencedTriage(triage, rescue, **parts), telemetry


def test_a_request_that_cannot_be_looked_into_counts_as_plain() -> None:
    """Its spans are known by number, and none is held."""
    triage, telemetry = fenced(roles=Unreadable())
    found = triage.survey(request("x"))
    assert (found.spans, found.rag) == (3, False)
    assert telemetry.value(Figure.FAILURES, stage="triage") == 1


def test_log_records_that_cannot_be_read_are_none_to_be_kept() -> None:
    """But bytes that are no request are still told to the sender."""

    def read(body: bytes) -> NoReturn:
        broken()

    triage, telemetry = fenced(read_logs=read)
    assert triage.logs(log_request("01" * 16)).records == ()
    assert telemetry.value(Figure.FAILURES, stage="logs") == 1
    with pytest.raises(MalformedOtlp):
        fenced()[0].logs(b"\x0a\xff")
    with pytest.raises(MalformedOtlp):
        fenced()[0].survey(b"\x0a\xff")


async def test_a_batch_that_cannot_be_taken_back_stays_on_disk_and_holds_up_nobody() -> None:
    """It is tried again at the next start; those behind it come out."""
    telemetry, taken = Telemetry(), asyncio.Queue[int]()

    async def take(number: int, spans: int) -> None:
        if number == 1:
            broken()
        taken.put_nowait(number)

    waiting = DiskQueue(take, telemetry)
    waiting.add([(1, 3), (2, 3)])
    running = asyncio.create_task(waiting.run())
    assert await asyncio.wait_for(taken.get(), WITHIN) == 2
    running.cancel()
    assert telemetry.value(Figure.FAILURES, stage="spool") == 1
