"""What ``--out`` writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from collector.otlp_peers import encoded_request

from ragtrace.errors import ConfigError, RetryableExport
from ragtrace.model import LogRecord
from ragtrace_collector import otlp
from ragtrace_collector.exporters import Exporters, make_file_outlet
from ragtrace_collector.exporters.file import FileSender
from ragtrace_collector.stages import Signal, SpanBatch
from ragtrace_collector.telemetry import Telemetry


async def test_lines_are_appended_to_a_file(tmp_path: Path) -> None:
    """One OTLP/JSON request a line, spans and logs, behind what was there."""
    path = tmp_path / "out.jsonl"
    path.write_text('{"before": 1}\n')
    exporters = Exporters([make_file_outlet(path, Telemetry())])
    await exporters.start()
    await exporters.submit(SpanBatch(encoded_request(2, "退款")))
    log = otlp.encode_log(LogRecord("01" * 16, "02" * 8, "e"))
    await exporters.submit(SpanBatch(log, signal=Signal.LOGS))
    await exporters.stop(1)
    before, spans, logs = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert before == {"before": 1}
    assert otlp.trace_request_from_json(spans) == encoded_request(2, "退款")
    assert otlp.logs_request_from_json(logs) == log
    assert "退款" in path.read_text(encoding="utf-8")


async def test_a_file_that_cannot_be_written_is_refused_at_start(tmp_path: Path) -> None:
    """With its path and why."""
    outlet = make_file_outlet(tmp_path / "absent" / "out.jsonl", Telemetry())
    with pytest.raises(ConfigError, match=r"out\.jsonl"):
        await outlet.start()


async def test_a_full_disk_is_one_that_may_take_it_later(tmp_path: Path) -> None:
    """The line is kept for another try."""
    sender = FileSender(Path("/dev/full"))
    await sender.open()
    with pytest.raises(RetryableExport):
        await sender.send(encoded_request(), Signal.TRACES)
    await sender.close()
