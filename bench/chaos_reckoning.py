"""What a chaos run came to: pure functions over what backends, judge and senders noted."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from chaos_around import Ask
from chaos_backend import Arrival, Backend

REQUESTS_AT_ONCE, MAX_SPANS = 4, 512
"""What may be in flight to a destination when the collector is killed: the window of its contract."""
PATIENCE = 2.0
"""Seconds: of several destinations one may be a second behind the others, and has to write that down."""


@dataclass
class Account:
    """What came to one destination."""

    delivered: int = 0
    rejected: int = 0
    """Spans that it rejected by a partial success."""
    rejections_counted: bool = True
    """Whether the collector's last life counted as many as the destination rejected in it."""
    lost: int = 0
    unknown: int = 0
    twice_unanswered: int = 0
    """Copies sent again because its answer was lost."""
    twice_by_kill: list[int] = field(default_factory=list)
    """Copies that each end of the process cost: those of spans that it left both on a shelf and in the spool
    among them."""
    over_window: int = 0
    """Ends of the process that cost more copies than may be in flight."""
    twice_for_nothing: int = 0
    """Copies, retried rejections among them, that no lost answer and no end of the process explains."""

    @property
    def holds(self) -> bool:
        wrong = self.lost or self.unknown or self.over_window or self.twice_for_nothing
        return not wrong and self.rejections_counted


@dataclass
class Result:
    """What a run came to."""

    seconds: float
    clock_jumps: bool
    """Whether they were part of it: they need libfaketime."""
    sent: int = 0
    acknowledged: int = 0
    accounts: dict[str, Account] = field(default_factory=dict)
    scored: int = 0
    scored_twice: int = 0
    late_scores: int = 0
    judged_again: int = 0
    """Interactions that the judge was asked about although their verdict was on disk, or out already."""
    judged_again_unstored: int = 0
    """The same after an end of the process that came before their verdict was on disk: paid for twice."""
    kills: int = 0
    ends: int = 0
    died: int = 0
    most_rss_mib: float = 0.0
    unaccounted: float = 0.0
    """The furthest from 0 that the figure of that name ever was."""
    drained: bool = False
    answers: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        wrong = self.scored_twice or self.judged_again or self.died or self.unaccounted
        return (
            self.drained
            and self.scored > 0
            and not wrong
            and all(account.holds for account in self.accounts.values())
        )


def account(
    backend: Backend,
    *,
    sent: Collection[bytes],
    acknowledged: Iterable[bytes],
    ended_at: Sequence[float],
    pauses: Sequence[tuple[float, float]],
    others: Sequence[Backend],
    disk_full: Sequence[tuple[float, float]],
    counted: float | None,
) -> Account:
    """The account of one destination. ``counted`` are the rejections that the last life counted.

    ``pauses`` and ``disk_full`` are from when to when the collector stood still, and could write nothing.
    """
    arrivals = {span: _as_read(came, pauses) for span, came in backend.arrivals.items()}
    made = Account(
        delivered=sum(any(one.taken for one in came) for came in arrivals.values()),
        rejected=sum(not any(one.taken for one in came) for came in arrivals.values()),
        lost=sum(span not in arrivals for span in acknowledged),
        unknown=sum(span not in sent for span in arrivals),
    )
    by_life = Counter[int]()
    for came in arrivals.values():
        lost_in = None
        for before, this in itertools.pairwise(came):
            if this.life > before.life:
                lost_in = before.life
            if not before.answered:
                made.twice_unanswered += 1
            elif this.life > before.life or (this.life and others):
                by_life[this.life - 1 if lost_in is None else lost_in] += 1
            else:
                made.twice_for_nothing += 1
    made.twice_by_kill = [by_life[life] for life in range(len(ended_at))]
    made.over_window = sum(
        copies > REQUESTS_AT_ONCE * MAX_SPANS + _not_noted(life, at, [backend, *others], disk_full)
        for life, (copies, at) in enumerate(zip(made.twice_by_kill, ended_at, strict=True))
    )
    made.rejections_counted = counted == sum(_rejections(came, len(ended_at)) for came in arrivals.values())
    return made


def _as_read(came: Sequence[Arrival], pauses: Sequence[tuple[float, float]]) -> list[Arrival]:
    """The copies of a span, each with whether the collector, while it lived, had read its answer.

    It had not where it closed the connection before it sent the next copy. Nor where it stood still: its time
    is up when it goes on.
    """
    return [
        replace(
            one,
            answered=one.answered
            and not (after is not None and after.hung_up and after.life == one.life)
            and not any(start - 0.5 <= one.at <= end + 0.5 for start, end in pauses),
        )
        for one, after in itertools.zip_longest(came, came[1:])
    ]


def _rejections(came: Iterable[Arrival], life: int) -> int:
    """How often a span was rejected in a life, as the collector knows."""
    return sum(one.life == life and one.answered and not one.taken for one in came)


def _not_noted(
    life: int, ended_at: float, backends: Sequence[Backend], disk_full: Sequence[tuple[float, float]]
) -> int:
    """Spans that came to some destination late in a life, and cannot have been noted as settled.

    Another destination had not answered for them yet, or the disk was full.
    """
    since = ended_at - PATIENCE if len(backends) > 1 else ended_at
    since = min([since, *(start for start, end in disk_full if start <= ended_at and end >= ended_at - 1)])
    came = {
        span
        for backend in backends
        for span, arrivals in backend.arrivals.items()
        for one in arrivals
        if one.life == life and one.at >= since
    }
    return 0 if since == ended_at else len(came)


def judged_again(
    asks: Iterable[Ask], judged: Sequence[frozenset[str]], scored_at: Mapping[str, tuple[int, float]]
) -> tuple[set[str], set[str]]:
    """The interactions asked about again though their verdict was stored, or out; and all others such.

    ``judged`` are those whose verdicts were on disk when each life ended.
    """
    wrong, unstored, first = set[str](), set[str](), dict[str, int]()
    for ask in sorted(asks, key=lambda ask: ask.at):
        life, at = scored_at.get(ask.about, (ask.life, ask.at))
        is_stored = any(ask.about in stored for stored in judged[: ask.life])
        if is_stored or (life == ask.life and at < ask.at):
            wrong.add(ask.about)
        elif ask.life > first.setdefault(ask.about, ask.life):
            unstored.add(ask.about)
    return wrong, unstored
