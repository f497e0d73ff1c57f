"""Which key goes to the endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragtrace.judges.base import Want
from ragtrace.testing import make_interaction


async def test_a_netrc_entry_neither_stops_nor_leaks(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A password that the machine keeps for the host is for others: our own key is what is sent."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password hunter2\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    judge = bench()
    reply = await judge.ask(make_interaction(answer="Refunds take 5 days."), Want.VERDICTS)
    assert not reply.faults
    assert [seen.headers["authorization"].split()[0] for seen in judge.server.requests] == ["Bearer"]
