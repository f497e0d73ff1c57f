"""How fast judgements come, so that no more are begun than can be done in time.

Without it an overloaded judge does work that is late, all of it: every interaction waits behind others that
will be late too, and not one score is on its span. Pure: takes the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_MEMORY = 3.0
"""Seconds of work after which what was seen counts a third; not judgements, for they come in bursts."""
_LEAST_TRUST, _REGAINED, _TOGETHER = 0.1, 1.05, 1.0
"""Misses within a second are one: a burst of them tells no more than the first."""


@dataclass(frozen=True, slots=True)
class Begun:
    """When a judgement was handed over, and whether it ``led``: nothing was before it."""

    at: float
    led: bool


@dataclass(slots=True)
class Pace:
    """The backlog of a judge, and the time between two of its judgements while it has one. In seconds."""

    backlog: int = 0
    trust: float = 1.0
    """How far the expected wait is to be believed, 0..1: what was late in spite of it halves it, and each
    judgement in time wins some of it back. On a busy machine results wait too, not work alone."""
    _busy: float = 0.0
    _done: float = 0.0
    """Seconds of work and judgements in them, older ones counting less."""
    _missed_at: float = -math.inf
    _since: float = 0.0
    """When the last judgement came, or work after a rest."""

    def began(self, now: float) -> Begun:
        """One more waits for its judgement."""
        begun = Begun(now, led=not self.backlog)
        if begun.led:
            self._since = now
        self.backlog += 1
        return begun

    def ended(self, now: float, begun: Begun, *, judged: bool) -> None:
        """One waits no more; one not ``judged`` (a failure, a worker that died) tells nothing of the pace.

        Nor does the time before it was handed over: what is long takes turns with what comes after it.
        """
        self.backlog -= 1
        if judged:
            self.trust = min(1.0, self.trust * _REGAINED)
            took = max(0.0, now - max(self._since, begun.at))
            kept = math.exp(-took / _MEMORY)
            self._busy, self._done = self._busy * kept + took, self._done * kept + 1
        self._since = now

    def missed(self, now: float, begun: Begun) -> None:
        """One that was expected in time was late; one that led had nothing to wait for but itself."""
        if not begun.led and now - self._missed_at > _TOGETHER:
            self.trust, self._missed_at = max(_LEAST_TRUST, self.trust / 2), now

    def wait(self) -> float:
        """How long one that is handed over now waits for those before it; 0 while nothing is known."""
        return self.backlog * self._busy / self._done / self.trust if self._done else 0.0
