"""The chaos run's reckoning finds what it is there to find: it can fail."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from chaos_around import Ask
from chaos_backend import Arrival, Backend
from chaos_reckoning import MAX_SPANS, REQUESTS_AT_ONCE, account, judged_again

WINDOW = REQUESTS_AT_ONCE * MAX_SPANS


def came(
    life: int, at: float, *, taken: bool = True, answered: bool = True, hung_up: bool = False
) -> Arrival:
    return Arrival(life, at, taken, answered, hung_up)


def backend(*arrivals: list[Arrival]) -> Backend:
    made = Backend("one", lambda: 0, random.Random(1))
    made.arrivals = {number.to_bytes(8, "big"): copies for number, copies in enumerate(arrivals)}
    return made


def reckoned(of: Backend, **given: Any) -> Any:
    spans = set(of.arrivals)
    usual = {"sent": spans, "acknowledged": spans, "ended_at": [10.0], "counted": 0.0}
    return account(of, **usual | {"pauses": [], "disk_full": [], "others": []} | given)


def test_once_each_is_well() -> None:
    """Nothing lost, nothing twice."""
    assert reckoned(backend([came(0, 1)], [came(1, 11)])).holds


@pytest.mark.parametrize(
    ("copies", "given"),
    [
        ([came(0, 1), came(0, 2)], {}),
        ([came(0, 1, taken=False), came(0, 2, taken=False)], {"ended_at": []}),
        ([came(0, 1)], {"acknowledged": {b"another"}}),
        ([came(0, 1)], {"sent": set()}),
        ([came(0, 1, taken=False)], {"ended_at": [], "counted": 2.0}),
    ],
    ids=["twice for nothing", "a rejection is retried", "lost", "unknown", "a rejection is not counted"],
)
def test_what_breaks_the_contract_does_not_hold(copies: list[Arrival], given: dict[str, Any]) -> None:
    """Each by itself."""
    assert not reckoned(backend(copies), **given).holds


@pytest.mark.parametrize(
    ("copies", "given"),
    [
        ([came(0, 1, answered=False), came(0, 2)], {}),
        ([came(0, 1), came(0, 2, hung_up=True)], {}),
        ([came(0, 1), came(0, 9)], {"pauses": [(0.9, 8.0)]}),
    ],
    ids=["its answer was lost", "the collector had hung up", "the collector stood still"],
)
def test_what_was_not_known_to_have_arrived_may_come_again(
    copies: list[Arrival], given: dict[str, Any]
) -> None:
    """The collector cannot tell."""
    found = reckoned(backend(copies), **given)
    assert (found.holds, found.twice_unanswered) == (True, 1)


def test_a_kill_may_cost_what_was_in_flight_and_no_more() -> None:
    """Counted for each by itself; what another destination or a full disk kept from being noted is beside it."""
    copies = [[came(0, 9.0), came(1, 11)] for _ in range(WINDOW + 1)]
    assert reckoned(backend(*copies[1:])).holds
    found = reckoned(backend(*copies))
    assert (found.holds, found.twice_by_kill, found.over_window) == (False, [WINDOW + 1], 1)
    assert reckoned(backend(*copies), others=[backend()]).holds
    assert reckoned(backend(*copies), disk_full=[(8.5, 9.5)]).holds
    assert not reckoned(backend(*copies), disk_full=[(1.0, 2.0)]).holds


def test_a_verdict_on_disk_or_sent_is_not_asked_for_again() -> None:
    """Before it was on disk it may be, after an end of the process."""
    asks = [Ask("t/stored", 0, 1), Ask("t/stored", 1, 11), Ask("t/lost", 0, 2), Ask("t/lost", 1, 12)]
    asks += [Ask("t/sent", 1, 13), Ask("t/sent", 1, 15), Ask("t/tried", 1, 14), Ask("t/tried", 1, 16)]
    wrong, unstored = judged_again(asks, [frozenset({"t/stored"})], {"t/sent": (1, 14.0), "t/tried": (1, 17)})
    assert (wrong, unstored) == ({"t/stored", "t/sent"}, {"t/lost"})
