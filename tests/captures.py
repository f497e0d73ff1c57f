"""Recorded OTLP/JSON captures of real instrumentations, and what their apps really did."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragtrace.model import Interaction, LogRecord, SpanRecord
from ragtrace_collector.otlp import read_logs, read_spans
from ragtrace_collector.otlp_json import logs_request_from_json, trace_request_from_json

_ROOT = Path(__file__).parents[1]
OWN = _ROOT / "tests" / "data" / "traces"
SHARED = Path(os.environ.get("RAGTRACE_SHARED", _ROOT.parent / "shared")) / "traces"


def load(path: Path) -> tuple[list[SpanRecord], list[LogRecord]]:
    """The spans and log records of a capture: one request a line; logs beside it as ``.logs.json``."""
    spans = [span for line in _lines(path) for span in read_spans(trace_request_from_json(line))]
    beside = path.with_suffix(".logs.json")
    lines = _lines(beside) if beside.exists() else []
    return spans, [log for line in lines for log in read_logs(logs_request_from_json(line))]


def _lines(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().splitlines() if line.strip()]


def expected_turns(path: Path) -> list[dict[str, Any]]:
    """What the app really did, one object a turn."""
    expected = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))
    turns: list[dict[str, Any]] = expected.get("turns") or [expected]
    return turns


def squeezed(text: str | None) -> str:
    """``text`` with its white space made single."""
    return " ".join((text or "").split())


def of_turn(found: Sequence[Interaction], turn: Mapping[str, Any]) -> Interaction | None:
    """The interaction that is this turn: of its question, else of its answer, else the only one."""
    asked = {squeezed(turn[key]) for key in ("question", "standalone_question") if turn.get(key)}
    same = [one for one in found if squeezed(one.question) in asked]
    if not same and turn.get("answer"):
        same = [one for one in found if squeezed(one.answer) == squeezed(turn["answer"])]
    same = same or (list(found) if len(found) == 1 else [])
    return max(same, key=lambda one: (bool(one.answer), len(one.documents or ())), default=None)
